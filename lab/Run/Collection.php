<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Task;
use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Interval;
use Larder\Lab\Statistics\Quantile;

/** Collects what the rounds find, and makes results and ratios of it. */
final class Collection
{
    /** @var array<string, Cell> by id, in the order of the plan */
    private array $cells = [];

    /** @var array<string, array<int, array{non-empty-list<float>, ?float, ?int}>> cell's id to round to samples, rate and operations of a sample */
    private array $samples = [];

    /** @var array<string, array{pair: Pair, of: string, to: string, rounds: array<int, list<float>>}> by task: of each round a figure a side; of one side alone, which is compared with its own cell of the tables */
    private array $pairs = [];

    /** @var array<string, array{subject: string, scenario: string, reason: string}> */
    private array $disqualified = [];

    public readonly Capacity $capacity;

    /**
     * @param list<Task>              $tasks
     * @param array<string, Scenario> $scenarios by name
     */
    public function __construct(array $tasks, private readonly array $scenarios)
    {
        $this->capacity = new Capacity((int) (Machine::facts()['cores'] ?? 1));
        foreach ($tasks as $task) {
            $pair = $task->pair();
            $sides = $task->sides();
            if ($pair === null) {
                foreach ($sides as $side) {
                    $this->cells[$side->cell->id()] = $side->cell;
                }
            } else {
                $this->pairs[$task->id()] = ['pair' => $pair, 'of' => $sides[0]->cell->id(), 'to' => ($sides[1] ?? $sides[0])->cell->id(), 'rounds' => []];
            }
        }
    }

    /** @param list<Measured> $measured one a side of the task */
    public function add(int $round, Task $task, array $measured): void
    {
        $centers = [];
        foreach ($measured as $i => $one) {
            $cell = $task->sides()[$i]->cell;
            if ($one->samples !== [] && $task->pair() === null) {
                $this->samples[$cell->id()][$round] = [$one->samples, $one->perSecond, $one->operations];
            } elseif ($one->samples !== []) {
                $centers[] = (new Result($cell, [$one->samples]))->centers()[0];
            }
        }
        if ($task->pair() !== null && \count($centers) === \count($measured)) {
            $this->pairs[$task->id()]['rounds'][$round] = $centers;
        }
    }

    /** @param string $subject "scenario/name"; what it has measured so far counts for nothing */
    public function disqualify(string $subject, string $reason): void
    {
        [$scenario, $name] = \explode('/', $subject, 2);
        $this->disqualified[$subject] = ['subject' => $name, 'scenario' => $scenario, 'reason' => $reason];
    }

    /** @return list<array{subject: string, scenario: string, reason: string}> */
    public function disqualified(): array
    {
        return \array_values($this->disqualified);
    }

    /** @return list<Result> of all that was measured at least once and is not out */
    public function results(): array
    {
        $results = $operations = $there = [];
        foreach ($this->cells as $id => $cell) {
            $rounds = $this->samples[$id] ?? [];
            if ($rounds !== [] && !isset($this->disqualified["$cell->scenario/$cell->subject"])) {
                $there[$id] = $rounds;
                foreach ($rounds as [, , $count]) {
                    $operations[self::group($cell)][$count ?? 0] = true;
                }
            }
        }
        foreach ($there as $id => $rounds) {
            $cell = $this->cells[$id];
            \ksort($rounds);
            $rates = \array_values(\array_filter(\array_column($rounds, 1), static fn(?float $rate): bool => $rate !== null));
            \sort($rates);
            $alike = $operations[self::group($cell)];
            $results[] = new Result($cell, \array_column($rounds, 0), $rates === [] ? null : Quantile::median($rates), \count($alike) === 1 && !isset($alike[0]));
        }

        return $results;
    }

    /** What is compared with each other. Over a network everything takes so long that its samples are a kind of their own. */
    private static function group(Cell $cell): string
    {
        return \implode('/', [$cell->scenario, $cell->payload, $cell->operation, $cell->concurrency, $cell->connection === Cell::NETWORK ? Cell::NETWORK : '']);
    }

    /** @return list<Ratio> first those that were measured in turn, then those of the tables */
    public function ratios(): array
    {
        $bootstrap = new Bootstrap();
        $centers = [];
        foreach ($this->results() as $result) {
            $id = $result->cell->id();
            $rounds = \array_keys($this->samples[$id]);
            \sort($rounds);
            $centers[$id] = \array_combine($rounds, $result->centers());
        }
        $inTurn = $ratios = [];
        foreach ($this->pairs as ['pair' => $pair, 'of' => $ofId, 'to' => $toId, 'rounds' => $rounds]) {
            \ksort($rounds);
            $of = \array_map(static fn(array $round): float => $round[0] ?? 0.0, $rounds);
            $to = \array_column($rounds, 1);
            if ($to !== []) {
                $inTurn[] = self::ratio($ofId, $toId, $bootstrap->paired(\array_values($of), $to), $pair, \array_values($of), $to);
            } else {
                $ratios[] = self::ofTables($ofId, $ofId, $of, $centers[$ofId] ?? [], $bootstrap, $pair);
            }
        }
        foreach ($centers as $id => $of) {
            $base = $this->scenarios[$this->cells[$id]->scenario]->base($this->cells[$id]);
            if ($base !== null) {
                $ratios[] = self::ofTables($id, $base, $of, $centers[$base] ?? [], $bootstrap, new Pair('', null, Ratio::TABLE));
            }
        }
        foreach ($this->scenarios as $scenario) {
            foreach ($scenario->promises(\array_values($this->cells)) as $promise) {
                $ratios[] = self::ofTables($promise->of, $promise->to, $centers[$promise->of] ?? [], $centers[$promise->to] ?? [], $bootstrap, new Pair($promise->title, $promise->limit, Ratio::TABLE));
            }
        }

        return [...$inTurn, ...\array_values(\array_filter($ratios))];
    }

    /**
     * Of the rounds that measured both.
     *
     * @param array<int, float> $of by round
     * @param array<int, float> $to by round
     *
     * @return ?Ratio null if no round did, or something took no time at all
     */
    private static function ofTables(string $ofId, string $toId, array $of, array $to, Bootstrap $bootstrap, Pair $pair): ?Ratio
    {
        $both = \array_intersect_key($of, $to);
        $others = \array_intersect_key($to, $of);
        if ($both === [] || \min(...$both, ...$others) <= 0.0) {
            return null;
        }

        return self::ratio($ofId, $toId, $bootstrap->paired(\array_values($both), \array_values($others)), $pair, [], []);
    }

    /**
     * @param list<float> $of
     * @param list<float> $to
     */
    private static function ratio(string $ofId, string $toId, Interval $interval, Pair $pair, array $of, array $to): Ratio
    {
        return new Ratio(
            $ofId,
            $toId,
            $interval->median,
            $interval->low,
            $interval->high,
            $interval->rounds,
            $pair->kind,
            $pair->limit,
            $pair->title,
            \array_map(static fn(float $one, float $other): float => $other > 0.0 ? $one / $other : 1.0, $of, $to),
        );
    }
}
