<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Collection;
use Larder\Lab\Run\Ledger;
use Larder\Lab\Run\Runner;
use Larder\Lab\Run\Stop;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;
use Symfony\Component\Console\Helper\ProgressBar;
use Symfony\Component\Console\Output\NullOutput;

/** Tasks made for a test. */
final class Tasks
{
    /**
     * @param class-string<Driver>      $driver
     * @param array<string, string|int> $parameters
     * @param array<string, string|int> $ini
     */
    public static function subject(string $name, string $driver, array $parameters = [], ?string $service = null, array $ini = []): Subject
    {
        return new Subject($name, \explode(':', $name)[0], Cell::PROCESS, 'none', 'none', [], $driver, $parameters, $service, $ini);
    }

    /** @param list<string> $operations */
    public static function task(Subject $subject, array $operations = ['write', 'read'], int $concurrency = 1, string $payload = 'short'): ProcessTask
    {
        $sides = \array_map(static fn(string $operation): Side => Side::of('test', $subject, $payload, $operation, \max(1, $concurrency)), $operations);

        return new ProcessTask("test/$subject->name/$concurrency", $sides === [] ? throw new \LogicException('no side') : $sides, Effort::quick(), \max(1, $concurrency));
    }

    public static function pair(Subject $of, Subject $to, Pair $pair, string $payload = 'short', int $operations = 50): ProcessTask
    {
        return ProcessTask::inTurn(Side::of('test', $of, $payload, 'read'), Side::of('test', $to, $payload, 'read'), $operations, $pair);
    }

    /**
     * A run of them.
     *
     * @param list<Task>              $tasks
     * @param array<string, Scenario> $scenarios
     */
    public static function run(array $tasks, string $directory, int $rounds, array $scenarios = [], Ledger $ledger = new Ledger(null, 'test', 1), Stop $stop = new Stop(), ?float $budget = null): Collection
    {
        $collection = new Collection($tasks, $scenarios);
        (new Runner($tasks, new Services(), $directory, $rounds, $ledger, $stop, new ProgressBar(new NullOutput()), $budget))->run($collection);

        return $collection;
    }

    /**
     * @param list<Task> $tasks
     *
     * @return list<Cell> of those that fill the tables
     */
    public static function cells(array $tasks): array
    {
        $cells = [];
        foreach ($tasks as $task) {
            foreach ($task->pair() === null ? $task->sides() : [] as $side) {
                $cells[] = $side->cell;
            }
        }

        return $cells;
    }
}
