<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Subject\FreshDriver;
use Larder\Lab\Worker\Bench;
use Larder\Lab\Worker\MemoryBench;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

/** What the beginning of a request costs is borne by the request's keys. */
#[CoversClass(Bench::class)]
#[CoversClass(MemoryBench::class)]
final class RequestTest extends TestCase
{
    /** @return iterable<string, array{class-string<Bench|MemoryBench>, string, int<1, max>}> */
    public static function benches(): iterable
    {
        foreach ([1, 10, 175] as $request) {
            foreach (['read', 'write'] as $operation) {
                yield "$operation, $request keys" => [Bench::class, $operation, $request];
            }
            foreach (['shuffled', 'write'] as $operation) {
                yield "in memory: $operation, $request keys" => [MemoryBench::class, $operation, $request];
            }
        }
    }

    /**
     * A beginning waits for a millisecond: no sample can be shorter than its share of that.
     *
     * Seen to fail: begin() before the clock starts; one begin() a sample.
     *
     * @param class-string<Bench|MemoryBench> $class
     * @param int<1, max>                     $request
     */
    #[Test]
    #[DataProvider('benches')]
    public function theBeginningOfARequestIsTimedWithItsKeys(string $class, string $operation, int $request): void
    {
        $driver = self::driver();
        $bench = $class === Bench::class
            ? new Bench($driver, $operation, 'value', 'lab:', 0, $request, true)
            : new MemoryBench($driver, $operation, '50x50', 'value', 'lab:', 'all:', 1, $request);
        self::assertNull($bench->prepare());
        $driver->requests = [];
        $driver->cost = 1_000_000;
        $time = $bench->sample();

        $keys = \array_sum($driver->requests);
        self::assertGreaterThanOrEqual(\min($request, $keys), $keys);
        foreach ($driver->requests as $i => $count) {
            self::assertTrue($count === $request || $i === \count($driver->requests) - 1);
            self::assertLessThanOrEqual($request, $count);
        }
        self::assertGreaterThan(999.0 * \count($driver->requests) / $keys, $time);
    }

    /** Seen to fail: operations of a sample that do not look at the request. */
    #[Test]
    public function whereABeginningIsNothingASampleHasAsManyKeysAllTheSame(): void
    {
        $driver = self::driver();
        // One operation of it takes as long as hundreds of clocks.
        $driver->each = 100_000;
        $bench = new Bench($driver, 'read', 'value', 'lab:', 0, 10);
        self::assertNull($bench->prepare());
        $driver->requests = [];
        $bench->sample();

        self::assertSame([10], $driver->requests);
    }

    /** One key all the time, as in the published loop. Seen to fail: 'repeat' as 'read'. */
    #[Test]
    public function whatIsRepeatedIsOneKey(): void
    {
        $driver = self::driver();
        $bench = new Bench($driver, 'repeat', 'value', 'lab:', 500, 500);
        self::assertNull($bench->prepare());
        $driver->requests = $driver->keys = [];
        $bench->sample();

        self::assertSame([500], $driver->requests);
        self::assertCount(1, \array_unique($driver->keys));
    }

    /** @return FreshDriver&object{requests: list<int>, keys: list<string>, cost: int, each: int} */
    private static function driver(): FreshDriver
    {
        return new class implements FreshDriver {
            /** @var list<int> keys of each request since it began */
            public array $requests = [];
            /** @var list<string> that were asked for */
            public array $keys = [];
            /** Nanoseconds of a beginning, and of reading a key. */
            public int $cost = 0;
            public int $each = 0;
            private mixed $value = null;

            public function __construct(array $parameters = []) {}

            public function connect(): void {}

            public function disconnect(): void {}

            public function begin(): void
            {
                $this->requests[] = 0;
                self::wait($this->cost);
            }

            public function names(array $keys): array
            {
                return $keys;
            }

            public function write(array $keys, mixed $value): void
            {
                $this->value = $value;
                $this->count(\count($keys));
            }

            public function writeEach(array $values): void
            {
                foreach ($values as $value) {
                    $this->value = $value;
                }
                $this->count(\count($values));
            }

            public function read(array $keys): mixed
            {
                \array_push($this->keys, ...$keys);
                $this->count(\count($keys));
                self::wait($this->each * \count($keys));

                return $this->value;
            }

            private function count(int $keys): void
            {
                if ($this->requests !== []) {
                    $this->requests[\count($this->requests) - 1] += $keys;
                }
            }

            private static function wait(int $nanoseconds): void
            {
                $end = \hrtime(true) + $nanoseconds;
                while (\hrtime(true) < $end);
            }
        };
    }
}
