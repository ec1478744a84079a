<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * The tables of a report as plain rows: made once, printed by the terminal, as Markdown and on the page.
 *
 * Text in them is on one line and has no control characters; the code that prints it escapes what its form has a use for.
 */
final class Tables
{
    public readonly Standings $standings;

    private readonly Rank $rank;
    /** @var array<string, int> how often each id was given */
    private array $given = [];

    public function __construct(private readonly Report $report)
    {
        $this->rank = new Rank($report);
        $this->standings = new Standings($this->rank);
    }

    /** @return array<string, list<Table>> by scenario, in the report's order; only those with results */
    public function all(): array
    {
        $this->given = [];
        $tables = [];
        foreach ($this->rank->scenarios() as $scenario) {
            $tables[$scenario] = $this->of($scenario);
        }

        return $tables;
    }

    /**
     * A scenario that reads and writes by several gets a table for each of what it does; one whose subjects have a
     * few figures each gets a line a subject.
     *
     * @return list<Table>
     */
    private function of(string $scenario): array
    {
        $presentation = $this->rank->presentation($scenario);
        $tables = $payloads = [];
        foreach ($this->rank->groups($scenario) as $group) {
            $cell = $group[0]->cell;
            if (\in_array($cell->payload, $presentation->populations, true)) {
                $tables[] = $this->population($presentation, $group);
            } elseif ($presentation->sideBySide) {
                $payloads["$cell->payload $cell->concurrency"][] = $group;
            } else {
                $tables[] = $this->ranking($presentation, $group);
            }
        }

        return [...\array_map(fn(array $groups): Table => $this->sideBySide($presentation, $groups), \array_values($payloads)), ...$tables];
    }

    /** @param non-empty-list<Result> $group sorted */
    private function ranking(Presentation $presentation, array $group): Table
    {
        $cell = $group[0]->cell;
        $units = Units::of($cell->unit, \array_map(Rank::center(...), $group));
        $many = $cell->concurrency > 1;
        $rate = $cell->moreIsBetter();
        $tied = $this->rank->tied($group);
        $shown = static fn(?float $value): string => $value === null ? Units::NOTHING : $units->show($value);
        $rows = [];
        foreach ($group as $i => $result) {
            $summary = $result->summary;
            $spread = $this->rank->spread($result);
            $rows[] = new Row([
                ...self::names($result->cell),
                $units->show(Rank::center($result)),
                $spread->bounded() && !$result->cell->isExact() ? $units->show($spread->low) . '–' . $units->show($spread->high) : Units::NOTHING,
                $many && !$rate ? $units->show($summary->median) : Units::NOTHING,
                $summary->p5 === null || $summary->p95 === null ? Units::NOTHING : $shown($summary->p5) . '–' . $shown($summary->p95),
                $shown($summary->p99),
                $result->perSecond === null || $rate ? Units::NOTHING : ($result->perSecond < 100 ? Units::digits($result->perSecond) : \number_format($result->perSecond)),
                ...$this->toBase($result, $group),
                Units::whole($summary->n),
                Plain::line($result->cell->subject),
            ], $i < $tied ? [4] : [], false, $result->cell->id());
        }

        return (new Table(
            $this->name($cell->scenario, $cell->operation, $cell->payload, (string) $cell->concurrency),
            $this->rank->title($group),
            $this->about($group, $tied),
            [
                ...self::nameColumns(),
                new Column(($many ? 'mean' : 'median') . ' ' . $units->unit, 0, true),
                new Column('95 %', 4, true),
                new Column("median $units->unit", 9, true),
                new Column("p5–p95 $units->unit", 5, true),
                new Column("p99 $units->unit", 7, true),
                new Column('a second', 6, true),
                new Column($rate ? '× one process' : '× base', 1, true),
                new Column('95 % of ×', 3, true),
                new Column('n', 8, true),
                new Column('subject', 10),
            ],
            $rows,
        ))->withoutEmptyColumns();
    }

    /** @param non-empty-list<non-empty-list<Result>> $groups of one payload, each sorted */
    private function sideBySide(Presentation $presentation, array $groups): Table
    {
        $cell = $groups[0][0]->cell;
        $columns = self::nameColumns();
        $first = \count($columns);
        $rows = $best = [];
        // The order is that of the first: of what is written once and read often reading matters.
        $order = [];
        foreach ($groups as $group) {
            foreach ($group as $result) {
                $order[self::key($result->cell)] ??= $result->cell;
            }
        }
        foreach ($groups as $group) {
            $operation = $group[0]->cell->operation;
            $units = Units::of($group[0]->cell->unit, \array_map(Rank::center(...), $group));
            $tied = $this->rank->tied($group);
            $place = \count($columns);
            $columns[] = new Column(\rtrim(Plain::line($presentation->columns[$operation] ?? $operation) . ' ' . $units->unit), 0, true);
            $columns[] = new Column('× base', 3 + \count($columns), true);
            $columns[] = new Column('95 %', 100 + \count($columns), true);
            foreach ($group as $i => $result) {
                $key = self::key($result->cell);
                $rows[$key][$place] = $units->show(Rank::center($result));
                [$rows[$key][$place + 1], $rows[$key][$place + 2]] = $this->toBase($result, $group);
                if ($i < $tied) {
                    $best[$key][] = $place;
                }
            }
        }
        $lines = [];
        foreach ($order as $key => $of) {
            $cells = self::names($of);
            for ($i = $first; $i < \count($columns); ++$i) {
                $cells[] = $rows[$key][$i] ?? Units::NOTHING;
            }
            $lines[] = new Row($cells, $best[$key] ?? [], false, $of->id());
        }

        return (new Table(
            $this->name($cell->scenario, $cell->payload),
            Plain::line(\sprintf('%s: %s', $presentation->title, $presentation->payloads[$cell->payload] ?? $cell->payload)) . ($cell->concurrency > 1 ? ', ' . Names::crowd($cell->concurrency) : ''),
            $this->about($groups[0], 1),
            $columns,
            $lines,
        ))->withoutEmptyColumns();
    }

