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
use Larder\Lab\Queue\Pile;
use Larder\Lab\Queue\QueueTask;
use Larder\Lab\Run\WithItself;
use Larder\Lab\Subject\QueueSubjects;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\Audit;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;

/**
 * A request that pushes a short message, as published: /queue/DRIVER behind nginx and php-fpm; and queues that processes use
 * without HTTP, beside the least that SQLite costs. All messages are counted.
 */
final readonly class Queues implements Scenario, Promising
{
    public const NAME = 'queues';

    private const PUSH = 'push';
    private const CONSUMED = 'consumed';
    private const MESSAGE = 'message';

    /** Processes without HTTP. */
    private const PROCESSES = [1, 4];

    /** Without HTTP, of each process; and those that lie there. */
    private const MESSAGES = 5_000;
    private const PILE = 1_000_000;

    /** Part of the requests a second of the script that pushes nothing. */
    private const BESIDE_FAKE = 0.95;

    /** Part of the messages a second of plain SQLite. */
    private const BESIDE_FLOOR = 0.85;

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'a script behind nginx and php-fpm that pushes a message, with and without a consumer, asked for by wrk with 20 connections; the same queues without HTTP',
            'Queues',
            'After each run the queue must hold, or its consumer have taken, what php-fpm has answered, by the web server\'s log; a subject that has another number is out. ZeroMQ holds nothing: it has its consumer always.',
            first: self::PUSH . '/wrk',
            sideBySide: true,
            payloads: [self::PUSH => 'a request that pushes', self::CONSUMED => 'a request that pushes, beside a consumer', self::MESSAGE => 'a message, without HTTP'],
            operations: Counters::titles() + ['push' => 'push %s', 'take' => 'take and acknowledge %s', 'push-many' => 'push %s, in batches of 100', 'take-many' => 'take and acknowledge %s, in batches of 100', 'wake' => 'from push to pop: %s', 'room' => 'room of %s that waits'],
            columns: ['take' => 'pop, ack', 'push-many' => 'push of 100', 'take-many' => 'pop of 100', 'wake' => 'wake-up', 'room' => 'room', 'wrk' => 'a request', 'stdev' => 'its standard deviation', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return [...WebSubjects::queues(), ...QueueSubjects::all()];
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        $share = $scope->level === Scope::EVERY ? 1 : 10;
        foreach ($subjects as $subject) {
            if (\is_a($subject->driver, Pile::class, true)) {
                foreach (self::PROCESSES as $processes) {
                    $tasks[] = new QueueTask(self::NAME . "/$subject->name/$processes", QueueTask::measures(self::NAME, $subject, self::MESSAGE, $processes), \intdiv(self::MESSAGES, $share), \intdiv(self::PILE, $share));
                }
                continue;
            }
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

    /** The script that pushes nothing; without HTTP plain SQLite. */
    public function base(Cell $cell): ?string
    {
        if ($cell->payload === self::MESSAGE) {
            return $cell->engine === QueueSubjects::FLOOR ? null : \str_replace("/$cell->subject/", '/' . QueueSubjects::FLOOR . ':script/', $cell->id());
        }

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
            if ($cell->scenario === self::NAME && $cell->subject === 'larder-sqlite:script' && \in_array($cell->operation, QueueTask::OPERATIONS, true)) {
                $promises[] = new Promise($cell->id(), (string) $this->base($cell), 1 / self::BESIDE_FLOOR, "$cell->operation without HTTP, $cell->concurrency at once: $cell->engine beside plain SQLite");
            }
        }

        return $promises;
    }
}
