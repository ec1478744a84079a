<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Worker\Bench;
use Larder\Lab\Worker\Keys;
use Larder\Lab\Worker\Values;
use Larder\Tests\Lab\Support\FaultyMemory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Random\Randomizer;

/** What the beginning of a request costs is borne by the request's keys. */
final class RequestTest extends TestCase
{
    /** @return iterable<string, array{string, int<1, max>}> */
    public static function operations(): iterable
    {
        foreach ([1, 10, 175] as $request) {
            foreach (['read', 'write', 'shuffled', 'fresh'] as $operation) {
                yield "$operation, $request keys" => [$operation, $request];
            }
        }
    }

    /**
     * A beginning waits for a millisecond: no sample can be shorter than its share of that.
     *
     * Seen to fail: begin() before the clock starts; one begin() a sample.
     *
     * @param int<1, max> $request
     */
    #[DataProvider('operations')]
    public function testTheBeginningOfARequestIsTimedWithItsKeys(string $operation, int $request): void
    {
        $driver = new FaultyMemory();
        $keys = match ($operation) {
            'shuffled', 'fresh' => Keys::inMemory($operation === 'fresh' ? 'write' : $operation, '50x50', 'lab:', 'all:', 350, $request, new Randomizer()),
            default => Keys::inOrder('lab:', 350, 350, $request),
        };
        $bench = new Bench($driver, $operation === 'fresh' ? 'write' : $operation, new Values('value 00000042'), $keys, false, 1);
        $bench->prepare();
        $driver->requests = [];
        $driver->cost = 1_000_000;
        $time = $bench->sample();
        if ($bench->spent->operations < \array_sum($driver->requests)) {
            // One key of what was written is looked at, when the clock has stopped.
            self::assertSame(1, \array_pop($driver->requests));
        }

        self::assertSame(\count($keys->sample), $bench->spent->operations);
        self::assertSame(\array_map(\count(...), \array_chunk($keys->sample, $request)), $driver->requests);
        self::assertGreaterThan(999.0 * \count($driver->requests) / \count($keys->sample), $time);
    }

    /** What ends later than that does not count. Seen to fail: a request counted that ended late. */
    public function testOnlyWholeRequestsThatEndedInTimeCount(): void
    {
        $driver = new FaultyMemory();
        $bench = new Bench($driver, 'read', new Values('value 00000042'), Keys::inOrder('lab:', 20, 20, 10), false, 1);
        $bench->prepare();
        self::assertSame(0, $bench->until(\hrtime(true) - 1));
        self::assertSame(10, $bench->spent->operations);
        $driver->cost = 3_000_000;
        $ended = $bench->until(\hrtime(true) + 10_000_000);

        self::assertSame($bench->spent->operations - 20, $ended);
        self::assertLessThanOrEqual(30, $ended, 'three beginnings at the most');
    }

    /** One key all the time, as in the published loop. Seen to fail: 'repeat' with 500 distinct keys. */
    public function testTheSameIsOneKey(): void
    {
        $driver = new FaultyMemory();
        $bench = new Bench($driver, 'repeat', new Values('value 00000042'), Keys::inOrder('lab:', 500, 1, 500), false, 1);
        $bench->prepare();
        $bench->sample();

        self::assertSame(\array_fill(0, 500, 'name of lab:0'), \end($driver->reads));
    }
}
