<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * What a process stands on: everything that code under test asks of its surroundings comes here (Copy rewrites the
 * calls). What is shared becomes a step of the model; time, chance and process ids are the model's own.
 */
final class Machine
{
    use FileCalls;

    public const START = 1_000_000_000;

    /** The functions of PHP that are answered here. */
    public const ANSWERED = [
        'apcu_fetch', 'apcu_store', 'apcu_delete', 'apcu_enabled', 'flock', 'hrtime', 'microtime', 'getmypid', 'usleep',
        'random_bytes', 'random_int', 'mt_rand', 'register_shutdown_function', 'error_log', 'set_error_handler',
        'restore_error_handler', 'clearstatcache', 'file_exists', 'is_file', 'is_dir', 'is_writable', 'mkdir', 'chmod', 'touch', 'filemtime', 'scandir',
        'filesize', 'fileinode', 'file_get_contents', 'fopen', 'is_resource', 'fread', 'stream_get_contents', 'fwrite', 'fseek', 'ftell',
        'ftruncate', 'fclose', 'fflush', 'stream_set_read_buffer', 'fstat', 'rename', 'unlink',
    ];

    public static ?Program $running = null;

    /** @var array<int, true> processes that are known to be dead */
    public static array $dead = [];
    public static int $now = self::START;

    /** One step: everybody else may do something before it. */
    public static function step(string $step, mixed ...$arguments): mixed
    {
        // Code that is unwound after its process was abandoned does nothing any more.
        if (self::$running === null || \Fiber::getCurrent() !== self::$running->fiber) {
            return null;
        }
        /** @var array{mixed, int, array<int, true>} $answer */
        $answer = \Fiber::suspend([$step, $arguments]);
        [$result, self::$now, self::$dead] = $answer;

        return $result;
    }

    public static function apcu_fetch(string $key): mixed
    {
        return self::step('apcu.fetch', $key);
    }

    public static function apcu_store(string $key, mixed $value, int $ttl = 0): bool
    {
        return self::step('apcu.store', $key, $value) === true;
    }

    public static function apcu_delete(string $key): bool
    {
        return self::step('apcu.delete', $key) === true;
    }

    public static function apcu_enabled(): bool
    {
        return true;
    }

    /** @return ($number is true ? int : array{int, int}) */
    public static function hrtime(bool $number = false): int|array
    {
        return $number ? self::$now * 1_000_000 : [\intdiv(self::$now, 1000), 0];
    }

    public static function microtime(bool $float = false): float
    {
        return self::$now / 1000;
    }

    public static function getmypid(): int
    {
        return 1;
    }

    /** Waiting for others: goes on when something has changed, or when nobody else can. */
    public static function usleep(int $microseconds): void
    {
        self::step('pause');
    }

    public static function random_bytes(int $length): string
    {
        $number = self::$running === null ? 0 : self::$running->chance++;

        return \substr(\str_repeat(\md5(self::$running?->name . ':' . $number, true), 4), 0, $length);
    }

    public static function random_int(int $least, int $most): int
    {
        return $least;
    }

    public static function register_shutdown_function(callable $function): void {}

    public static function error_log(string $line): bool
    {
        return true;
    }

    public static function mt_rand(int $least, int $most): int
    {
        return $least;
    }

    /** Processes that are given up in the middle of a call would not put the one before back. */
    public static function set_error_handler(?callable $handler): void {}

    public static function restore_error_handler(): bool
    {
        return true;
    }
}
