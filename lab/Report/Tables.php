<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * The tables of a report as plain rows: made once, printed by the terminal, as Markdown and on the page.
 *
 * Text in them is on one line and has no control characters; whoever prints it escapes what its form has a use for.
 */
final class Tables
{
    /** Scenarios whose subjects have a few figures each. */
    private const SIDE_BY_SIDE = ['serializers', 'loop', 'transients', 'catalog'];

    private readonly Rank $rank;
    /** @var array<string, int> how often each id was given */
    private array $given = [];

    public function __construct(private readonly Report $report)
    {
        $this->rank = new Rank($report);
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
        $groups = $this->rank->groups($scenario);
        if (!\in_array($scenario, self::SIDE_BY_SIDE, true)) {
            return \array_map($this->ranking(...), $groups);
        }
        $payloads = [];
        foreach ($groups as $group) {
            $payloads[$group[0]->cell->payload . ' ' . $group[0]->cell->concurrency][] = $group;
        }

        return \array_map($this->sideBySide(...), \array_values($payloads));
    }

    /** @param non-empty-list<Result> $group sorted */
    private function ranking(array $group): Table
    {
        $cell = $group[0]->cell;
        $units = Units::of($cell->unit, \array_map(Rank::center(...), $group));
        $many = $cell->concurrency > 1;
        $rate = $cell->moreIsBetter();
        $tied = $this->rank->tied($group);
        $rows = [];
        foreach ($group as $i => $result) {
            $summary = $result->summary;
            $rows[] = new Row([
                Plain::line($result->cell->engine),
                Plain::line($result->cell->connection),
                Words::form($result->cell),
                $units->show(Rank::center($result)),
                $many && !$rate ? $units->show($summary->median) : Units::NOTHING,
                $units->show($summary->p5) . '–' . $units->show($summary->p95),
                $units->show($summary->p99),
                $result->perSecond === null || $rate ? Units::NOTHING : ($result->perSecond < 100 ? Units::digits($result->perSecond) : \number_format($result->perSecond)),
                ...$this->toBase($result, $group),
                Units::whole($summary->n),
            ], $i < $tied ? [3] : [], false, $result->cell->id());
        }
        $columns = [
            new Column('engine'),
            new Column('by'),
            new Column('values'),
            new Column(($many ? 'mean' : 'median') . ' ' . $units->unit, 0, true),
            new Column("median $units->unit", 7, true),
            new Column("p5–p95 $units->unit", 3, true),
            new Column("p99 $units->unit", 5, true),
            new Column('a second', 4, true),
            new Column($rate ? '× one process' : '× base', 1, true),
            new Column('95 %', 2, true),
            new Column('n', 6, true),
        ];

        return (new Table(
            $this->name($cell->scenario, $cell->operation, $cell->payload, (string) $cell->concurrency),
            \sprintf('%s: %s, %s', Plain::line($cell->scenario), Words::work($cell), Words::crowd($cell->concurrency)),
            $this->about($group, $tied),
            $columns,
            $rows,
        ))->withoutEmptyColumns();
    }

    /** @param non-empty-list<non-empty-list<Result>> $groups of one payload, each sorted */
    private function sideBySide(array $groups): Table
    {
        $cell = $groups[0][0]->cell;
        $asForms = $cell->scenario === 'serializers';
        $columns = $asForms ? [new Column('serializer'), new Column('compressor')] : [new Column('engine'), new Column('by'), new Column('values')];
        $first = \count($columns);
        $rows = $best = [];
        // The order is that of what is read first: of what is written once and read often that matters.
        \usort($groups, static fn(array $a, array $b): int => ($b[0]->cell->operation === 'read') <=> ($a[0]->cell->operation === 'read'));
        $order = [];
        foreach ($groups as $group) {
            foreach ($group as $result) {
                $order[$result->cell->subject] ??= $result->cell;
            }
        }
        foreach ($this->inOrder($groups) as $group) {
            $operation = $group[0]->cell->operation;
            $units = Units::of($group[0]->cell->unit, \array_map(Rank::center(...), $group));
            $tied = $this->rank->tied($group);
            $place = \count($columns);
            $columns[] = new Column(\rtrim(Words::column($operation) . ' ' . $units->unit), 0, true);
            $columns[] = new Column('× base', \count($columns), true);
            $columns[] = new Column('95 %', 100 + \count($columns), true);
            foreach ($group as $i => $result) {
                $rows[$result->cell->subject][$place] = $units->show(Rank::center($result));
                [$rows[$result->cell->subject][$place + 1], $rows[$result->cell->subject][$place + 2]] = $this->toBase($result, $group);
                if ($i < $tied) {
                    $best[$result->cell->subject][] = $place;
                }
            }
        }
        $lines = [];
        foreach ($order as $subject => $of) {
            $cells = $asForms ? [Plain::line($of->serializer), Plain::line($of->compressor)] : [Plain::line($of->engine), Plain::line($of->connection), Words::form($of)];
            for ($i = $first; $i < \count($columns); ++$i) {
                $cells[] = $rows[$subject][$i] ?? Units::NOTHING;
            }
            $lines[] = new Row($cells, $best[$subject] ?? []);
        }

        return (new Table(
            $this->name($cell->scenario, $cell->payload),
            \sprintf('%s: %s', Plain::line($cell->scenario), Words::payload($cell->payload)) . ($cell->concurrency > 1 ? ', ' . Words::together($cell) : ''),
            $this->about($groups[0], 1),
            $columns,
            $lines,
        ))->withoutEmptyColumns();
    }

