<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Report\Column;
use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Rank;
use Larder\Lab\Report\Row;
use Larder\Lab\Report\Table;
use Larder\Lab\Report\Units;
use Larder\Lab\Run\Report;

/** What a comparison says, as lines and tables. This folder compares two reports; it measures nothing. */
final readonly class Account
{
    private Rank $rank;

    public function __construct(private Comparison $comparison)
    {
        $this->rank = new Rank($comparison->new);
    }

    /** @return list<string> what a reader must know before the figures */
    public function warnings(): array
    {
        $warnings = [];
        foreach ($this->comparison->disqualified as $one) {
            $warnings[] = Plain::line('Disqualified: ' . $this->rank->called("$one[scenario]/$one[subject]") . ", which the old report measured: $one[reason]");
        }
        foreach ($this->comparison->differences() as $difference) {
            $warnings[] = Plain::line("Not the same: $difference");
        }
        [$old, $new] = [$this->comparison->old, $this->comparison->new];
        if ($old->started === $new->started) {
            $warnings[] = 'Both reports say the same start: is it the same run twice?';
        } elseif (\strtotime($old->started) > \strtotime($new->started)) {
            $warnings[] = 'The new report is older than the old one: are the two files swapped?';
        }

        return [...$warnings, ...self::doubts($old, 'old'), ...self::doubts($new, 'new')];
    }

    /** @return list<string> the last of them sums it up */
    public function verdict(): array
    {
        $whole = $this->comparison->whole;
        $lines = $whole === null ? [] : [\sprintf('All %s timed cells together took %s times as long: %s.', Units::whole($whole->cells), Units::ratio($whole), $this->said($whole))];
        $parts = [];
        foreach (Verdict::cases() as $verdict) {
            $cells = self::with($this->comparison->cells, $verdict);
            $subjects = self::with($this->comparison->subjects, $verdict);
            if ($cells !== [] || $subjects !== []) {
                $parts[] = \sprintf('%s: %d of %d cells', \ucfirst($this->word($verdict)), \count($cells), \count($this->comparison->cells)) . ($this->comparison->subjects === [] ? '.' : \sprintf(', %d of %d subjects.', \count($subjects), \count($this->comparison->subjects)));
            }
        }
        if ($this->comparison->disqualified !== []) {
            $parts[] = \sprintf('Wrong or failed: %d of the subjects.', \count($this->comparison->disqualified));
        }

        $lines = [...$lines, 'The intervals cover the rounds of the two runs, not what else changes between two runs.', \implode(' ', $parts)];

        return $this->comparison->tells() ? $lines : [...$lines, 'No single time can be told, so the loss of one would not show: measure more rounds (--rounds).'];
    }

    /**
     * @param bool $all also what did not change, and every name
     *
     * @return list<Table>
     */
    public function tables(bool $all): array
    {
        $tables = [];
        foreach (['subjects' => $this->comparison->subjects, 'cells' => $this->comparison->cells] as $what => $changes) {
            foreach ([Verdict::Slower, Verdict::Faster, Verdict::Unknown, Verdict::Same] as $verdict) {
                $those = self::with($changes, $verdict);
                if ($those !== [] && ($all || $verdict !== Verdict::Same)) {
                    // Of what nothing is known a few names are enough.
                    $shown = $all || $verdict !== Verdict::Unknown ? $those : \array_slice($those, 0, 10);
                    $tables[] = $this->table(\sprintf('%s, %s: %d', \ucfirst($this->word($verdict)), $what, \count($those)), $shown, \count($those) - \count($shown));
                }
            }
        }
        foreach (['Only in the old report' => $this->comparison->missing, 'Only in the new report' => $this->comparison->added] as $title => $ids) {
            $rows = \array_map(fn(string $id): Row => new Row([$this->rank->called($id), Plain::line($id)]), $all ? $ids : \array_slice($ids, 0, 10));
            if ($rows !== []) {
                $tables[] = new Table('', "$title: " . \count($ids), self::more(\count($ids) - \count($rows)), [new Column('what'), new Column('id', 10)], $rows);
            }
        }

        return $tables;
    }

    /** @param list<Change> $changes */
    private function table(string $title, array $changes, int $more): Table
    {
        return (new Table('', $title, self::more($more), [
            new Column('what'), new Column('new/old', 0, true), new Column('95 %', 0, true), new Column('p', 2, true), new Column('rounds it takes', 0, true), new Column('id', 10),
        ], \array_map(fn(Change $change): Row => new Row([
            $this->rank->called($change->id),
            \is_finite($change->median) ? Units::digits($change->median) : 'from none',
            $change->low === $change->high ? 'exact' : Units::interval($change),
            $change->p === null ? Units::NOTHING : ($change->p < 0.0001 ? '< 0.0001' : Units::digits($change->p)),
            self::rounds($change),
            Plain::line($change->id),
        ], [], $change->verdict === Verdict::Slower), $changes)))->withoutEmptyColumns();
    }

    private function said(Change $change): string
    {
        return $this->word($change->verdict) . ($change->verdict === Verdict::Unknown ? ', which takes ' . self::rounds($change) . ' rounds' : '');
    }

    private static function rounds(Change $change): string
    {
        return match (true) {
            $change->needed !== null => 'about ' . Units::whole($change->needed),
            $change->verdict === Verdict::Unknown && !\is_finite($change->high) => Comparison::ROUNDS . ' or more',
            default => Units::NOTHING,
        };
    }

    private function word(Verdict $verdict): string
    {
        return $verdict === Verdict::Same ? 'no change larger than ' . Units::digits(100 * $this->comparison->limit) . ' %' : $verdict->value;
    }

    private static function more(int $count): string
    {
        return $count > 0 ? \sprintf('And %d more: -v names them all.', $count) : '';
    }

    /**
     * @param list<Change> $changes
     *
     * @return list<Change>
     */
    private static function with(array $changes, Verdict $verdict): array
    {
        return \array_values(\array_filter($changes, static fn(Change $change): bool => $change->verdict === $verdict));
    }

    /** @return list<string> */
    private static function doubts(Report $report, string $name): array
    {
        return [
            ...$report->partial ? ["The $name report is partial: its run was stopped before its end."] : [],
            ...$report->rounds >= Comparison::ROUNDS ? [] : [\sprintf('The %s report has %s: with fewer than %d nothing can be told of a time.', $name, $report->rounds === 1 ? 'one round' : "$report->rounds rounds", Comparison::ROUNDS)],
            ...$report->quiet ? [] : [Rank::knowsNoise($report) ? "By its own noise the machine of the $name report could not tell 10 %." : "How noisy the machine of the $name report was is not known."],
        ];
    }
}
