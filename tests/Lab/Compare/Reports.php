<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Compare;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\Names;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Tests\Lab\Statistics\Rounds;
use Random\Engine\Mt19937;
use Random\Randomizer;

/** Made-up reports of which it is known what is in them. */
final class Reports
{
    private const POOL = 65_536;

    /** @var array<string, list<float>> by noise: what rounds are multiplied by, log-normal */
    private static array $pools = [];

    /**
     * Cells "engines/redis:socket:0/short/read/1" and so on, each of its own time.
     *
     * @param float             $noise of a round, as a part of it
     * @param array<int, float> $slow  subject to how many times as long it takes
     * @param float             $all   how many times as long everything takes
     * @param int<1, max>       $each  cells of a subject
     */
    public static function noisy(int $seed, int $cells = 800, int $rounds = 10, float $noise = 0.03, array $slow = [], float $all = 1.0, int $each = 1, string $started = '2026-05-06T07:08:09Z'): Report
    {
        $random = new Randomizer(new Mt19937($seed));
        $pool = self::$pools[(string) $noise] ??= self::pool($noise);
        $results = [];
        for ($i = 0; $i < $cells; $i++) {
            $time = $all * ($slow[\intdiv($i, $each)] ?? 1.0) * (0.1 + $i % 97);
            $measured = [];
            for ($round = 0; $round < $rounds; $round++) {
                $measured[] = [$time * ($pool[$random->getInt(0, self::POOL - 1)] ?? 1.0)];
            }
            $results[] = self::result($each === 1 ? self::cell($i) : new Cell('engines', 'redis:socket:' . \intdiv($i, $each), 'redis', Cell::SOCKET, 'php', 'none', 'value' . $i % $each, 'read'), $measured);
        }

        return self::report($results, started: $started);
    }

    public static function cell(int $number, string $unit = Cell::MICROSECONDS, int $concurrency = 1): Cell
    {
        return new Cell('engines', "redis:socket:$number", 'redis', Cell::SOCKET, 'php', 'none', 'short', $unit === Cell::BYTES ? 'size' : 'read', $concurrency, $unit);
    }

    /** @param list<float> $rounds a sample each */
    public static function of(int $number, array $rounds, string $unit = Cell::MICROSECONDS): Result
    {
        return self::result(self::cell($number, $unit), \array_map(static fn(float $sample): array => [$sample], $rounds));
    }

    /** @param list<non-empty-list<float>> $rounds */
    public static function result(Cell $cell, array $rounds): Result
    {
        return new Result($cell, $rounds !== [] ? $rounds : throw new \LogicException('A result has a round.'));
    }

    /**
     * One of whatever Cell::id() says.
     *
     * @param list<float>|list<non-empty-list<float>> $rounds a sample each, or several
     */
    public static function measured(string $id, array $rounds, string $unit = Cell::MICROSECONDS): Result
    {
        $cell = Names::cell($id) ?? throw new \LogicException("$id is no id.");
        $samples = \array_map(static fn(mixed $round): array => \is_array($round) ? $round : [$round], $rounds);

        return self::result(new Cell(...['unit' => $unit] + \get_object_vars($cell)), $samples);
    }

    /**
     * @param list<Result>                                                                 $results
     * @param array<string, string|int|float>                                              $machine
     * @param array<string, string>                                                        $versions
     * @param list<array{subject: string, scenario: string, reason: string}>               $disqualified
     * @param list<array{subject: string, scenario: string, what: string, advice: string}> $missing
     * @param list<Ratio>                                                                  $ratios
     * @param list<Presentation>                                                           $scenarios
     * @param list<string>                                                                 $notes
     */
    public static function report(
        array $results = [],
        array $machine = ['processor' => 'Made Up 3000', 'cores' => 2, 'memory' => 4_000_000_000, 'load' => 0.25],
        array $versions = ['PHP' => '8.2.31', 'Redis' => '7.0.15'],
        array $disqualified = [],
        array $missing = [],
        bool $partial = false,
        bool $quiet = true,
        string $started = '2026-05-06T07:08:09Z',
        array $ratios = [],
        array $scenarios = [],
        array $notes = [],
    ): Report {
        $rounds = \max([0, ...\array_map(static fn(Result $result): int => \count($result->rounds), $results)]);

        return new Report('bin/larder bench', $machine, $versions, $scenarios, $results, $ratios, $missing, $disqualified, $notes, $partial, $quiet, 1, $rounds, $started, 1.0);
    }

    /** @return list<float> */
    private static function pool(float $noise): array
    {
        $rounds = new Rounds(4711);

        return \array_map(static fn(): float => \exp($noise * $rounds->normal()), \range(1, self::POOL));
    }
}
