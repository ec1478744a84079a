<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\TestCase;

/** What the rules of both texts are tested with. Any notice or warning, also a silenced one, fails the test. */
abstract class PsrTestCase extends TestCase
{
    /**
     * An equal Cache each time, over the same engine, as another request would open it; for engines that end with
     * their Cache, the same.
     */
    abstract protected function cache(): Cache;

    /**
     * What Cache::open() gets for it.
     *
     * @return array<string, string>
     */
    abstract protected function options(): array;

    /** Whether another process that opens the same options reaches the same engine. */
    abstract protected function reachable(): bool;

    protected function setUp(): void
    {
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        // Hundreds of Caches a class: their files and connections end when they are collected.
        \gc_collect_cycles();
    }

    /** Runs code in another process, with the JSON of options() as $argv[1]; returns what it printed. */
    protected function elsewhere(string $code): string
    {
        if (!$this->reachable()) {
            self::markTestSkipped('No other process can reach this engine.');
        }
        $process = Process::snippet($code, [\json_encode($this->options(), \JSON_THROW_ON_ERROR)]);
        $output = \rtrim($process->output());
        self::assertSame(0, $process->wait(), $process->errors());
        self::assertSame('', $process->errors());

        return $output;
    }

    protected static function assertSameValue(mixed $expected, mixed $actual): void
    {
        // serialize() tells all apart that counts: types, NAN, -0.0, the order of keys, classes, shared references.
        self::assertSame(\serialize($expected), \serialize($actual));
    }

    /**
     * @param iterable<mixed, mixed> $pairs
     *
     * @return list<mixed>
     */
    protected static function keysOf(iterable $pairs): array
    {
        $keys = [];
        foreach ($pairs as $key => $_) {
            $keys[] = $key;
            // A foreach over an array gives integers for such keys, which is what must not happen.
            self::assertIsString($key);
        }

        return $keys;
    }

    /**
     * @param iterable<mixed, mixed> $pairs
     *
     * @return list<mixed>
     */
    protected static function valuesOf(iterable $pairs): array
    {
        $values = [];
        foreach ($pairs as $value) {
            $values[] = $value;
        }

        return $values;
    }

    /**
     * @template V
     *
     * @param iterable<string, V> $pairs
     *
     * @return array<array-key, V>
     */
    protected static function pairs(iterable $pairs): array
    {
        $array = [];
        foreach ($pairs as $key => $value) {
            self::assertArrayNotHasKey($key, $array, 'a key twice');
            $array[$key] = $value;
        }

        return $array;
    }
}
