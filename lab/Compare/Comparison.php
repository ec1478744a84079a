<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Probability;

/**
 * What changed from one report to another: of each cell, of each subject, and of everything.
 *
 * Welch's t test of the rounds' logarithms gives each ratio its 95 % interval and p value. Of a subject a round is the
 * mean of its cells, so that what shifts them all shows, though no cell alone shows it. Of many p values some are small
 * by chance: of the cells, and of the subjects, called slower or faster at most 5 % are (Y. Benjamini and Y. Hochberg, Journal of the Royal
 * Statistical Society B 57, 1995, pages 289 to 300). Sizes are exact and need no test.
 */
final class Comparison
{
    private const RATE = 0.05;
    private const LEVEL = 0.95;
    /** Fewer rounds have no spread worth the name. */
    public const ROUNDS = 3;
    /** What changes from one minute to the next on any machine. */
    private const PASSING = ['load', 'uptime', 'free', 'time', 'date', 'temperature', 'frequency'];

    /** @var list<Change> first what is furthest from 1 */
    public readonly array $cells;
    /** @var list<Change> likewise; only subjects of more than one cell */
    public readonly array $subjects;
    public readonly ?Change $whole;
    /** @var list<string> cells of the old report alone */
    public readonly array $missing;
    /** @var list<string> cells of the new report alone */
    public readonly array $added;
    /** @var list<array{subject: string, scenario: string, reason: string}> measured before, wrong or failed now */
    public readonly array $disqualified;

    /**
     * @param float $limit a part: 0.1 for 10 %
     *
     * @throws NotComparable where there is nothing to compare
     */
    public function __construct(public readonly Report $old, public readonly Report $new, public readonly float $limit)
    {
        [$before, $after] = [self::byId($old), self::byId($new)];
        $this->missing = \array_keys(\array_diff_key($before, $after));
        $this->added = \array_keys(\array_diff_key($after, $before));
        $this->disqualified = $this->lost(\array_diff_key($before, $after));
        $changes = $bySubject = [];
        foreach (\array_intersect_key($before, $after) as $id => $result) {
            if ($result->cell->isExact()) {
                $changes[] = $this->exact($id, $result->summary->median, $after[$id]->summary->median);
            } else {
                $cell = [self::logs($result), self::logs($after[$id])];
                $changes[] = $this->tested($id, [$cell]);
                $bySubject[self::subject($result)][] = $cell;
            }
        }
        if ($changes === [] && $this->disqualified === []) {
            throw new NotComparable('No cell is in both reports. Measure the same scenarios and subjects twice, as in: bin/larder bench engines --json=FILE');
        }
        $groups = [];
        foreach ($bySubject as $subject => $cells) {
            $groups[] = \count($cells) > 1 ? $this->tested($subject, $cells) : null;
        }
        $groups[] = \count($bySubject) > 1 ? $this->tested('', \array_merge(...\array_values($bySubject))) : null;
        $this->cells = $this->judged($changes);
        // Few beside the cells: among those a subject that needs all its cells to show would be lost.
        $groups = $this->judged(\array_values(\array_filter($groups)));
        $this->whole = \array_column($groups, null, 'id')[''] ?? null;
        $this->subjects = \array_values(\array_filter($groups, static fn(Change $change): bool => $change->id !== ''));
    }

    /**
     * @param array<string, Result> $missing cells of the old report alone
     *
     * @return list<array{subject: string, scenario: string, reason: string}>
     */
    private function lost(array $missing): array
    {
        $gone = \array_map(self::subject(...), $missing);
        $measured = \array_map(self::subject(...), $this->old->results);
        $wrong = \array_map(static fn(array $one): string => "$one[scenario]/$one[subject]", $this->old->disqualified);

        return \array_values(\array_filter($this->new->disqualified, static function (array $one) use ($measured, $wrong, $gone): bool {
            $subject = "$one[scenario]/$one[subject]";

            return \in_array($subject, $measured, true) && (!\in_array($subject, $wrong, true) || \in_array($subject, $gone, true));
        }));
    }

    /** Whether anything can be told of a single time. All of them together may be told where none of them can; sizes always can. */
    public function tells(): bool
    {
        $times = \array_filter($this->cells, static fn(Change $change): bool => $change->low !== $change->high);

        return $times === [] || \array_filter($times, static fn(Change $change): bool => $change->verdict !== Verdict::Unknown) !== [];
    }

    public function fails(): bool
    {
        return $this->disqualified !== [] || $this->those(Verdict::Slower) !== [];
    }

    /** @return list<Change> everything, subjects and cells */
    public function those(Verdict $verdict): array
    {
        return \array_values(\array_filter([...$this->whole === null ? [] : [$this->whole], ...$this->subjects, ...$this->cells], static fn(Change $change): bool => $change->verdict === $verdict));
    }

    /** @return list<string> what else was not the same */
    public function differences(): array
    {
        $differences = [];
        $passing = \array_flip(self::PASSING);
        $before = \array_diff_key($this->old->machine, $passing) + $this->old->versions;
        $after = \array_diff_key($this->new->machine, $passing) + $this->new->versions;
        foreach ($before + $after as $what => $_) {
            [$was, $is] = [$before[$what] ?? 'none', $after[$what] ?? 'none'];
            // The same machine may report a little less memory after an update of its kernel.
            if ((string) $was !== (string) $is && !($what === 'memory' && \is_numeric($was) && \is_numeric($is) && \abs($is / $was - 1) < 0.02)) {
                $differences[] = "$what is $is, was $was.";
            }
        }

        return $differences;
    }

