<?php

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** A little of the fuzz over every truth tier; `make fuzz` is for more. */
#[CoversNothing]
final class FuzzTest extends TestCase
{
    #[DataProvider('some')]
    #[Group('slow')]
    public function testNoPromiseIsBroken(string $dsn): void
    {
        $this->fuzz($dsn, 0.5, false);
    }

    #[DataProvider('all')]
    #[Group('long')]
    public function testNoPromiseIsBrokenForLong(string $dsn): void
    {
        $this->fuzz($dsn, 60.0, true);
    }

    /** @return iterable<string, array{string}> */
    public static function some(): iterable
    {
        foreach (['sqlite apcu', 'sqlite segment', 'file', 'redis apcu', 'redis sqlite', 'redis segment', 'redis-full', 'predis', 'memcached apcu', 'memcached sqlite'] as $dsn) {
            yield $dsn => [$dsn];
        }
    }

    /** @return iterable<string, array{string}> */
    public static function all(): iterable
    {
        foreach (Fuzz::all() as $dsn) {
            yield $dsn => [$dsn];
        }
    }

    private function fuzz(string $dsn, float $seconds, bool $look): void
    {
        $lacks = Fuzz::lacks($dsn);
        if ($lacks !== null) {
            self::markTestSkipped("Needs $lacks.");
        }
        // How many requests there are is the machine's affair; where its processes were not even up, it gets more time.
        do {
            $fuzz = new Fuzz($dsn, $seconds, \random_int(1, 1_000_000), 4, true, $look);
            $outcome = $fuzz->run();
            $text = "seed $fuzz->seed\n" . \implode("\n", $outcome->histories) . $outcome->summary();
            self::assertSame([], \array_map(static fn($violation): string => $violation->what, $outcome->violations), $text);
        } while ($outcome->totals['requests'] === 0 && ($seconds *= 4) < 60.0);
        self::assertGreaterThan(0, $outcome->totals['requests'], $text);
    }
}
