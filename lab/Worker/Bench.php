<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

use Larder\Lab\Subject\Driver;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/**
 * One operation of one driver, made ready, timed and checked.
 *
 * Every key is compared before the first sample and after the last, each with a value of its own (Values). Within each
 * sample one key is compared as well: the last, which is another one each time, for a sample begins anywhere in its keys.
 * What a timed read gives for it is kept, and compared when the clock has stopped; so the comparison costs no subject
 * anything. What a timed write has left there is read and compared when the clock has stopped.
 *
 * The clock runs from before a request's begin() to the end of its last operation, for all requests of a sample.
 */
final class Bench
{
    /** Untimed work before the first sample: nanoseconds. Where all keys have been read for so much longer, it is warm. */
    private const WARM_UP = 4_000_000;
    private const IS_WARM = 10 * self::WARM_UP;

    /** Of the writer beside readers: values in one go. */
    private const BATCH = 100;

    /** In the clock, since prepare(). */
    public Spent $spent;

    /** @var array<string, string> key to what the driver is asked by */
    private readonly array $names;
    private readonly Randomizer $random;
    /** @var array<string, int> key to the number of the value that it must give */
    private array $expected = [];
    /** Of the last value. */
    private int $number;
    private ?int $counted = null;
    /** Of all cells of all tables that a sample has got. */
    private int $bytes = 0;

    /**
     * @param bool $warm whether it is done untimed first; a script that runs once is not
     * @param int  $seed of what chance decides; another one writes other values
     */
    public function __construct(
        private readonly Driver $driver,
        private readonly string $operation,
        private readonly Values $values,
        private readonly Keys $keys,
        private readonly bool $warm,
        int $seed,
    ) {
        $this->random = new Randomizer(new Xoshiro256StarStar($seed));
        $all = \array_values(\array_unique([...$keys->written, ...$keys->sample]));
        $this->names = \array_combine($all, $driver->names($all));
        $this->number = \abs($seed) % 4_000_000;
        $this->spent = new Spent();
    }

    /**
     * Connects, writes what will be read, unless it lies there, compares it, and warms up.
     *
     * @param ?self $before whose keys may lie there: those of another operation, that it has compared at its end
     *
     * @throws WrongValue
     */
    public function prepare(?self $before = null): void
    {
        $this->driver->connect();
        $start = \hrtime(true);
        if ($this->operation === 'increment') {
            // From there on it is known what it must count to.
            $this->perform(0);
        } else {
            // What an engine keeps for one connection alone is gone.
            if ($before?->keys->written === $this->keys->written && !\in_array($this->driver->read([$this->names[$this->keys->written[0]]]), [null, false], true)) {
                [$this->expected, $this->number] = [$before->expected, $before->number];
            } else {
                $this->write();
            }
            $start = \hrtime(true);
            $this->check();
        }
        $read = \hrtime(true) - $start;
        \gc_collect_cycles();
        if ($this->warm && $this->operation !== 'size' && $read < self::IS_WARM) {
            $this->perform(\hrtime(true) + self::WARM_UP);
        }
        $this->spent = new Spent();
    }

    /**
     * Microseconds an operation (bytes, where the operation is "size").
     *
     * @throws WrongValue
     */
    public function sample(): float
    {
        if ($this->operation === 'size') {
            return (float) $this->driver->size();
        }
        $time = $this->spent->time;
        $operations = $this->spent->operations;
        $this->perform(0);

        return \round(($this->spent->time - $time) / ($this->spent->operations - $operations) / 1e3, 5);
    }

    /**
     * Works until a moment of the monotonic clock.
     *
     * @return int operations of all whole requests that had ended by then
     *
     * @throws WrongValue
     */
    public function until(int $end): int
    {
        return $this->perform($end);
    }

    /**
     * Compares all again, and disconnects.
     *
     * @throws WrongValue
     */
    public function finish(): void
    {
        $this->check();
        $this->driver->disconnect();
    }