    private function exact(string $id, float $old, float $new): Change
    {
        $ratio = $old > 0.0 ? $new / $old : ($new > 0.0 ? \INF : 1.0);
        // 110 bytes of 100 are not beyond 10 %, whatever 1.1 is in binary.
        $factor = (1 + $this->limit) * (1 + 1e-9);

        return new Change($id, $ratio, $ratio, $ratio, null, $ratio > $factor ? Verdict::Slower : ($ratio < 1 / $factor ? Verdict::Faster : Verdict::Same));
    }

    /** @param non-empty-list<array{non-empty-list<float>, non-empty-list<float>}> $cells logarithms of each round, old and new */
    private function tested(string $id, array $cells): Change
    {
        [$oldMean, $oldError, $oldFreedom] = self::moments(\array_column($cells, 0));
        [$newMean, $newError, $newFreedom] = self::moments(\array_column($cells, 1));
        $distance = $newMean - $oldMean;
        if (\min($oldFreedom, $newFreedom) < self::ROUNDS - 1) {
            return new Change($id, \exp($distance), 0.0, \INF, null, Verdict::Unknown, null, \count($cells));
        }
        $error = \max($oldError + $newError, 1e-24);
        $freedom = \max(1, \min($oldFreedom + $newFreedom, (int) ($error ** 2 / \max($oldError ** 2 / $oldFreedom + $newError ** 2 / $newFreedom, 1e-60))));
        $reach = Probability::studentCritical($freedom, self::LEVEL) * \sqrt($error);
        // An interval half as wide as the limit holds either 1 or the limit, not both.
        $variances = $oldError * ($oldFreedom + 1) + $newError * ($newFreedom + 1);
        $half = \log1p($this->limit) / 2;
        $needed = $half > 0.0 ? \max(\min($oldFreedom, $newFreedom) + 2, (int) \ceil(1.96 ** 2 * $variances / $half ** 2) + 2) : null;

        return new Change($id, \exp($distance), \exp($distance - $reach), \exp($distance + $reach), Probability::studentBeyond($freedom, \abs($distance) / \sqrt($error)), Verdict::Unknown, $needed, \count($cells));
    }

    /**
     * Of rounds, each the mean of its cells' distances from their own means: a round that a cell lacks does not count for it.
     *
     * @param non-empty-list<non-empty-list<float>> $cells
     *
     * @return array{float, float, int} mean, its squared error, degrees of freedom
     */
    private static function moments(array $cells): array
    {
        $means = \array_map(static fn(array $rounds): float => \array_sum($rounds) / \count($rounds), $cells);
        $distances = [];
        foreach ($cells as $cell => $rounds) {
            foreach ($rounds as $round => $log) {
                $distances[$round][] = $log - $means[$cell];
            }
        }
        $rounds = \array_map(static fn(array $of): float => \array_sum($of) / \count($of), $distances);
        $n = \count($rounds);
        $squares = \array_sum(\array_map(static fn(float $distance): float => $distance ** 2, $rounds));

        return [\array_sum($means) / \count($means), $squares / \max(1, $n - 1) / $n, $n - 1];
    }

    /**
     * @param list<Change> $changes looked at together
     *
     * @return list<Change> first what is furthest from 1
     */
    private function judged(array $changes): array
    {
        $chances = \array_filter(\array_column($changes, 'p'), static fn(?float $p): bool => $p !== null);
        \sort($chances);
        // The greatest p value that may be believed when all are looked at.
        $believed = -1.0;
        foreach ($chances as $i => $p) {
            $believed = $p <= self::RATE * ($i + 1) / \count($chances) ? $p : $believed;
        }
        $factor = 1 + $this->limit;
        $judged = [];
        foreach ($changes as $change) {
            $verdict = match (true) {
                $change->p === null => $change->verdict,
                $change->low >= 1 / $factor && $change->high <= $factor => Verdict::Same,
                $change->p <= $believed => $change->median > 1.0 ? Verdict::Slower : Verdict::Faster,
                default => Verdict::Unknown,
            };
            $judged[] = new Change($change->id, $change->median, $change->low, $change->high, $change->p, $verdict, $verdict === Verdict::Unknown ? $change->needed : null, $change->cells);
        }
        \usort($judged, static fn(Change $a, Change $b): int => [\abs(\log($b->median ?: 1e-9)), $a->id] <=> [\abs(\log($a->median ?: 1e-9)), $b->id]);

        return $judged;
    }

    /** @return non-empty-list<float> of each round's time; of what is counted by the second, the time of one */
    private static function logs(Result $result): array
    {
        $sign = $result->cell->moreIsBetter() ? -1 : 1;

        return \array_map(static fn(float $center): float => $center > 0.0 ? $sign * \log($center) : throw new NotComparable("{$result->cell->id()} took no time at all, which cannot be a measurement. Make the report again with: bin/larder bench --json=FILE"), $result->centers());
    }

    /** @return array<string, Result> */
    private static function byId(Report $report): array
    {
        // Of another unit it is another cell.
        return \array_column(\array_map(static fn(Result $result): array => [$result->cell->id() . ($result->cell->unit === 'us' ? '' : ", {$result->cell->unit}"), $result], $report->results), 1, 0);
    }

    private static function subject(Result $result): string
    {
        return "{$result->cell->scenario}/{$result->cell->subject}";
    }
}
