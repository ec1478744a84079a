<?php

declare(strict_types=1);

namespace Larder\System;

/** Calls of PHP that warn of what their result says already: the warning would reach an application's error handler. */
final class Quiet
{
    /** @var ?\Closure(): bool made once */
    private static ?\Closure $silence = null;

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public static function call(\Closure $work): mixed
    {
        try {
            \set_error_handler(self::$silence ??= static fn(): bool => true);

            return $work();
        } finally {
            \restore_error_handler();
        }
    }

    /** Removes a file. False: it is still there, or was not (somebody else may have removed it just now). */
    public static function remove(string $file): bool
    {
        return self::call(static fn(): bool => \unlink($file));
    }
}