    /** @param non-empty-list<Result> $group sorted; each of its samples is of another object */
    private function population(Presentation $presentation, array $group): Table
    {
        $cell = $group[0]->cell;
        $rows = [];
        foreach ($group as $result) {
            $figures = \array_map(static fn(string $of): string => $result->summary->{$of} === null ? Units::NOTHING : \rtrim(Units::digits($result->summary->{$of})), Json::STATISTICS);
            $rows[] = new Row([...self::names($result->cell), Units::whole($result->summary->n), ...$figures], [], false, $result->cell->id());
        }

        return (new Table(
            $this->name($cell->scenario, $cell->operation, $cell->payload),
            Plain::line($presentation->title . ': ' . $presentation->work($cell)),
            $cell->unit === Cell::BYTES ? 'Bytes of all objects.' : 'Microseconds of all samples.',
            [...self::nameColumns(), new Column('n', 0, true), ...\array_map(static fn(string $of): Column => new Column($of, $of === 'median' ? 0 : 5, true), Json::STATISTICS)],
            $rows,
        ))->withoutEmptyColumns();
    }

    /** @return list<string> of nameColumns() */
    private static function names(Cell $cell): array
    {
        return \array_map(static fn(string $name): string => $name === '' ? Units::NOTHING : $name, [Names::way($cell), Names::form($cell), Names::placement($cell), Names::request($cell)]);
    }

    /** @return list<Column> */
    private static function nameColumns(): array
    {
        return [new Column('what'), new Column('values'), new Column('server on'), new Column('request')];
    }

    private static function key(Cell $cell): string
    {
        return "$cell->subject $cell->placement $cell->request";
    }

    /** What was promised, and whether it holds; and what else was compared in turn. */
    public function ratios(): ?Table
    {
        $rows = [];
        foreach ($this->report->ratios as $ratio) {
            if ($ratio->kind === Ratio::NOISE || ($ratio->kind === Ratio::TABLE && $ratio->limit === null)) {
                continue;
            }
            $bad = $ratio->limit !== null && $ratio->median > $ratio->limit;
            $unsure = $ratio->limit !== null && $ratio->low <= $ratio->limit && $ratio->high >= $ratio->limit;
            [$of, $to, $work] = $this->rank->parts($ratio);
            $rows[] = new Row([
                "$of against $to",
                $work,
                Units::digits($ratio->median),
                Units::interval($ratio),
                $ratio->limit === null ? Units::NOTHING : Units::digits($ratio->limit),
                $ratio->limit === null ? Units::NOTHING : ($bad ? 'does not hold' : 'holds') . ($unsure ? ', not sure' : ''),
                Units::whole($ratio->rounds),
            ], [], $bad);
        }

        return $rows === [] ? null : (new Table(
            'ratios',
            'Measured in turn, and the promised limits',
            'The time of the first divided by the time of the second. Not sure: the interval contains the limit, so another run may decide differently.',
            [new Column('what'), new Column('work'), new Column('ratio', 0, true), new Column('95 %', 0, true), new Column('limit', 0, true), new Column('promise'), new Column('rounds', 2, true)],
            $rows,
        ))->withoutEmptyColumns();
    }

    /** Subjects compared with themselves. */
    public function noise(): ?Table
    {
        $rows = [];
        foreach ($this->report->ratios as $ratio) {
            if ($ratio->kind === Ratio::NOISE) {
                $differs = $ratio->low > 1.0 || $ratio->high < 1.0;
                [$of, , $work] = $this->rank->parts($ratio);
                $rows[] = new Row([
                    $of,
                    $work,
                    // Only what is measured in turn has its own rounds.
                    $ratio->samples === [] ? 'processes of their own' : 'in turn',
                    Units::digits($ratio->median),
                    Units::interval($ratio),
                    $differs ? 'yes, by chance' : ($ratio->low < 0.9 || $ratio->high > 1.1 ? 'cannot tell' : 'no'),
                    Units::whole($ratio->rounds),
                ], [], $differs);
            }
        }

        return $rows === [] ? null : new Table(
            'noise',
            'Each subject against itself: the noise of this machine',
            'About five of a hundred such intervals do not contain 1, although nothing differs.',
            [new Column('what'), new Column('work'), new Column('measured', 1), new Column('ratio', 0, true), new Column('95 %', 0, true), new Column('different?'), new Column('rounds', 2, true)],
            $rows,
        );
    }

