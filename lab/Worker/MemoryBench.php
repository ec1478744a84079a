<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Statistics\TimerCost;
use Larder\Lab\Subject\CountingDriver;
use Larder\Lab\Subject\FreshDriver;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/**
 * One operation on an engine in memory, made ready and timed: there it matters whether one key is read again and again
 * or thousands in no order, and whether what is written has been written before.
 *
 *     read        one key
 *     shuffled    as many as KEYS says, each once, in an order that chance decides
 *     missing     keys that are not there, among those that are
 *     write       a value that is new each time, under one key after the other
 *     increment   one key; the result of each sample is compared with what it must be
 *     gets        keys that all processes share, in an order that chance decides
 *     sets        the writer beside those that read them
 */
final class MemoryBench implements Measurable
{
    public const NAME = 'memory';

    /**
     * How many values of each kind are read in no order: 20,000 short ones, and of the others as many as fit, with what
     * else the task reads, into an eighth of the memory that the engines have (256 MB). So much may one request read in
     * place of a segment; from then on it would be timed how a value is copied.
     */
    public const KEYS = ['short' => 20_000, '20kB' => 1_000, 'integers' => 1_200, '50x50' => 140, 'objects' => 1_000];

    /** Keys that processes at once read, and that one may write meanwhile. */
    public const COMMON = 1_000;

    /** Of a sample that reads one key, at most. */
    private const HOT = 4_096;

    /** Values that are made for a sample of writing: they must be in memory before the clock starts. */
    private const FRESH = ['short' => 1_000, '20kB' => 200, 'integers' => 200, '50x50' => 30, 'objects' => 200];

    private const MISSING = 1_000;

    /** Untimed work before the first sample: nanoseconds. */
    private const WARM_UP = 4_000_000;

    /** Of the writer beside readers: values in one go. */
    private const BATCH = 100;

    /** @var non-empty-list<string> as the engine is asked by */
    private array $names;
    /** @var non-empty-list<string> */
    private array $keys;
    private readonly string $frozen;
    private readonly Randomizer $random;
    /** Operations of the last sample, or of the next. */
    private int $count = 1;
    private ?int $counted = null;
    private int $operations = 0;
    private float $time = 0.0;

    /**
     * @param string $prefix of keys that no other process has
     * @param string $common of keys that all processes at once have
     * @param int    $seed   of the order in which keys are read
     * @param int<1, max> $request keys after which a new request begins, which is timed with them
     */
    public function __construct(
        private readonly FreshDriver $driver,
        private readonly string $operation,
        private readonly string $payload,
        private readonly mixed $value,
        private readonly string $prefix,
        private readonly string $common,
        int $seed,
        private readonly int $request = \PHP_INT_MAX,
    ) {
        $this->keys = $this->names = [$prefix . ($operation === 'increment' ? 'count' : 'first')];
        $this->frozen = \serialize($value);
        $this->random = new Randomizer(new Xoshiro256StarStar($seed));
    }

    public function prepare(): ?string
    {
        $this->driver->connect();
        if ($this->operation !== 'increment') {
            // Something else lies there first, for an engine that keeps what it has must not pass.
            $this->driver->write($this->keys, 'something else');
            $this->driver->writeEach($this->fresh($this->keys));
            $wrong = $this->check($this->keys) ?? $this->fill();
            if ($wrong !== null) {
                return $wrong;
            }
        }
        $this->warm();
        $this->operations = 0;
        $this->time = 0.0;

        return null;
    }

    /** Writes what will be read. */
    private function fill(): ?string
    {
        $ofAll = $this->operation === 'gets' || $this->operation === 'sets';
        $this->keys = self::numbered($ofAll ? $this->common : $this->prefix, match ($this->operation) {
            'read' => 1,
            'shuffled', 'missing' => self::KEYS[$this->payload] ?? 1,
            'write' => self::FRESH[$this->payload] ?? 1,
            'gets', 'sets' => self::COMMON,
            default => throw new \LogicException("There is no operation $this->operation."),
        });
        $this->driver->write($this->keys, $this->value);
        $wrong = $this->check($this->keys);
        if ($wrong === null && $this->operation === 'missing') {
            $this->keys = self::numbered($this->prefix . 'missing:', self::MISSING);
            $wrong = $this->checkMissing();
        }
        /** @var non-empty-list<string> $names */
        $names = $this->random->shuffleArray($this->driver->names($this->keys));
        $this->names = $names;

        return $wrong;
    }

    public function sample(): float
    {
        $time = $this->pass();
        $this->operations += $this->count;
        $this->time += $time;

        return \round($time / $this->count / 1e3, 5);
    }

