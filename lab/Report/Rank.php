<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Interval;
use Larder\Lab\Statistics\UnusableSamples;

/** What stands beside what in a report, in which order, and how far apart. */
final class Rank
{
    /** @var array<string, Ratio> those of the tables, by both ids */
    private array $ratios = [];
    /** @var array<string, Ratio> those of the tables, by the first id */
    private array $toBase = [];

    public function __construct(
        public readonly Report $report,
        private readonly Bootstrap $bootstrap = new Bootstrap(),
    ) {
        foreach ($report->ratios as $ratio) {
            // One with a limit is a promise between any two.
            if ($ratio->kind === Ratio::TABLE && $ratio->limit === null) {
                $this->ratios["$ratio->of $ratio->to"] = $ratio;
                $this->toBase[$ratio->of] ??= $ratio;
            }
        }
    }

    /** The figure by which results are put in order: the one that rounds are compared by (Result::centers()). */
    public static function center(Result $result): float
    {
        return $result->cell->concurrency > 1 ? $result->summary->mean : $result->summary->median;
    }

    /**
     * The results that differ in nothing but their subject, the best first; groups in the order of the report, the presentation's first before them.
     *
     * @return list<non-empty-list<Result>>
     */
    public function groups(string $scenario): array
    {
        $first = $this->presentation($scenario)->first;
        $groups = [];
        foreach ($this->report->results as $result) {
            $cell = $result->cell;
            if ($cell->scenario === $scenario) {
                $groups[\serialize([$cell->payload, $cell->operation, $cell->concurrency, $cell->unit])][] = $result;
            }
        }

        $groups = \array_values(\array_map(self::sorted(...), $groups));
        $isFirst = static fn(Result $result): bool => "{$result->cell->payload}/{$result->cell->operation}" === $first;
        \usort($groups, static fn(array $a, array $b): int => $isFirst($b[0]) <=> $isFirst($a[0]));

        return $groups;
    }

    /**
     * @param list<Result> $results
     *
     * @return ($results is non-empty-list<Result> ? non-empty-list<Result> : list<Result>)
     */
    public static function sorted(array $results): array
    {
        \usort($results, static fn(Result $a, Result $b): int => ($a->cell->moreIsBetter() ? -1 : 1) * (self::center($a) <=> self::center($b)));

        return $results;
    }

    /** How the scenario is shown; of one that the report says nothing of, by its bare name. */
    public function presentation(string $scenario): Presentation
    {
        foreach ($this->report->scenarios as $presentation) {
            if ($presentation->name === $scenario) {
                return $presentation;
            }
        }

        return new Presentation($scenario, '', $scenario);
    }

    /**
     * "Engines: read a 50x50 array, one process"
     *
     * @param list<Result> $group
     */
    public function title(array $group): string
    {
        return isset($group[0]) ? $this->work($group[0]->cell) : '';
    }

    private function work(Cell $cell): string
    {
        $presentation = $this->presentation($cell->scenario);

        return Plain::line(\sprintf('%s: %s, %s', $presentation->title, $presentation->work($cell), Names::crowd($cell->concurrency)));
    }

    /**
     * What a ratio is of, with the server's place: "SQLite through Larder, igbinary", "Redis by phpredis, socket, other
     * core" and "Engines: read a short string, one process, 175 keys a request".
     *
     * @return array{string, string, string} the first, the second, and what they did; of ids that are no cells' the ids and the title
     */
    public function parts(Ratio $ratio): array
    {
        [$of, $to] = [Names::cell($ratio->of), Names::cell($ratio->to)];
        if ($of === null || $to === null) {
            return [Plain::line($ratio->of), Plain::line($ratio->to), Plain::line($ratio->title)];
        }

        return [Names::subject($of), Names::subject($to), $this->work($of) . \rtrim(', ' . Names::keys($of->request), ', ')];
    }

    /** "Engines: read a short string, one process: APCu, php", or "Engines: APCu, php" of a subject's id; an id that is neither's as it is. */
    public function called(string $id): string
    {
        // Of another unit than microseconds, Comparison's ids name it.
        $cell = Names::cell(\explode(', ', $id)[0]);

        return $cell === null ? Plain::line($id) : Plain::line($cell->operation === '' ? $this->presentation($cell->scenario)->title : $this->work($cell)) . ': ' . Names::of($cell);
    }

    /** The middle of its rounds, with the 95 % interval that covers them. */
    public function spread(Result $result): Interval
    {
        try {
            return $this->bootstrap->interval($result->centers());
        } catch (UnusableSamples) {
            return new Interval(self::center($result), 0.0, \INF, \count($result->rounds));
        }
    }

    /** Whether it is known how noisy the machine was: not quiet is also what nothing is known of, for want of pairs or rounds. */
    public static function knowsNoise(Report $report): bool
    {
        return \array_filter($report->ratios, static fn(Ratio $ratio): bool => $ratio->kind === Ratio::NOISE && \is_finite($ratio->high)) !== [];
    }

    /** @return list<string> all scenarios that have results, in the report's order */
    public function scenarios(): array
    {
        $names = \array_fill_keys(\array_map(static fn(Presentation $one): string => $one->name, $this->report->scenarios), 0);
        foreach ($this->report->results as $result) {
            $names[$result->cell->scenario] = 1 + ($names[$result->cell->scenario] ?? 0);
        }

        return \array_map(\strval(...), \array_keys(\array_filter($names)));
    }

    /** The ratio to its base that the report has. */
    public function toBase(Result $result): ?Ratio
    {
        return $this->toBase[$result->cell->id()] ?? null;
    }

    /** How many times the second's time the first takes: what the report says, and computed from both where it does not. */
    public function between(Result $of, Result $to): Interval
    {
        $ratio = $this->ratios[$of->cell->id() . ' ' . $to->cell->id()] ?? null;
        if ($ratio !== null) {
            return $ratio;
        }
        try {
            // A run that was stopped in a round has measured only some in it.
            $rounds = \min(\count($of->rounds), \count($to->rounds));

            return $this->bootstrap->paired(\array_slice($of->centers(), 0, $rounds), \array_slice($to->centers(), 0, $rounds));
        } catch (UnusableSamples) {
            // A sample of no time at all has no ratio.
            return new Interval(self::center($to) > 0.0 ? self::center($of) / self::center($to) : 1.0, 0.0, \INF, 1);
        }
    }

    /**
     * How many of the first cannot be told from the very first.
     *
     * @param non-empty-list<Result> $sorted
     *
     * @return int<1, max>
     */
    public function tied(array $sorted): int
    {
        $tied = 1;
        while (isset($sorted[$tied])) {
            $interval = $this->between($sorted[$tied], $sorted[0]);
            if (!$interval->bounded() || $interval->excludesOne()) {
                break;
            }
            ++$tied;
        }

        return $tied;
    }
}
