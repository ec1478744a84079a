<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Cache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\WordPress\Statistics;
use PHPUnit\Framework\TestCase;

final class AdminStatisticsTest extends TestCase
{
    private const REQUEST = [
        'hits' => 100, 'misses' => 3, 'seconds' => 0.25, 'round_trips' => 2,
        'tiers' => ['request' => ['hits' => 90, 'misses' => 13], 'disk' => ['hits' => 10, 'misses' => 3, 'engine' => 'sqlite'], 'conflicts' => ['dropped' => 7]],
        'groups' => ['options' => ['keys' => 4]],
    ];

    private TemporaryDirectory $directory;
    private Cache $own;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->own = self::open($this->directory->path);
    }

    public function testARequestStandsForAsManyAsItWeighs(): void
    {
        $before = \intdiv(\time(), 3600);
        Statistics::record($this->own, self::REQUEST, 16);
        Statistics::record($this->own, ['misses' => 1] + self::REQUEST, 16);

        $hours = Statistics::hours($this->own, 2);

        // The hour may have changed in between.
        $rows = \array_values(\array_filter($hours, static fn(array $row): bool => $row['requests'] > 0));
        if (\count($rows) === 1) {
            self::assertContains(\intdiv($rows[0]['hour'], 3600), [$before, $before + 1]);
            self::assertSame(0, $rows[0]['hour'] % 3600);
        }
        self::assertSame(32, \array_sum(\array_column($rows, 'requests')));
        self::assertSame(3200, \array_sum(\array_column($rows, 'hits')));
        self::assertSame(64, \array_sum(\array_column($rows, 'misses')));
        self::assertSame(64, \array_sum(\array_column($rows, 'round_trips')));
        self::assertSame(8.0, \array_sum(\array_column($rows, 'seconds')));
        self::assertSame(['request', 'disk'], \array_keys($rows[0]['tiers']));
        self::assertSame(320, \array_sum(\array_column(\array_column(\array_column($rows, 'tiers'), 'disk'), 'hits')));
    }

    public function testAnHourWithoutRequestsIsThereAndEmpty(): void
    {
        $hours = Statistics::hours($this->own, 48);

        self::assertCount(48, $hours);
        self::assertSame([3600], \array_values(\array_unique(\array_map(static fn(int $a, int $b): int => $b - $a, \array_column(\array_slice($hours, 0, -1), 'hour'), \array_column(\array_slice($hours, 1), 'hour')))));
        self::assertSame(['requests' => 0, 'hits' => 0, 'misses' => 0, 'seconds' => 0.0, 'round_trips' => 0, 'bytes' => null, 'tiers' => []], \array_slice($hours[47], 1));
        self::assertSame(\intdiv(\time(), 3600), \intdiv($hours[47]['hour'], 3600));
        self::assertCount(168, Statistics::hours($this->own, 1_000_000));
        self::assertCount(1, Statistics::hours($this->own, -5));
    }

    public function testEachRequestIsInTheHourInWhichItEnds(): void
    {
        $now = 1_800_003_600;
        foreach ([$now - 168 * 3600, $now - 3600, $now - 1, $now, $now + 3599, $now + 3600] as $time) {
            Statistics::record($this->own, self::REQUEST, 1, now: $time);
        }

        $hours = Statistics::hours($this->own, 168, $now + 1800);

        self::assertSame([$now - 167 * 3600, $now], [$hours[0]['hour'], $hours[167]['hour']]);
        self::assertSame([166 => 2, 167 => 2], \array_filter(\array_column($hours, 'requests')));
    }

    public function testOneRequestAnHourFindsOutHowLargeTheCacheIs(): void
    {
        $looked = 0;
        $bytes = static function () use (&$looked): int {
            return ++$looked * 1000;
        };
        foreach ([0, 5, 3599, 3600, 7000, 2 * 3600] as $time) {
            Statistics::record($this->own, self::REQUEST, 16, $bytes, 1_800_000_000 + $time);
        }

        self::assertSame(3, $looked);
        self::assertSame([null, 1000, 2000, 3000], \array_column(Statistics::hours($this->own, 4, 1_800_000_000 + 2 * 3600), 'bytes'));
    }

    public function testTheSizeIsThatOfTheStoreAndNotOfItsCopiesInMemory(): void
    {
        self::assertSame(7, Statistics::held(['request' => ['bytes' => 1], 'near' => ['bytes' => 2], 'disk' => ['bytes' => 7]]));
        self::assertSame(8, Statistics::held(['near' => ['bytes' => 2], 'far' => ['bytes' => 8]]));
        self::assertNull(Statistics::held(['request' => ['bytes' => 1], 'disk' => ['hits' => 3]]));
        self::assertGreaterThan(0, Statistics::held(self::open($this->directory->path)->stats()));
    }

    public function testACorruptFileCostsWhatWasCounted(): void
    {
        Statistics::record($this->own, self::REQUEST, 16);
        $this->own->writeFills();
        foreach (\glob($this->directory->path . '/*.db') ?: [] as $file) {
            \file_put_contents($file, \str_repeat('no database', 10_000));
        }

        $own = self::open($this->directory->path);
        self::assertSame(0, \array_sum(\array_column(Statistics::hours($own), 'requests')));
        Statistics::record($own, self::REQUEST, 16);
        $own->writeFills();

        self::assertSame(16, \array_sum(\array_column(Statistics::hours(self::open($this->directory->path)), 'requests')));
    }

    public function testARowEndsByItself(): void
    {
        Statistics::record($this->own, self::REQUEST, 1);
        Statistics::record($this->own, self::REQUEST, 1);
        $this->own->writeFills();

        $ends = [];
        foreach ($this->own->entries() as $entry) {
            $ends[] = $entry['ttl'];
        }

        self::assertNotSame([], $ends);
        foreach ($ends as $ttl) {
            self::assertNotNull($ttl);
            self::assertGreaterThan(0, $ttl);
            self::assertLessThanOrEqual(Statistics::KEPT, $ttl);
        }
    }

    /** @return iterable<string, array{mixed}> */
    public static function strangers(): iterable
    {
        yield 'a string' => ['<b>'];
        yield 'false' => [false];
        yield 'wrong types' => [['requests' => '7', 'hits' => -5, 'seconds' => \NAN, 'round_trips' => [], 'bytes' => '7', 'tiers' => ['disk' => 5, 'near' => ['hits' => null], 7 => ['hits' => 1, 'misses' => 'x']]]];
        yield 'tiers that are none' => [['tiers' => 'all', 'bytes' => -1]];
    }

    #[\PHPUnit\Framework\Attributes\DataProvider('strangers')]
    public function testAForeignRowIsCountedFromNothing(mixed $row): void
    {
        $hour = \intdiv(\time(), 3600);
        foreach ([$hour, $hour + 1] as $at) {
            $this->own->set('hour-' . $at, $row, 3600);
        }

        Statistics::record($this->own, self::REQUEST, 16);
        Statistics::record($this->own, ['hits' => 'many', 'tiers' => null], 0);

        $last = Statistics::hours($this->own, 1)[0];
        self::assertSame([17, 1600, 48, 4.0], [$last['requests'], $last['hits'], $last['misses'], $last['seconds']]);
        self::assertSame(['hits' => 160, 'misses' => 48], $last['tiers']['disk']);
        self::assertNull($last['bytes']);
    }

    public function testNamesOfTiersDoNotGrowARow(): void
    {
        for ($i = 0; $i < 30; $i++) {
            Statistics::record($this->own, ['tiers' => ["tier $i" => ['hits' => 1, 'misses' => 1]]], 1);
        }

        foreach (Statistics::hours($this->own, 2) as $row) {
            self::assertLessThanOrEqual(8, \count($row['tiers']));
        }
    }

    public function testNothingIsLostWhereManyAddAtOnce(): void
    {
        // Each is the first in some hours, and many are at once.
        // Whoever waits for longer than its time-out gives up, and its counts are lost: on a slow machine nobody is to.
        $code = 'require $argv[1]; $own = Larder\Cache::open(["disk" => "sqlite://" . $argv[2], "timeout" => 60.0])->group("~larder", cacheOnly: true); echo "ready\n"; fgets(STDIN);'
            . 'for ($i = 0; $i < 160; $i++) { Larder\WordPress\Statistics::record($own, ["hits" => 10, "misses" => 1], 16, now: 1_800_000_000 + $i * 3600); }';
        $processes = [];
        for ($i = 0; $i < 8; $i++) {
            $processes[] = new Process([\PHP_BINARY, '-r', $code, '--', \dirname(__DIR__, 2) . '/vendor/autoload.php', $this->directory->path]);
        }
        foreach ($processes as $process) {
            self::assertSame('ready', \trim((string) $process->line(60.0)), $process->errors());
        }
        foreach ($processes as $process) {
            $process->write("\n");
        }
        foreach ($processes as $process) {
            self::assertSame(0, $process->wait(60.0), $process->errors());
        }

        $hours = Statistics::hours(self::open($this->directory->path), 160, 1_800_000_000 + 159 * 3600);
        self::assertSame(\array_fill(0, 160, 8 * 16), \array_column($hours, 'requests'));
        self::assertSame(\array_fill(0, 160, 8 * 160), \array_column($hours, 'hits'));
        self::assertSame(\array_fill(0, 160, 8 * 16), \array_column($hours, 'misses'));
    }

    private static function open(string $directory): Cache
    {
        return Cache::open(['disk' => 'sqlite://' . $directory])->group('~larder', cacheOnly: true);
    }
}