    public function average(): float
    {
        return $this->operations > 0 ? \round($this->time / $this->operations / 1e3, 5) : 0.0;
    }

    public function rate(): float
    {
        return $this->time > 0.0 ? $this->operations / $this->time * 1e9 : 0.0;
    }

    public function close(): void
    {
        if ($this->operation === 'gets') {
            // All that was read is there, and right, after all that was written meanwhile.
            $wrong = $this->check($this->keys);
            if ($wrong !== null) {
                throw new \RuntimeException($wrong);
            }
        }
        $this->driver->disconnect();
    }

    /** Nanoseconds of one sample, of $this->count operations. */
    private function pass(): float
    {
        $driver = $this->driver;
        switch ($this->operation) {
            case 'write':
            case 'sets':
                $values = $this->fresh($this->operation === 'write' ? $this->keys : $this->batch());
                $this->count = \count($values);
                $requests = \array_chunk($values, $this->request, true);
                $start = \hrtime(true);
                foreach ($requests as $values) {
                    $driver->begin();
                    $driver->writeEach($values);
                }

                return \hrtime(true) - $start;
            case 'increment':
                $driver->begin();

                return $this->count();
            default:
                $names = $this->names;
                $this->count = \count($names);
                $requests = \array_chunk($names, $this->request);
                $start = \hrtime(true);
                foreach ($requests as $names) {
                    $driver->begin();
                    $driver->read($names);
                }

                return \hrtime(true) - $start;
        }
    }

    /** Nanoseconds of adding one $this->count times. */
    private function count(): float
    {
        $driver = $this->driver;
        if (!$driver instanceof CountingDriver) {
            throw new \LogicException($driver::class . ' does not count.');
        }
        $key = $this->keys[0];
        $times = \max(1, $this->count);
        $start = \hrtime(true);
        $last = $driver->increment($key, $times);
        $time = \hrtime(true) - $start;
        if (!\is_int($last) || ($this->counted !== null && $last !== $this->counted + $times)) {
            throw new \RuntimeException(\sprintf('%s was counted to, and then, after %d more, %s.', $this->counted ?? 'nothing', $times, \is_int($last) ? $last : \get_debug_type($last)));
        }
        $this->counted = $last;

        return $time;
    }

    /** Untimed; and finds how many operations a sample takes, where it is one key's. */
    private function warm(): void
    {
        if ($this->operation === 'read' || $this->operation === 'increment') {
            $this->count = 1;
            $best = \min($this->pass(), $this->pass(), $this->pass(), $this->pass());
            $this->count = \max(1, \min(self::HOT, TimerCost::measure(1_001)->operations(\max(1.0, $best))));
            $this->names = \array_fill(0, $this->count, $this->names[0]);
        }
        \gc_collect_cycles();
        $end = \hrtime(true) + self::WARM_UP;
        do {
            $this->pass();
        } while (\hrtime(true) < $end);
    }

    /** @return non-empty-list<string> some keys, one after the other, from where chance decides */
    private function batch(): array
    {
        $keys = \array_slice($this->keys, $this->random->getInt(0, self::COMMON - self::BATCH), self::BATCH);

        return $keys === [] ? $this->keys : $keys;
    }

    /**
     * Values that nobody has used yet, each with memory of its own.
     *
     * @param non-empty-list<string> $keys
     *
     * @return non-empty-array<string, mixed>
     */
    private function fresh(array $keys): array
    {
        $values = [];
        foreach ($keys as $key) {
            $values[$key] = \unserialize($this->frozen);
        }

        return $values;
    }

    /**
     * Every key, and not only some: what was evicted would be read in no time.
     *
     * @param non-empty-list<string> $keys
     *
     * @return ?string what is wrong
     */
    private function check(array $keys): ?string
    {
        $this->driver->begin();
        foreach ($this->driver->names($keys) as $name) {
            $got = $this->driver->read([$name]);
            // Objects come back as others of the same kind.
            if (\is_scalar($got) || $got === null ? $got !== $this->value : $got != $this->value) {
                return Bench::wrong($this->value, $got);
            }
        }

        return null;
    }

    /** @return ?string what is wrong */
    private function checkMissing(): ?string
    {
        $this->driver->begin();
        foreach ($this->driver->names($this->keys) as $name) {
            $got = $this->driver->read([$name]);
            if ($got !== null && $got !== false) {
                return 'nothing was written, but ' . \get_debug_type($got) . ' came back';
            }
        }

        return null;
    }

    /** @return non-empty-list<string> */
    private static function numbered(string $prefix, int $count): array
    {
        $keys = [$prefix . '0'];
        for ($i = 1; $i < $count; ++$i) {
            $keys[] = $prefix . $i;
        }

        return $keys;
    }
}
