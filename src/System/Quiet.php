<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Hides PHP's warnings from the application during a call whose result says the same.
 *
 * "@" is not enough: PHP calls the application's error handler all the same, and that may throw.
 */
final class Quiet
{
    /** PHP's last warning: the reason for a failure. */
    public static string $reason = '';

    /** @var ?\Closure(int, string): bool the error handler, made once */
    private static ?\Closure $handler = null;

    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public static function call(\Closure $work): mixed
    {
        self::begin();
        try {
            return $work();
        } finally {
            self::end();
        }
    }

    /** As call(), without a closure. The next statement must be a try whose finally calls end(). */
    public static function begin(): void
    {
        try {
            \set_error_handler(self::$handler ??= static function (int $level, string $message): bool {
                self::$reason = $message;

                return true;
            });
        } catch (\Throwable $thrown) {
            // The handler of a signal that arrived just then has thrown.
            \restore_error_handler();

            throw $thrown;
        }
    }

    public static function end(): void
    {
        \restore_error_handler();
    }

    /** Deletes a file. False: it could not be deleted, or did not exist (another process may have deleted it just now). */
    public static function remove(string $file): bool
    {
        return self::call(static fn(): bool => \unlink($file));
    }
}