    /** What could not be measured, by what is not there. */
    public function missing(): ?Table
    {
        $subjects = [];
        foreach ($this->report->missing as $one) {
            $subjects[\serialize([$one['scenario'], $one['what'], $one['advice']])][] = $one;
        }
        $rows = [];
        foreach ($subjects as $same) {
            $rows[] = new Row([self::together($same), $this->title($same[0]['scenario']), Plain::line($same[0]['what']), Plain::line($same[0]['advice'])], [], true);
        }

        return $rows === [] ? null : new Table(
            'missing',
            'Not measured here',
            '',
            [new Column('what'), new Column('scenario', 1), new Column('missing'), new Column('how to install it')],
            $rows,
        );
    }

    public function disqualified(): ?Table
    {
        $rows = \array_map(
            fn(array $one): Row => new Row([Names::called($one), $this->title($one['scenario']), Plain::line($one['reason']), Plain::line($one['subject'])], [], true),
            $this->report->disqualified,
        );

        return $rows === [] ? null : new Table(
            'disqualified',
            'Disqualified for a wrong value or a failure; their figures do not count',
            '',
            [new Column('what'), new Column('scenario', 1), new Column('why'), new Column('subject', 10)],
            $rows,
        );
    }

    /** The machine and the versions. */
    public function machine(): Table
    {
        $rows = [];
        foreach ($this->report->machine as $name => $value) {
            $rows[] = new Row([Plain::line((string) $name), $name === 'memory' && \is_int($value) ? \number_format($value / 2 ** 30, 1) . ' GiB' : Plain::line((string) $value)]);
        }
        foreach ($this->report->versions as $name => $version) {
            $rows[] = new Row([Plain::line((string) $name), Plain::line($version)]);
        }

        return new Table('machine', 'The machine and the versions', '', [new Column('what'), new Column('is')], $rows);
    }

    /**
     * @param list<Result> $group
     *
     * @return array{string, string} how many times its base it takes, and the interval
     */
    private function toBase(Result $result, array $group): array
    {
        $ratio = $this->rank->toBase($result);
        if ($ratio !== null) {
            return [Units::digits($ratio->median), Units::interval($ratio)];
        }
        foreach ($group as $other) {
            if ($this->rank->toBase($other)?->to === $result->cell->id()) {
                return ['1', Units::NOTHING];
            }
        }

        return [Units::NOTHING, Units::NOTHING];
    }

    /** @param non-empty-list<Result> $group */
    private function about(array $group, int $tied): string
    {
        $bases = [];
        foreach ($group as $result) {
            $to = $this->rank->toBase($result)?->to;
            foreach ($to === null ? [] : $group as $other) {
                if ($other->cell->id() === $to) {
                    $bases[Names::way($other->cell)] = true;
                }
            }
        }
        $base = \implode(', ', \array_keys($bases));
        $rate = $group[0]->cell->moreIsBetter();

        return \implode(' ', \array_filter([
            match (true) {
                $rate => 'All processes together; more is better.',
                $group[0]->cell->unit === Cell::BYTES => 'Bytes.',
                $group[0]->cell->unit === Cell::COUNT => 'Numbers.',
                default => 'Time of one operation.',
            },
            match (true) {
                $base !== '' => "The base is $base.",
                $rate => '× one process: how many times what one process alone did.',
                default => '',
            },
            $group[0]->cell->isExact() ? '' : '95 %: the interval over the rounds of this run.',
            $tied > 1 ? "The first $tied cannot be told apart." : '',
        ], static fn(string $part): bool => $part !== ''));
    }

    /** @param list<array{subject: string, scenario: string}> $subjects */
    private static function together(array $subjects): string
    {
        $engines = [];
        foreach ($subjects as $one) {
            $engines[Names::engine(\explode(':', $one['subject'], 2)[0])][] = Names::called($one);
        }
        $names = [];
        foreach ($engines as $engine => $of) {
            $names[] = \count($of) > 3 ? \sprintf('%s (%d subjects)', $engine, \count($of)) : \implode('; ', $of);
        }

        return \implode('; ', $names);
    }

    private function title(string $scenario): string
    {
        return Plain::line($this->rank->presentation($scenario)->title);
    }

    private function name(string ...$parts): string
    {
        $name = \trim(\preg_replace('/[^a-z0-9]+/', '-', \strtolower(\implode('-', $parts))) ?? '', '-');
        $this->given[$name] = 1 + ($this->given[$name] ?? 0);

        return $this->given[$name] > 1 ? $name . '-' . $this->given[$name] : $name;
    }
}
