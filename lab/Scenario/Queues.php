<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Queue\LaravelPile;
use Larder\Lab\Queue\Pile;
use Larder\Lab\Queue\QueueTask;
use Larder\Lab\Subject\QueueSubjects;
use Larder\Lab\Subject\WebSubjects;

/**
 * A request that pushes a short message, as published: /queue/DRIVER behind nginx and php-fpm; and queues that processes use
 * without HTTP, beside the least that SQLite costs. All messages are counted.
 */
final readonly class Queues extends Endpoints
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

    public function presentation(): Presentation
    {
        return self::presented(
            self::NAME,
            'a script behind nginx and php-fpm that pushes a message, with and without a consumer, asked for by wrk with 20 connections; the same queues without HTTP',
            'Queues',
            'After each run the queue must hold, or its consumer have taken, what php-fpm has answered, by the web server\'s log; a subject that has another number is out. ZeroMQ holds nothing: it has its consumer always.',
            [self::PUSH => 'a request that pushes', self::CONSUMED => 'a request that pushes, beside a consumer', self::MESSAGE => 'a message, without HTTP'],
            ['push' => 'push %s', 'take' => 'take and acknowledge %s', 'push-many' => 'push %s, in batches of 100', 'take-many' => 'take and acknowledge %s, in batches of 100', 'wake' => 'from push to pop: %s', 'room' => 'room of %s that waits'],
            ['take' => 'pop, ack', 'push-many' => 'push of 100', 'take-many' => 'pop of 100', 'wake' => 'wake-up', 'room' => 'room'],
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
                // Laravel takes messages one by one, and pushes raw ones so.
                $isSlow = $subject->driver === LaravelPile::class;
                foreach ($isSlow ? [1] : self::PROCESSES as $processes) {
                    $tasks[] = new QueueTask(self::NAME . "/$subject->name/$processes", QueueTask::measures(self::NAME, $subject, self::MESSAGE, $processes), \intdiv(self::MESSAGES, $share), \intdiv(self::PILE, $isSlow ? 100 * $share : $share));
                }
                continue;
            }
            foreach ([self::PUSH, self::CONSUMED] as $payload) {
                $isConsumed = $payload === self::CONSUMED || $subject->engine === WebSubjects::ZMQ;
                \array_push($tasks, ...$this->load($scope, self::NAME, $subject, $payload, "/queue/$subject->engine", $isConsumed));
            }
        }

        return $tasks;
    }

    /** The script that pushes nothing; without HTTP plain SQLite. */
    public function base(Cell $cell): ?string
    {
        if ($cell->payload === self::MESSAGE) {
            return $cell->engine === QueueSubjects::FLOOR ? null : $cell->idOf(QueueSubjects::FLOOR . ':script');
        }

        return parent::base($cell);
    }

    /** Larder over SQLite beside the script that pushes nothing, and ahead of ZeroMQ and Redis. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            if ($cell->scenario === self::NAME && $cell->operation === 'wrk' && $cell->engine === 'larder-sqlite') {
                foreach ([WebSubjects::FAKE => 1 / self::BESIDE_FAKE, WebSubjects::ZMQ => 1.0, 'redis' => 1.0] as $other => $limit) {
                    $promises[] = new Promise($cell->id(), $cell->idOf("$other:process"), $limit, "a push ($cell->payload): $cell->engine beside $other");
                }
            }
            if ($cell->scenario === self::NAME && $cell->subject === 'larder-sqlite:script' && \in_array($cell->operation, QueueTask::OPERATIONS, true)) {
                $promises[] = new Promise($cell->id(), (string) $this->base($cell), 1 / self::BESIDE_FLOOR, "$cell->operation without HTTP, $cell->concurrency at once: $cell->engine beside plain SQLite");
            }
        }

        return $promises;
    }
}
