<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Quantile;

/**
 * What changed from one report to another.
 *
 * This folder holds the comparison of two reports and how it is written down; it measures nothing. A cell is lost when
 *
 * - the whole 95 % interval of its ratio, new to old, lies beyond the limit, and
 * - a test of its rounds against the limit still holds when it is taken into account how many cells were looked at
 *   (Evidence): of eight hundred intervals at 95 % forty miss the truth, so the interval alone would cry every time.
 *
 * The interval is for the eye and says how much; the test says whether to believe it. Sizes are exact and need neither.
 */
final class Comparison
{
    /** Of the losses reported, at most this part is by chance; where nothing was lost, this is how often one is reported. */
    public const RATE = 0.05;
    /** As many timed cells as it takes to say that the machine as a whole became slower. */
    public const FEWEST = 10;
    /** With fewer rounds on a side there is no interval. */
    public const ROUNDS = 3;

    /** @var list<Cell> in the old report only */
    public readonly array $missing;
    /** @var list<Cell> in the new report only */
    public readonly array $added;
    /** @var list<Cell> measured in another unit than before: not compared */
    public readonly array $otherUnit;
    /** @var list<array{subject: string, scenario: string, reason: string}> measured before, now wrong or failed */
    public readonly array $disqualified;
    /** @var list<array{what: string, old: string, new: string}> */
    public readonly array $machine;
    /** @var list<array{what: string, old: string, new: string}> */
    public readonly array $versions;
    /** How many times as long everything took: the median of all timed cells; null: too few to say. */
    public readonly ?float $shift;
    /** Cells that were compared. */
    public readonly int $cells;
    /** Timed cells with rounds enough to be judged. */
    public readonly int $judged;

    /** @var array<string, array{old: Result, new: Result, oldCenters: non-empty-list<float>, newCenters: non-empty-list<float>, before: float, after: float}> */
    private array $common = [];
    /** @var array<string, float> */
    private array $chances = [];
    /** @var array<string, float> by id, the losses that may be believed */
    private array $worse;
    /** @var array<string, float> by id, the gains that may be believed */
    private array $better;
    /** @var array<string, Change> */
    private array $changes = [];
    /** What a ratio is divided by before it is judged. */
    private readonly float $divisor;

    /**
     * @param bool $relative judge each cell by what became of all of them, for two machines or a machine that was busy
     *
     * @throws NotComparable where there is nothing that could be lost
     */
    public function __construct(
        public readonly Report $old,
        public readonly Report $new,
        public readonly Limit $limit,
        public readonly bool $relative = false,
        private readonly Bootstrap $bootstrap = new Bootstrap(),
    ) {
        $before = self::byId($old);
        $after = self::byId($new);
        $this->missing = \array_map(static fn(Result $result): Cell => $result->cell, \array_values(\array_diff_key($before, $after)));
        $this->added = \array_map(static fn(Result $result): Cell => $result->cell, \array_values(\array_diff_key($after, $before)));
        $this->otherUnit = $this->pair($before, $after);
        $this->cells = \count($this->common);
        $this->disqualified = $this->nowWrong();
        $this->machine = Differences::machine($old, $new);
        $this->versions = Differences::versions($old, $new);
        if ($this->cells === 0 && $this->disqualified === []) {
            throw NotComparable::nothingInCommon();
        }

        $timed = \array_filter($this->common, static fn(array $pair): bool => !$pair['old']->cell->isExact());
        $this->shift = \count($timed) < self::FEWEST ? null : self::median(\array_map(static fn(array $pair): float => $pair['after'] / $pair['before'], \array_values($timed)));
        if ($relative && $this->shift === null) {
            throw NotComparable::tooFewToBeRelative(\count($timed), self::FEWEST);
        }
        $this->divisor = $relative ? $this->shift ?? 1.0 : 1.0;
        $this->judged = $this->judge($timed);
        if ($this->judged === 0 && \count($timed) === $this->cells && $this->disqualified === []) {
            throw NotComparable::tooFewRounds(self::ROUNDS);
        }
    }

    /** Whether something was lost: what the exit status says. */
    public function fails(): bool
    {
        return $this->disqualified !== [] || $this->lost() !== [];
    }

    /** @return list<Change> worst first */
    public function lost(): array
    {
        // Only what the test believes needs its interval: without changes this is done at once.
        $lost = [];
        foreach ($this->common as $id => $pair) {
            if (isset($this->worse[$id]) || $pair['old']->cell->isExact()) {
                $lost[] = $this->change($id);
            }
        }

        return self::sorted(\array_filter($lost, static fn(Change $change): bool => $change->verdict === Verdict::Lost));
    }

    /** @return list<Change> every cell that both have, what was lost most first */
    public function changes(): array
    {
        return self::sorted(\array_map($this->change(...), \array_keys($this->common)));
    }

    /** How many cells may look slower, and as many faster, at 95 % although nothing changed: at most, for intervals of few rounds are wider. */
    public function byChance(): float
    {
        return 0.025 * $this->judged;
    }

    private function change(string $id): Change
    {
        return $this->changes[$id] ??= $this->compared($id, $this->common[$id]);
    }

