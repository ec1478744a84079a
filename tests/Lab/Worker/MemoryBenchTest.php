<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Payload\MemoryPayloads;
use Larder\Lab\Worker\MemoryBench;
use Larder\Tests\Lab\Support\FaultyMemory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Test;
use PHPUnit\Framework\TestCase;

#[CoversClass(MemoryBench::class)]
final class MemoryBenchTest extends TestCase
{
    /** @return iterable<string, array{string}> */
    public static function operations(): iterable
    {
        foreach (['read', 'shuffled', 'missing', 'write', 'increment', 'gets', 'sets'] as $operation) {
            yield $operation => [$operation];
        }
    }

    #[Test]
    #[DataProvider('operations')]
    public function aGoodEngineIsTimed(string $operation): void
    {
        $driver = new FaultyMemory();
        $bench = self::bench($driver, $operation);

        self::assertNull($bench->prepare());
        self::assertSame(0.0, $bench->rate(), 'what was done before is not counted');
        self::assertGreaterThan(0.0, $bench->sample());
        self::assertGreaterThan(0.0, $bench->average());
        self::assertEqualsWithDelta(1e6 / $bench->average(), $bench->rate(), $bench->rate() * 0.01);
        $bench->close();
        self::assertFalse($driver->connected);
    }

    /** Seen to fail: names() not asked for the keys that are read. */
    #[Test]
    public function oneKeyIsReadManyTimesByItsName(): void
    {
        $driver = self::prepared('read');
        $last = \end($driver->reads);

        self::assertIsArray($last);
        self::assertSame(['name of own:0'], \array_values(\array_unique($last)));
        self::assertGreaterThan(1, \count($last));
    }

    /** Seen to fail: without shuffleArray(). */
    #[Test]
    public function shuffledIsEachKeyOnceInAnOrderOfTheSeed(): void
    {
        $orders = [];
        foreach ([1, 1, 2] as $seed) {
            $driver = self::prepared('shuffled', '50x50', $seed);
            $last = \end($driver->reads);
            self::assertIsArray($last);
            $orders[] = $last;
            $all = \array_map(static fn(int $i): string => "name of own:$i", \range(0, MemoryBench::KEYS['50x50'] - 1));
            self::assertNotSame($all, $last);
            self::assertEqualsCanonicalizing($all, $last);
        }

        self::assertSame($orders[0], $orders[1]);
        self::assertNotSame($orders[0], $orders[2]);
    }

    /** Seen to fail: $this->value in place of unserialize($this->frozen) in fresh(). */
    #[Test]
    public function eachValueThatIsTimedIsAnObjectOfItsOwn(): void
    {
        $driver = self::prepared('write', 'objects');
        $batch = \end($driver->written);
        self::assertIsArray($batch);
        $objects = [];
        foreach ($batch as $value) {
            self::assertEquals(MemoryPayloads::get('objects'), $value);
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
    }

    /** Seen to fail: a check of the first, the middle and the last key only. */
    #[Test]
    #[DataProvider('faults')]
    public function aWrongValueIsNotTimed(string $fault, string $operation, string $says): void
    {
        self::assertStringContainsString($says, (string) self::bench(new FaultyMemory(['fault' => $fault]), $operation)->prepare());
    }

    /** Seen to fail: without the comparison in count(). */
    #[Test]
    public function aCounterThatSkipsOrStopsIsNotTimed(): void
    {
        foreach (['counts twice' => '/was counted to, and then, after \d+ more, \d+\./', 'loses count' => '/more, bool\./'] as $fault => $says) {
            try {
                self::bench(new FaultyMemory(['fault' => $fault]), 'increment')->prepare();
                self::fail("It was not noticed that the engine $fault.");
            } catch (\RuntimeException $e) {
                self::assertMatchesRegularExpression($says, $e->getMessage());
            }
        }
    }

    /** Seen to fail: without the check in close(). */
    #[Test]
    public function whatIsGoneAfterwardsWasNotRead(): void
    {
        $driver = new FaultyMemory();
        $bench = self::bench($driver, 'gets');
        self::assertNull($bench->prepare());
        $bench->sample();
        unset($driver->values['all:500']);

        $this->expectException(\RuntimeException::class);
        $this->expectExceptionMessage('null came back');
        $bench->close();
    }

    /** Processes at once read the same keys, and what proves that an engine takes new values is each one's own. */
    #[Test]
    public function onlyTheCommonKeysAreEverybodys(): void
    {
        foreach (['gets', 'sets'] as $operation) {
            $driver = self::prepared($operation);
            $common = \array_filter(\array_keys($driver->values), static fn(string $key): bool => \str_starts_with($key, 'all:'));
            self::assertCount(MemoryBench::COMMON, $common);
            self::assertSame(['own:first'], \array_values(\array_diff(\array_keys($driver->values), $common)));
        }
        self::assertSame(['own:0', 'own:first'], self::sorted(\array_keys(self::prepared('read')->values)));
    }

    private static function prepared(string $operation, string $payload = 'short', int $seed = 1): FaultyMemory
    {
        $driver = new FaultyMemory();
        self::assertNull(self::bench($driver, $operation, $payload, $seed)->prepare());

        return $driver;
    }

    private static function bench(FaultyMemory $driver, string $operation, string $payload = 'short', int $seed = 1): MemoryBench
    {
        return new MemoryBench($driver, $operation, $payload, $operation === 'increment' ? 0 : MemoryPayloads::get($payload), 'own:', 'all:', $seed);
    }

    /**
     * @param list<string> $strings
     *
     * @return list<string>
     */
    private static function sorted(array $strings): array
    {
        \sort($strings);

        return $strings;
    }
}
