<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Keeps PHP's warnings from the application while a call runs whose result says the same.
 *
 * An application's error handler may throw, and "@" would not keep it out.
 */
final class Quiet
{
    /** What PHP warned of last: the reason for a failure. */
    public static string $reason = '';

    /** @var ?\Closure(int, string): bool made once */
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

    /** The same without a closure. The next statement is the try whose finally calls end(). */
    public static function begin(): void
    {
        try {
            \set_error_handler(self::$handler ??= static function (int $level, string $message): bool {
                self::$reason = $message;

                return true;
            });
        } catch (\Throwable $thrown) {
            // The handler of a signal that arrived just then.
            \restore_error_handler();

            throw $thrown;
        }
    }

    public static function end(): void
    {
        \restore_error_handler();
    }

    /** Removes a file. False: it is still there, or was not (somebody else may have removed it just now). */
    public static function remove(string $file): bool
    {
        return self::call(static fn(): bool => \unlink($file));
    }
}