    /**
     * All keys once, or, where there is an end, again and again until then.
     *
     * @return int operations that had ended by then; all, where there is no end
     */
    private function perform(int $end): int
    {
        $keys = $this->fromAnywhere();
        $requests = \array_chunk($keys, match ($this->operation) {
            'cycle' => 1,
            // Values are by key: none twice in one go.
            'write' => \max(1, \min($this->keys->request, \count($this->keys->written))),
            default => $this->keys->request,
        });
        // Two lists of requests in turn, of which each pass of a window takes one.
        $asked = match ($this->operation) {
            'write' => $this->keys->memory ? [$this->fresh($requests)] : $this->inTurn($requests),
            'increment', 'sets' => [$requests],
            default => [\array_map(fn(array $keys): array => \array_map(fn(string $key): string => $this->names[$key], $keys), $requests)],
        };
        $asked[] = $asked[0];
        $this->operation === 'cycle' && $this->driver->disconnect();
        $got = null;
        $last = 0;
        $late = false;
        $processor = Spent::processor();
        $start = \hrtime(true);
        for ($pass = 0;; ++$pass) {
            foreach ($asked[$pass & 1] as $last => $some) {
                $got = $this->request($some);
                if ($end !== 0 && \hrtime(true) > $end) {
                    $late = true;
                    break 2;
                }
            }
            if ($end === 0) {
                break;
            }
        }
        $time = \hrtime(true) - $start;
        $processor = Spent::processor() - $processor;

        $this->operation === 'cycle' && $this->driver->connect();
        $before = $pass * \count($keys) + $last * \count($requests[0]);
        $all = $before + \count($requests[$last]);
        $this->spent->add($all, $time, $processor);
        $this->compare($requests, $pass, $last, $all, $got);

        return $late ? $before : $all;
    }

    /**
     * What is timed.
     *
     * @param non-empty-array<mixed> $asked keys; their names, where it reads; their values, where it writes
     */
    private function request(array $asked): mixed
    {
        $driver = $this->driver;
        switch ($this->operation) {
            case 'read':
            case 'repeat':
            case 'shuffled':
            case 'missing':
            case 'gets':
                $driver->begin();

                /** @var non-empty-list<string> $asked */
                return $driver->read($asked);
            case 'walk':
                $driver->begin();
                foreach ($asked as $name) {
                    /** @var string $name */
                    $this->bytes += self::bytes($got = $driver->read([$name]));
                }

                return $got ?? null;
            case 'write':
                $driver->begin();
                /** @var non-empty-array<string, mixed> $asked */
                $driver->write($asked);

                return null;
            case 'cycle':
                $driver->connect();
                /** @var non-empty-list<string> $asked */
                $got = $driver->read($asked);
                $driver->disconnect();

                return $got;
            case 'increment':
                $driver->begin();

                return $driver->increment($this->keys->sample[0], \count($asked));
            case 'sets':
                $driver->begin();
                $driver->write($this->batch());

                return null;
            default:
                throw new \LogicException("There is no operation $this->operation.");
        }
    }

    /** @return non-empty-list<string> the keys of a sample, from one that chance decides */
    private function fromAnywhere(): array
    {
        $keys = $this->keys->sample;
        $first = $this->random->getInt(1, \count($keys));

        return [$keys[$first - 1], ...\array_slice($keys, $first), ...\array_slice($keys, 0, $first - 1)];
    }

    /**
     * What the next sample writes: other values than there are, made before the clock starts; one for all keys, and
     * another for the pass after it, for a window in which every key is written more than once.
     *
     * @param non-empty-list<non-empty-list<string>> $requests
     *
     * @return array{list<non-empty-array<string, mixed>>, list<non-empty-array<string, mixed>>}
     */
    private function inTurn(array $requests): array
    {
        $fill = static fn(mixed $value): array => \array_map(static fn(array $keys): array => \array_fill_keys($keys, $value), $requests);

        return [$fill($this->values->of(++$this->number)), $fill($this->values->of(++$this->number))];
    }

    /**
     * The same, each key's with memory of its own.
     *
     * @param non-empty-list<non-empty-list<string>> $requests
     *
     * @return list<non-empty-array<string, mixed>>
     */
    private function fresh(array $requests): array
    {
        return \array_map(function (array $keys): array {
            $values = [];
            foreach ($keys as $key) {
                $this->expected[$key] = ++$this->number;
                $values[$key] = $this->values->fresh($this->number);
            }

            return $values;
        }, $requests);
    }

