<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Report;

/** A comparison in words and numbers, whatever it is then written as. Every string is one line fit to be shown. */
final readonly class Findings
{
    /** A shift of all cells that is worth a sentence. */
    private const SHIFT = 0.05;

    /** @var list<Change> */
    public array $changes;

    public function __construct(public Comparison $comparison)
    {
        $this->changes = $comparison->changes();
    }

    /** @return list<string> subjects that were measured before and are wrong now */
    public function disqualified(): array
    {
        return \array_map(
            static fn(array $entry): string => \sprintf('Disqualified: %s in %s, which the old report measured: %s', Name::shown($entry['subject']), Name::shown($entry['scenario']), Name::shown($entry['reason'], 300)),
            $this->comparison->disqualified,
        );
    }

    /** @return list<string> what a reader must know before the figures */
    public function warnings(): array
    {
        $comparison = $this->comparison;
        $warnings = [];
        if ($comparison->machine !== []) {
            $warnings[] = 'The machine is not the same: ' . self::differences($comparison->machine) . '. A comparison between machines says little.';
        }
        if ($comparison->versions !== []) {
            $warnings[] = 'Different versions: ' . self::differences($comparison->versions) . '.';
        }
        $warnings = [...$warnings, ...$this->order(), ...self::doubts($comparison->old, 'old'), ...self::doubts($comparison->new, 'new')];
        if ($comparison->shift !== null && ($comparison->relative || \abs($comparison->shift - 1) > self::SHIFT)) {
            $warnings[] = \sprintf(
                'Everything together took %s times as long as before (the median of all timed cells). %s',
                self::number($comparison->shift),
                $comparison->relative ? 'Each ratio here is divided by that.' : 'Use --relative to judge each cell against that.',
            );
        }

        return $warnings;
    }

    /** @return list<array{title: string, verdict: Verdict, changes: list<Change>}> what lies beyond the limit; with $all also the rest that changed */
    public function groups(bool $all = false): array
    {
        $limit = $this->comparison->limit->text();
        $titles = [
            [Verdict::Lost, "Lost, beyond $limit and beyond chance"],
            [Verdict::Perhaps, "Perhaps lost: the interval lies beyond $limit, but among so many cells that may be chance"],
            [Verdict::Gained, "Gained, beyond $limit and beyond chance"],
        ];
        if ($all) {
            $titles[] = [Verdict::Worse, "Slower or larger at 95 %, within $limit"];
            $titles[] = [Verdict::Better, 'Faster or smaller at 95 %'];
        }
        $groups = [];
        foreach ($titles as [$verdict, $title]) {
            $changes = $this->those($verdict);
            if ($changes !== []) {
                // What gained most first as well.
                $changes = \in_array($verdict, [Verdict::Gained, Verdict::Better], true) ? \array_reverse($changes) : $changes;
                $groups[] = ['title' => $title, 'verdict' => $verdict, 'changes' => $changes];
            }
        }

        return $groups;
    }

    /** @return list<array{title: string, cells: list<string>}> cells that could not be compared, with why */
    public function apart(): array
    {
        $comparison = $this->comparison;
        $reasons = [];
        foreach ($comparison->new->missing as $entry) {
            $reasons[$entry['scenario'] . "\0" . $entry['subject']] = ' (' . $entry['what'] . ' is missing: ' . $entry['advice'] . ')';
        }
        $name = static fn(Cell $cell): string => Name::shown($cell->id(), 200);
        $lists = [
            ['Only in the old report', \array_map(static fn(Cell $cell): string => Name::shown($cell->id() . ($reasons[$cell->scenario . "\0" . $cell->subject] ?? ''), 300), $comparison->missing)],
            ['Only in the new report', \array_map($name, $comparison->added)],
            ['Measured in a different unit', \array_map($name, $comparison->otherUnit)],
            ['With too few rounds to tell (' . Comparison::ROUNDS . ' are needed)', \array_map(static fn(Change $change): string => $name($change->cell), $this->those(Verdict::Unknown))],
        ];
        $apart = [];
        foreach ($lists as [$title, $cells]) {
            if ($cells !== []) {
                $apart[] = ['title' => $title, 'cells' => $cells];
            }
        }

        return $apart;
    }

    /** One line. */
    public function verdict(): string
    {
        $comparison = $this->comparison;
        $limit = $comparison->limit->text();
        $lost = \count($this->those(Verdict::Lost));
        $gained = \count($this->those(Verdict::Gained));
        $wrong = \count($comparison->disqualified);
        $parts = [];
        if ($wrong > 0) {
            $parts[] = \sprintf('%d %s gave wrong values or failed', $wrong, $wrong === 1 ? 'subject' : 'subjects');
        }
        if ($lost > 0) {
            $parts[] = \sprintf('%d of %d %s lost more than %s', $lost, $comparison->cells, $comparison->cells === 1 ? 'cell' : 'cells', $limit);
        }
        if ($parts === [] && $gained === 0) {
            return \sprintf('Nothing changed beyond %s in %s; %s.', $limit, self::cells($comparison->cells), $this->within());
        }

        return \sprintf(
            '%s; %s%s.',
            $parts === [] ? \sprintf('Nothing was lost beyond %s in %s', $limit, self::cells($comparison->cells)) : \ucfirst(\implode(', and ', $parts)),
            $gained > 0 ? self::cells($gained) . ' gained more; ' : '',
            $this->within(),
        );
    }

    /** What to do next, where that is worth a line. */
    public function advice(): ?string
    {
        return $this->those(Verdict::Perhaps) === [] ? null : 'To tell the losses from chance, measure both again with more rounds: bin/larder bench --rounds=20';
    }

    /** @return list<Change> */
    public function those(Verdict $verdict): array
    {
        return \array_values(\array_filter($this->changes, static fn(Change $change): bool => $change->verdict === $verdict));
    }

    public static function amount(float $value, string $unit): string
    {
        if ($unit === Cell::BYTES) {
            return $value < 1e7 ? \number_format($value) . ' B' : self::number($value / 1_048_576) . ' MiB';
        }

        if ($unit === Cell::COUNT) {
            return self::number($value);
        }

        if ($unit === Cell::PER_SECOND) {
            return self::number($value) . ' /s';
        }

        return match (true) {
            $value < 1e4 => self::number($value) . ' us',
            $value < 1e7 => self::number($value / 1e3) . ' ms',
            default => self::number($value / 1e6) . ' s',
        };
    }

    /** Three digits that count, at least. */
    public static function number(float $value): string
    {
        return match (true) {
            \is_infinite($value) => 'inf',
            $value >= 1e9 => \sprintf('%.2e', $value),
            $value >= 100 => \number_format($value),
            $value >= 10 => \number_format($value, 1),
            $value >= 0.1 => \number_format($value, 2),
            $value >= 0.01 => \number_format($value, 3),
            default => $value === 0.0 ? '0' : \sprintf('%.2g', $value),
        };
    }

    public static function interval(Change $change): string
    {
        return match (true) {
            $change->cell->isExact() => 'exact',
            $change->verdict === Verdict::Unknown => 'too few',
            default => self::end($change->low) . '-' . self::end($change->high),
        };
    }

    /** A digit more than the ratio itself: an end beside 1 must not look as if it were on it. */
    private static function end(float $value): string
    {
        return $value < 10 ? \number_format($value, 3) : self::number($value);
    }

    private function within(): string
    {
        $slower = $faster = 0;
        foreach ($this->changes as $change) {
            if (!$change->cell->isExact() && $change->verdict !== Verdict::Unknown) {
                $slower += (int) ($change->low > 1.0);
                $faster += (int) ($change->high < 1.0);
            }
        }

        return \sprintf('at 95 %%: %d slower, %d faster (by chance up to %d each)', $slower, $faster, (int) \ceil($this->comparison->byChance()));
    }

    /** @return list<string> */
    private function order(): array
    {
        $before = \strtotime($this->comparison->old->started);
        $after = \strtotime($this->comparison->new->started);
        if ($before === false || $after === false || $before < $after) {
            return [];
        }
        if ($before === $after) {
            return ['Both reports say that they were started at ' . Name::shown($this->comparison->new->started) . ': is it the same run twice?'];
        }

        return [\sprintf('The new report (%s) is older than the old one (%s): are the two files swapped?', Name::shown($this->comparison->new->started), Name::shown($this->comparison->old->started))];
    }

    /** @return list<string> */
    private static function doubts(Report $report, string $name): array
    {
        $doubts = [];
        if ($report->partial) {
            $doubts[] = "The $name report is partial: its run was stopped before its end.";
        }
        if (!$report->quiet) {
            $doubts[] = "By its own noise the machine of the $name report could not tell 10 %.";
        }

        return $doubts;
    }

    /** @param list<array{what: string, old: string, new: string}> $differences */
    private static function differences(array $differences): string
    {
        return \implode('; ', \array_map(
            static fn(array $difference): string => \sprintf('%s %s, was %s', Name::shown($difference['what'], 40), Name::shown($difference['new'], 80), Name::shown($difference['old'], 80)),
            $differences,
        ));
    }

    private static function cells(int $count): string
    {
        return \number_format($count) . ($count === 1 ? ' cell' : ' cells');
    }
}