    /**
     * @param non-empty-list<non-empty-list<Result>> $groups
     *
     * @return list<non-empty-list<Result>> writing, reading, what else
     */
    private function inOrder(array $groups): array
    {
        $place = ['write' => 0, 'read' => 1, 'cycle' => 2, 'size' => 3];
        \usort($groups, static fn(array $a, array $b): int => ($place[$a[0]->cell->operation] ?? 4) <=> ($place[$b[0]->cell->operation] ?? 4));

        return $groups;
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
            $rows[] = new Row([
                self::title($ratio),
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
            [new Column('what'), new Column('ratio', 0, true), new Column('95 %', 1, true), new Column('limit', 0, true), new Column('promise'), new Column('rounds', 2, true)],
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
                $rows[] = new Row([
                    self::title($ratio),
                    Units::digits($ratio->median),
                    Units::interval($ratio),
                    \is_finite($ratio->high) ? ($differs ? 'yes, by chance' : 'no') : 'cannot tell',
                    Units::whole($ratio->rounds),
                ], [], $differs);
            }
        }

        return $rows === [] ? null : new Table(
            'noise',
            'Each subject against itself: the noise of this machine',
            'About five of a hundred such intervals do not contain 1, although nothing differs.',
            [new Column('what'), new Column('ratio', 0, true), new Column('95 %', 1, true), new Column('different?'), new Column('rounds', 2, true)],
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
            $rows[] = new Row([self::together(\array_column($same, 'subject')), Plain::line($same[0]['scenario']), Plain::line($same[0]['what']), Plain::line($same[0]['advice'])], [], true);
        }

        return $rows === [] ? null : new Table(
            'missing',
            'Not measured here',
            '',
            [new Column('subject'), new Column('scenario', 1), new Column('missing'), new Column('how to install it')],
            $rows,
        );
    }

    public function disqualified(): ?Table
    {
        $rows = \array_map(
            static fn(array $one): Row => new Row([Plain::line($one['subject']), Plain::line($one['scenario']), Plain::line($one['reason'])], [], true),
            $this->report->disqualified,
        );

        return $rows === [] ? null : new Table(
            'disqualified',
            'Disqualified for a wrong value or a failure; their figures do not count',
            '',
            [new Column('subject'), new Column('scenario', 1), new Column('why')],
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

    private static function title(Ratio $ratio): string
    {
        return Plain::line($ratio->title !== '' ? $ratio->title : "$ratio->of against $ratio->to");
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
                    $bases[Words::subject($other->cell)] = true;
                }
            }
        }
        $base = self::common(\array_map(\strval(...), \array_keys($bases)));

        if ($group[0]->cell->moreIsBetter()) {
            return 'All processes together; more is better. '
                . ($base === '' ? '× one process: how many times what one process alone did' : "Base: $base; × base: how many times as much") . ', and the 95 % interval of that.'
                . ($tied > 1 ? " The first $tied cannot be told apart." : '');
        }
        $what = match ($group[0]->cell->unit) {
            Cell::BYTES => 'Bytes.',
            Cell::COUNT => 'Numbers.',
            default => 'Time of one operation.',
        };

        return $what
            . ($base === '' ? '' : " Base: $base" . (\count($bases) > 1 ? ' with the same serializer' : '') . '; × base: how many times its time, and the 95 % interval of that.')
            . ($tied > 1 ? " The first $tied cannot be told apart." : '');
    }

    /**
     * What the names begin with, by whole parts.
     *
     * @param list<string> $names
     */
    private static function common(array $names): string
    {
        $common = null;
        foreach ($names as $name) {
            $parts = \explode(':', $name);
            $common = $common === null ? $parts : \array_intersect_assoc($common, $parts);
        }

        return \implode(':', $common ?? []);
    }

    /** @param list<string> $subjects */
    private static function together(array $subjects): string
    {
        $engines = [];
        foreach ($subjects as $subject) {
            $engines[\explode(':', $subject, 2)[0]][] = Plain::line($subject);
        }
        $names = [];
        foreach ($engines as $engine => $of) {
            $names[] = \count($of) > 3 ? \sprintf('%s (%d subjects)', Plain::line((string) $engine), \count($of)) : \implode(', ', $of);
        }

        return \implode(', ', $names);
    }

    private function name(string ...$parts): string
    {
        $name = \trim(\preg_replace('/[^a-z0-9]+/', '-', \strtolower(\implode('-', $parts))) ?? '', '-');
        $this->given[$name] = 1 + ($this->given[$name] ?? 0);

        return $this->given[$name] > 1 ? $name . '-' . $this->given[$name] : $name;
    }
}
