<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Subject\EngineFailure;
use Larder\Lab\Worker\Bench;
use Larder\Lab\Worker\Keys;
use Larder\Lab\Worker\Values;
use Larder\Lab\Worker\WrongValue;
use Larder\Tests\Lab\Support\FaultyMemory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;

/** Over an engine in memory, which says what was asked of it. */
#[Group('slow')]
final class BenchTest extends TestCase
{
    private const OPERATIONS = ['read', 'shuffled', 'missing', 'write', 'increment', 'gets', 'sets'];

    public function testAGoodEngineIsTimed(): void
    {
        foreach (self::OPERATIONS as $operation) {
            $driver = new FaultyMemory();
            $bench = self::prepared($driver, $operation);

            self::assertSame(0, $bench->spent->operations, 'what was done before is not counted');
            self::assertGreaterThan(0.0, $bench->sample());
            $operations = $bench->spent->operations;
            self::assertGreaterThan(0, $operations);
            $until = $bench->until(\hrtime(true) + 1_000_000);
            self::assertLessThanOrEqual($bench->spent->operations - $operations, $until);
            $bench->finish();
            self::assertFalse($driver->connected);
        }
    }

    /** Seen to fail: filled again all the same; not compared; not filled where an engine had lost it. */
    public function testWhatTheOperationBeforeHasLeftIsReadAndComparedAndNotFilledAgain(): void
    {
        $driver = new FaultyMemory();
        $bench = static fn(string $operation): Bench => new Bench($driver, $operation, new Values('value 00000042'), Keys::inOrder('own:', 20, 20, 10), false, 1);
        $before = $bench('write');
        $before->prepare();
        $before->sample();
        $before->finish();
        [$writes, $reads] = [\count($driver->written), \count($driver->reads)];
        $bench('read')->prepare($before);
        self::assertSame([$writes, $reads + 1 + 20], [\count($driver->written), \count($driver->reads)]);

        unset($driver->values['own:0']);
        $bench('read')->prepare($before);
        self::assertCount($writes + 1 + 20, $driver->written);
        $left = $bench('write');
        $left->prepare();
        $driver->values['own:7'] = $driver->values['own:6'];
        $this->expectException(WrongValue::class);
        $bench('read')->prepare($left);
    }

    /** Seen to fail: names() not asked for the keys that are read. */
    public function testOneKeyIsReadManyTimesByItsName(): void
    {
        $driver = new FaultyMemory();
        self::prepared($driver, 'read')->sample();

        self::assertSame(\array_fill(0, 350, 'name of own:0'), \end($driver->reads));
    }

    /** Seen to fail: without shuffleArray(). */
    public function testShuffledIsEachKeyOnceInAnOrderOfTheSeed(): void
    {
        $orders = [];
        foreach ([1, 1, 2] as $seed) {
            $driver = new FaultyMemory();
            self::prepared($driver, 'shuffled', '50x50', $seed);
            $first = \array_values(\array_filter($driver->reads, static fn(array $keys): bool => \count($keys) > 1))[0];
            $orders[] = $first;
            $all = \array_map(static fn(int $i): string => "name of own:$i", \range(0, Keys::SHUFFLED['50x50'] - 1));
            // A sample begins anywhere, which is no other order.
            $from = (int) \array_search($all[0], $first, true);
            self::assertNotSame($all, [...\array_slice($first, $from), ...\array_slice($first, 0, $from)]);
            self::assertEqualsCanonicalizing($all, $first);
        }

        self::assertSame($orders[0], $orders[1]);
        self::assertNotSame($orders[0], $orders[2]);
    }

    /** Seen to fail: of() in place of fresh(). */
    public function testEachValueThatIsTimedIsAnObjectOfItsOwn(): void
    {
        $driver = new FaultyMemory();
        self::prepared($driver, 'write', 'objects')->sample();
        $batch = \end($driver->written);
        self::assertIsArray($batch);
        $objects = [];
        foreach ($batch as $value) {
            self::assertIsArray($value);
            self::assertIsArray($value['posts']);
            self::assertIsObject($value['posts'][0]);
            $objects[\spl_object_id($value['posts'][0])] = true;
        }

        self::assertCount(200, $objects);
    }

    /** @return iterable<string, array{string, string, string}> */
    public static function faults(): iterable
    {
        yield 'keeps the first' => ['keeps the first', 'read', 'a string of 14 bytes'];
        yield 'keeps the first, written' => ['keeps the first', 'write', 'a string of 14 bytes'];
        yield 'forgets one of all' => ['forgets one', 'shuffled', 'null came back'];
        yield 'forgets one of the common' => ['forgets one', 'gets', 'null came back'];
        yield 'finds what is not there' => ['finds everything', 'missing', 'nothing was written, but string came back'];
        yield 'counts twice' => ['counts twice', 'increment', 'was counted to, and then, after'];
        yield 'loses count' => ['loses count', 'increment', 'more, bool.'];
    }

    /** Seen to fail: a check of the first, the middle and the last key only; an increment that is not compared. */
    #[DataProvider('faults')]
    public function testAWrongValueIsNotTimed(string $fault, string $operation, string $says): void
    {
        $this->expectException(WrongValue::class);
        $this->expectExceptionMessage($says);
        $bench = self::prepared(new FaultyMemory(['fault' => $fault]), $operation);
        // A short warm-up on a busy machine does not count far enough for some of them.
        for ($i = 0; $i < 5; $i++) {
            $bench->sample();
        }
    }