    /** @param array{old: Result, new: Result, oldCenters: non-empty-list<float>, newCenters: non-empty-list<float>, before: float, after: float} $pair */
    private function compared(string $id, array $pair): Change
    {
        ['before' => $before, 'after' => $after] = $pair;
        $cell = $pair['new']->cell;
        // As the reports say it; the ratio is of times.
        [$then, $now] = $cell->moreIsBetter() ? [1 / $before, 1 / $after] : [$before, $after];
        if ($cell->isExact()) {
            $ratio = $before > 0.0 ? $after / $before : ($after > 0.0 ? \INF : 1.0);

            return new Change($cell, $before, $after, $ratio, $ratio, $ratio, null, $this->verdict($ratio, $ratio, true, true));
        }
        if (!isset($this->chances[$id])) {
            return new Change($cell, $then, $now, $after / $before / $this->divisor, 0.0, \INF, null, Verdict::Unknown);
        }
        $interval = $this->bootstrap->unpaired($pair['newCenters'], $pair['oldCenters']);
        $low = $interval->low / $this->divisor;
        $high = $interval->high / $this->divisor;

        return new Change($cell, $then, $now, $interval->median / $this->divisor, $low, $high, $this->chances[$id], $this->verdict($low, $high, isset($this->worse[$id]), isset($this->better[$id])));
    }

    private function verdict(float $low, float $high, bool $worse, bool $better): Verdict
    {
        // 110 bytes of 100 are not beyond 10 %, whatever 1.1 is in binary.
        $factor = $this->limit->factor() * (1 + 1e-9);

        return match (true) {
            $low > $factor => $worse ? Verdict::Lost : Verdict::Perhaps,
            $low > 1.0 => Verdict::Worse,
            $high < 1 / $factor && $better => Verdict::Gained,
            $high < 1.0 => Verdict::Better,
            default => Verdict::Same,
        };
    }

    /**
     * @param array<string, array{old: Result, new: Result, oldCenters: non-empty-list<float>, newCenters: non-empty-list<float>, before: float, after: float}> $timed
     *
     * @return int how many there were rounds enough of
     */
    private function judge(array $timed): int
    {
        $old = $new = $better = [];
        foreach ($timed as $id => $pair) {
            if (\min(\count($pair['oldCenters']), \count($pair['newCenters'])) >= self::ROUNDS) {
                $old[$id] = Trimmed::of($pair['oldCenters']);
                $new[$id] = Trimmed::of($pair['newCenters']);
            }
        }
        $evidence = new Evidence(Spread::of($new), Spread::of($old));
        $factor = $this->limit->factor();
        foreach ($new as $id => $rounds) {
            $this->chances[$id] = $evidence->above($rounds, $old[$id], $this->divisor * $factor);
            $better[$id] = $evidence->below($rounds, $old[$id], $this->divisor / $factor);
        }
        $this->worse = Evidence::believed($this->chances, self::RATE);
        $this->better = Evidence::believed($better, self::RATE);

        return \count($this->chances);
    }

    /**
     * @param array<string, Result> $before
     * @param array<string, Result> $after
     *
     * @return list<Cell> those of another unit
     */
    private function pair(array $before, array $after): array
    {
        $otherUnit = [];
        foreach (\array_intersect_key($before, $after) as $id => $old) {
            $new = $after[$id];
            if ($old->cell->unit !== $new->cell->unit) {
                $otherUnit[] = $new->cell;
                continue;
            }
            $oldCenters = self::asTimes($old);
            $newCenters = self::asTimes($new);
            $this->common[$id] = [
                'old' => $old, 'new' => $new, 'oldCenters' => $oldCenters, 'newCenters' => $newCenters,
                'before' => self::median($oldCenters), 'after' => self::median($newCenters),
            ];
        }

        return $otherUnit;
    }

    /**
     * What is the better the more there is a second is judged as the time of one, so that longer is worse everywhere.
     *
     * @return non-empty-list<float>
     */
    private static function asTimes(Result $result): array
    {
        return $result->cell->moreIsBetter() ? \array_map(static fn(float $rate): float => 1 / \max($rate, 1e-9), $result->centers()) : $result->centers();
    }

    /** @return list<array{subject: string, scenario: string, reason: string}> */
    private function nowWrong(): array
    {
        $wrong = [];
        foreach ($this->new->disqualified as $entry) {
            $same = static fn(string $subject, string $scenario): bool => $subject === $entry['subject'] && $scenario === $entry['scenario'];
            $measured = \array_filter($this->old->results, static fn(Result $result): bool => $same($result->cell->subject, $result->cell->scenario));
            $gone = \array_filter($this->missing, static fn(Cell $cell): bool => $same($cell->subject, $cell->scenario));
            $before = \array_filter($this->old->disqualified, static fn(array $was): bool => $same($was['subject'], $was['scenario']));
            // What was as wrong before, and gave the same cells, has not become worse.
            if ($measured !== [] && ($before === [] || $gone !== [])) {
                $wrong[] = $entry;
            }
        }

        return $wrong;
    }

    /** @return array<string, Result> */
    private static function byId(Report $report): array
    {
        $results = [];
        foreach ($report->results as $result) {
            $results[$result->cell->id()] = $result;
        }

        return $results;
    }

    /**
     * @param array<Change> $changes
     *
     * @return list<Change>
     */
    private static function sorted(array $changes): array
    {
        \usort($changes, static fn(Change $a, Change $b): int => [$b->ratio, $a->cell->id()] <=> [$a->ratio, $b->cell->id()]);

        return $changes;
    }

    /** @param non-empty-list<float> $values */
    private static function median(array $values): float
    {
        \sort($values);

        return Quantile::median($values);
    }
}
