<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Statistics\TimerCost;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\Sized;

/** One operation of one driver, made ready to be timed, and timed. */
final class Bench implements Measurable
{
    /** Keys that a sample goes over at most; values of 20 kB in ten processes still fit into APCu's memory. */
    private const KEYS = 4_096;

    /** Untimed work before the first sample: nanoseconds. */
    private const WARM_UP = 4_000_000;

    /** @var non-empty-list<string> */
    private array $keys;
    /** @var non-empty-list<non-empty-list<string>> the same, by the request that they belong to */
    private array $requests;
    private int $operations = 0;
    private float $time = 0.0;

    /**
     * @param int         $fixed    operations of each sample; 0: found
     * @param int<1, max> $request  keys of a request, and operations of a sample at the least
     * @param bool        $begins   whether a request's beginning is something to this engine: then it is timed with the request's keys
     * @param int<1, max> $distinct keys, where reading one again is what is measured
     */
    public function __construct(
        private readonly Driver $driver,
        private readonly string $operation,
        private readonly mixed $value,
        private readonly string $prefix,
        private readonly int $fixed,
        private readonly int $request = 1,
        private readonly bool $begins = false,
        private readonly int $distinct = \PHP_INT_MAX,
    ) {
        $this->keys = [$prefix . '0'];
        $this->requests = [$this->keys];
    }

    /**
     * Connects, checks that what is written comes back, finds how many operations a sample takes, writes what will be
     * read, and warms up.
     *
     * @return ?string what is wrong with the value that came back; null if it is right
     */
    public function prepare(): ?string
    {
        $this->driver->connect();
        // Something else lies there first, for an engine that keeps what it has must not pass.
        $this->driver->write($this->keys, 'something else');
        $wrong = $this->check();
        if ($wrong !== null) {
            return $wrong;
        }
        if ($this->operation === 'size') {
            return null;
        }
        $this->pass();
        $best = \min($this->pass(), $this->pass(), $this->pass());
        $this->choose($this->fixed > 0 ? $this->fixed : \min(self::KEYS, TimerCost::measure(1_001)->operations(\max(1.0, $best))));
        $wrong = $this->check();
        if ($wrong !== null) {
            return $wrong;
        }
        \gc_collect_cycles();
        if ($this->fixed > 0) {
            // The whole loop is the sample; a script that runs it does so once.
            return null;
        }
        $end = \hrtime(true) + self::WARM_UP;
        do {
            $this->sample();
        } while (\hrtime(true) < $end);
        $this->operations = 0;
        $this->time = 0.0;

        return null;
    }

    /** Microseconds an operation (bytes, where the operation is "size"). */
    public function sample(): float
    {
        if ($this->operation === 'size') {
            \assert($this->driver instanceof Sized);

            return (float) $this->driver->size();
        }
        $time = $this->pass();
        $operations = \count($this->keys);
        $this->operations += $operations;
        $this->time += $time;

        return \round($time / $operations / 1e3, 5);
    }

    /** Microseconds an operation, of all samples since prepare() together. */
    public function average(): float
    {
        return $this->operations > 0 ? \round($this->time / $this->operations / 1e3, 5) : 0.0;
    }

    /** Operations a second of all samples since prepare(); 0 where there was none. */
    public function rate(): float
    {
        return $this->time > 0.0 ? $this->operations / $this->time * 1e9 : 0.0;
    }

    public function close(): void
    {
        $this->driver->disconnect();
    }

    /** Nanoseconds of all keys once. */
    private function pass(): float
    {
        $driver = $this->driver;
        switch ($this->operation) {
            case 'read':
            case 'repeat':
                $requests = $this->requests;
                $start = \hrtime(true);
                foreach ($requests as $keys) {
                    $driver->begin();
                    $driver->read($keys);
                }

                return \hrtime(true) - $start;
            case 'write':
                $requests = $this->requests;
                $value = $this->value;
                $start = \hrtime(true);
                foreach ($requests as $keys) {
                    $driver->begin();
                    $driver->write($keys, $value);
                }

                return \hrtime(true) - $start;
            case 'cycle':
                $driver->disconnect();
                $start = \hrtime(true);
                foreach ($this->keys as $key) {
                    $driver->connect();
                    $got = $driver->read([$key]);
                    $driver->disconnect();
                }
                $time = \hrtime(true) - $start;
                $driver->connect();
                // A value that went with the connection would be missed in no time.
                if (($got ?? null) !== $this->value) {
                    throw new \RuntimeException('Another connection does not see the written value.');
                }

                return $time;
            default:
                throw new \LogicException("There is no operation $this->operation.");
        }
    }

    private function choose(int $count): void
    {
        $keys = [];
        $distinct = $this->operation === 'repeat' ? 1 : $this->distinct;
        // Whole requests, but where the number was given.
        $count = $this->fixed > 0 ? $count : (int) \ceil($count / $this->request) * $this->request;
        for ($i = 0; $i < $count; ++$i) {
            $keys[] = $this->prefix . $i % $distinct;
        }
        $this->keys = $keys === [] ? throw new \LogicException('No operation in a sample.') : $keys;
        $this->requests = $this->begins ? \array_chunk($this->keys, $this->request) : [$this->keys];
    }

    /** Writes every key, and reads some. */
    private function check(): ?string
    {
        $this->driver->write($this->keys, $this->value);
        $this->driver->begin();
        $last = \count($this->keys) - 1;
        foreach (\array_unique([0, \intdiv($last, 2), $last]) as $i) {
            $got = $this->driver->read([$this->keys[$i]]);
            // Objects come back as others of the same kind.
            if (\is_scalar($got) || $got === null ? $got !== $this->value : $got != $this->value) {
                return self::wrong($this->value, $got);
            }
        }

        return null;
    }

    /** That another value came back. */
    public static function wrong(mixed $written, mixed $got): string
    {
        return \sprintf('%s was written, but %s came back', self::describe($written), self::describe($got));
    }

    private static function describe(mixed $value): string
    {
        return match (true) {
            \is_string($value) => \sprintf('a string of %d bytes (crc %s)', \strlen($value), \hash('crc32b', $value)),
            \is_array($value) => \sprintf('an array of %d (crc %s)', \count($value), \hash('crc32b', \serialize($value))),
            default => \get_debug_type($value),
        };
    }
}
