<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Promising;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\WithItself;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\Audit;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;

/** A request that pushes a short message, as published: /queue/DRIVER behind nginx and php-fpm. All messages are counted. */
final readonly class Queues implements Scenario, Promising
{
    public const NAME = 'queues';

    private const PUSH = 'push';
    private const CONSUMED = 'consumed';

    /** Part of the requests a second of the script that pushes nothing. */
    private const BESIDE_FAKE = 0.95;

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'a script behind nginx and php-fpm that pushes a message, with and without a consumer, asked for by wrk with 20 connections: requests a second, latency, processor time',
            'Queues over HTTP',
            'After each run the queue must hold, or its consumer have taken, what php-fpm has answered, by the web server\'s log; a subject that has another number is out. ZeroMQ holds nothing: it has its consumer always.',
            first: self::PUSH . '/wrk',
            sideBySide: true,
            payloads: [self::PUSH => 'a request that pushes', self::CONSUMED => 'a request that pushes, beside a consumer'],
            operations: Counters::titles(),
            columns: ['wrk' => 'a request', 'stdev' => 'its standard deviation', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::queues();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            $path = "/queue/$subject->engine";
            $isFake = $subject->engine === WebSubjects::FAKE;
            foreach ([self::PUSH, self::CONSUMED] as $payload) {
                $audit = $isFake ? null : new Audit($path, $payload === self::CONSUMED || $subject->engine === WebSubjects::ZMQ);
                $sides = \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, $payload, $operation, Counters::CONNECTIONS), Counters::OPERATIONS);
                $tasks[] = $task = new LoadTask($this->stand, self::NAME . "/$subject->name/$payload", $sides, 'wrk', $path, [], Counters::check(...), 0, Counters::seconds($scope), Counters::THREADS, $audit);
                if ($isFake && $payload === self::PUSH) {
                    $tasks[] = new WithItself($task);
                }
            }
        }

        return $tasks;
    }

    /** The script that pushes nothing. */
    public function base(Cell $cell): ?string
    {
        return $cell->engine === WebSubjects::FAKE ? null : \str_replace("/$cell->subject/", '/' . WebSubjects::FAKE . ':process/', $cell->id());
    }

    /** Larder over SQLite beside the script that pushes nothing, and ahead of ZeroMQ and Redis. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            if ($cell->scenario === self::NAME && $cell->operation === 'wrk' && $cell->engine === 'larder-sqlite') {
                foreach ([WebSubjects::FAKE => 1 / self::BESIDE_FAKE, WebSubjects::ZMQ => 1.0, 'redis' => 1.0] as $other => $limit) {
                    $promises[] = new Promise($cell->id(), \str_replace("/$cell->subject/", "/$other:process/", $cell->id()), $limit, "a push ($cell->payload): $cell->engine beside $other");
                }
            }
        }

        return $promises;
    }
}