    /** Seen to fail: without the check in finish(). */
    public function testWhatIsGoneAfterwardsWasNotRead(): void
    {
        foreach (['gets' => 'all:500', 'shuffled' => 'own:500'] as $operation => $key) {
            $driver = new FaultyMemory();
            $bench = self::prepared($driver, $operation);
            $bench->sample();
            unset($driver->values[$key]);
            try {
                $bench->finish();
                self::fail("Nobody has missed $key.");
            } catch (WrongValue $e) {
                self::assertStringContainsString('null came back', $e->getMessage());
            }
        }
    }

    /** Seen to fail: without the look in check(), and with one at each miss. */
    public function testAFailedPartIsLookedForBeforeTheClockAndAfterItAndNotAtEachMiss(): void
    {
        foreach (['missing', 'shuffled', 'write'] as $operation) {
            $driver = new FaultyMemory();
            $bench = self::prepared($driver, $operation);
            $bench->sample();
            self::assertSame(1, $driver->inspected);
            $driver->isWhole = false;
            $bench->sample();
            try {
                $bench->finish();
                self::fail('What has failed was measured.');
            } catch (EngineFailure) {
                self::assertSame(2, $driver->inspected);
            }
        }
    }

    /** Seen to fail: the last key of a sample not compared. */
    public function testWhatATimedReadGivesIsCompared(): void
    {
        $driver = new FaultyMemory();
        $bench = self::prepared($driver, 'read');
        $driver->values['own:0'] = 'another';

        $this->expectException(WrongValue::class);
        $bench->sample();
    }

    /** Processes at once read the same keys. */
    public function testOnlyTheCommonKeysAreEverybodys(): void
    {
        foreach (self::OPERATIONS as $operation) {
            $driver = new FaultyMemory();
            self::prepared($driver, $operation);
            $common = \array_filter(\array_keys($driver->values), static fn(string $key): bool => \str_starts_with($key, 'all:'));
            $ofAll = $operation === 'gets' || $operation === 'sets';
            self::assertCount($ofAll ? Keys::COMMON : 0, $common);
            self::assertSame(!$ofAll, \count($driver->values) > \count($common));
        }
    }

    /** Seen to fail: one value for all keys; loosely compared; objects by their content alone. */
    public function testValuesDifferByTheirNumberAndInNothingElse(): void
    {
        foreach (Payloads::MEMORY as $name) {
            $values = new Values(Payloads::get($name));
            self::assertEquals(Payloads::get($name), $values->of(0));
            self::assertNotEquals($values->of(1), $values->of(2));
            self::assertSame(\strlen(\serialize($values->of(1))), \strlen(\serialize($values->of(2))));
            self::assertEquals($values->of(3), $values->fresh(3));
            $values->check(3, $values->fresh(3));
        }
        $object = new \ArrayObject(['a' => 12]);
        foreach ([[12, '12'], [['a' => 1, 'b' => 2], ['b' => 2, 'a' => 1]], [$object, (object) ['a' => 12]], [0, false], [1, 1.0]] as [$written, $got]) {
            try {
                (new Values($written))->check(0, $got);
                self::fail(\get_debug_type($got) . ' was taken for ' . \get_debug_type($written));
            } catch (WrongValue) {
            }
        }
    }

    /** @return iterable<string, array{string, int<1, max>}> */
    public static function requests(): iterable
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
    #[DataProvider('requests')]
    public function testTheBeginningOfARequestIsTimedWithItsKeys(string $operation, int $request): void
    {
        $driver = new FaultyMemory();
        $keys = match ($operation) {
            'shuffled', 'fresh' => Keys::inMemory($operation === 'fresh' ? 'write' : $operation, '50x50', 'lab:', 'all:', 350, $request, new Randomizer()),
            default => Keys::inOrder('lab:', 350, 350, $request),
        };
        $bench = self::inOrder($driver, $operation === 'fresh' ? 'write' : $operation, $keys);
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
        $bench = self::inOrder($driver, 'read', Keys::inOrder('lab:', 20, 20, 10));
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
        $bench = self::inOrder($driver, 'repeat', Keys::inOrder('lab:', 500, 1, 500));
        $bench->sample();

        self::assertSame(\array_fill(0, 500, 'name of lab:0'), \end($driver->reads));
    }

    /** All that was got is walked through: a cell that is missing in one that is not the last is found. Seen to fail: bytes() of the last get only. */
    public function testEveryCellOfEveryGetIsRead(): void
    {
        $driver = new FaultyMemory();
        $keys = Keys::inMemory('walk', '50x50', 'own:', 'all:', 5, 5, new Randomizer(new Xoshiro256StarStar(1)));
        $bench = new Bench($driver, 'walk', new Values(Payloads::get('50x50')), $keys, false, 1);
        $bench->prepare();
        $driver->reads = [];
        $bench->sample();
        self::assertSame(\array_fill(0, 5, ['name of own:0']), $driver->reads);
        $driver->emptied = 1;
        $this->expectException(WrongValue::class);
        $this->expectExceptionMessageMatches('/5 tables were walked through/');
        $bench->sample();
    }

    private static function inOrder(FaultyMemory $driver, string $operation, Keys $keys): Bench
    {
        $bench = new Bench($driver, $operation, new Values('value 00000042'), $keys, false, 1);
        $bench->prepare();

        return $bench;
    }

    private static function prepared(FaultyMemory $driver, string $operation, string $payload = 'short', int $seed = 1): Bench
    {
        $keys = Keys::inMemory($operation, $payload, 'own:', 'all:', 350, \PHP_INT_MAX, new Randomizer(new Xoshiro256StarStar($seed)));
        $bench = new Bench($driver, $operation, new Values($operation === 'increment' ? 0 : Payloads::get($payload)), $keys, true, $seed);
        $bench->prepare();

        return $bench;
    }
}
