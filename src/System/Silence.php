<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * PHP's file functions warn about what is ordinary here (a file that has just gone, a full disk). Between begin()
 * and end() nothing reaches the application's error handler, which may throw; "@" would not keep it out.
 */
final class Silence
{
    /** What PHP reported last: the reason for a failure. */
    public string $reason = '';

    private readonly \Closure $handler;

    public function __construct()
    {
        $this->handler = function (int $level, string $message): bool {
            $this->reason = $message;

            return true;
        };
    }

    public function begin(): void
    {
        \set_error_handler($this->handler);
    }

    public function end(): void
    {
        \restore_error_handler();
    }
}