    /**
     * The last key of a sample, after the clock has stopped.
     *
     * @param non-empty-list<non-empty-list<string>> $requests
     *
     * @throws WrongValue
     */
    private function compare(array $requests, int $pass, int $last, int $times, mixed $got): void
    {
        $key = $requests[$last][\count($requests[$last]) - 1];
        switch ($this->operation) {
            case 'sets':
                return;
            case 'increment':
                if (!\is_int($got) || ($this->counted !== null && $got !== $this->counted + $times)) {
                    throw new WrongValue(\sprintf('%s was counted to, and then, after %d more, %s.', $this->counted ?? 'nothing', $times, \is_int($got) ? $got : \get_debug_type($got)));
                }
                $this->counted = $got;

                return;
            case 'walk':
                [$bytes, $this->bytes] = [$this->bytes, 0];
                if ($bytes !== $times * self::bytes($this->values->of(0))) {
                    throw new WrongValue("$times tables were walked through, and their cells had $bytes bytes.");
                }
                $this->mustBe($this->expected[$key], $got);

                return;
            case 'missing':
                self::mustBeNothing($got);

                return;
            case 'write':
                // Each pass but the last has written all, and the last one the requests until it ended.
                foreach ($this->keys->memory ? [] : [[$pass - 1, $requests], [$pass, \array_slice($requests, 0, $last + 1)]] as [$by, $written]) {
                    foreach ($by < 0 ? [] : \array_merge(...$written) as $one) {
                        $this->expected[$one] = $this->number - 1 + ($by & 1);
                    }
                }
                $this->driver->begin();
                $got = $this->driver->read([$this->names[$key]]);
                // no break
            default:
                $this->mustBe($this->expected[$key], $got);
        }
    }

    /** What will be read, each key with a value of its own. */
    private function write(): void
    {
        if (!$this->keys->common) {
            // Something else lies there first, for an engine that keeps what it has must not pass.
            $this->driver->write([$this->keys->written[0] => 'something else']);
        }
        // A serializer has one place, and its size must not depend on chance.
        $isSized = $this->driver->size() !== null;
        foreach ($this->keys->written as $key) {
            $this->expected[$key] = $isSized ? 0 : ++$this->number;
            $this->driver->write([$key => $this->values->of($this->expected[$key])]);
        }
    }

    /**
     * Every key, and not only some: what was evicted would be read in no time.
     *
     * @throws WrongValue
     */
    private function check(): void
    {
        $this->driver->begin();
        // A miss may be a part that has failed, and a get another tier's than it is said to be.
        $this->driver->inspect();
        foreach ($this->expected as $key => $number) {
            $this->mustBe($number, $this->driver->read([$this->names[$key]]));
        }
        foreach ($this->operation === 'missing' ? $this->keys->sample : [] as $key) {
            self::mustBeNothing($this->driver->read([$this->names[$key]]));
        }
    }

    /** Of all cells, so that each is touched. */
    private static function bytes(mixed $table): int
    {
        $bytes = 0;
        /** @var array<array<string>> $table */
        foreach ($table as $row) {
            foreach ($row as $cell) {
                $bytes += \strlen($cell);
            }
        }

        return $bytes;
    }

    private function mustBe(int $number, mixed $got): void
    {
        $got === null && $this->driver->inspect();
        $this->values->check($number, $got);
    }

    private static function mustBeNothing(mixed $got): void
    {
        if ($got !== null && $got !== false) {
            throw new WrongValue('nothing was written, but ' . \get_debug_type($got) . ' came back');
        }
    }

    /**
     * Some keys, one after the other, from where chance decides: with the values that they have, for others read them.
     *
     * @return non-empty-array<string, mixed>
     */
    private function batch(): array
    {
        $values = [];
        foreach (\array_slice($this->keys->sample, $this->random->getInt(0, \count($this->keys->sample) - self::BATCH), self::BATCH) as $key) {
            $values[$key] = $this->values->fresh($this->expected[$key]);
        }

        return $values === [] ? throw new \LogicException('Nothing to write.') : $values;
    }
}
