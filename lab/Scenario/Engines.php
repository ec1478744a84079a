<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Again;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Service\Cores;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/**
 * Write and read of three values, by one process and by ten at once, over every way to every engine.
 *
 * One process is held to a core, and its server to the same one and to another: both are measured. What Larder's
 * requests cost once is borne by 1, by 10 and by 175 keys; the other engines' requests cost nothing.
 *
 * This folder holds one published comparison a file. This one also compares, in turn, what the library promises of its
 * own tiers with what they stand on, and some subjects with themselves: that is the noise of the machine.
 */
final readonly class Engines extends Scenario
{
    public const NAME = 'engines';

    private const AT_ONCE = 10;

    private const BASE = 'apcu:process:php';

    /** Keys of a request, besides the usual number: one, and the first gets of a catalogue page. */
    private const REQUESTS = [1, self::PAGE];
    private const PAGE = 175;

    /**
     * Subject, base, payload, operation, what the first may take of the second's time at most, operations of a sample,
     * and where the server runs.
     *
     * A set of SQLite's is over when another process can read it, as Redis's is: it is committed before it returns.
     */
    private const PROMISES = [
        ['larder-request:process:none', 'lookup:process:none', 'short', 'read', 1.5, 60 * self::PAGE],
        ['larder-request:process:none', 'lookup:process:none', '50x50', 'read', 1.5, 60 * self::PAGE],
        ['larder-apcu:process:igbinary', 'apcu:process:php', 'short', 'read', 3.0, 12 * self::PAGE],
        ['larder-apcu:process:igbinary', 'apcu:process:php', '20kB', 'read', 1.5, 3 * self::PAGE],
        ['larder-apcu:process:igbinary', 'apcu:process:php', '50x50', 'read', 1.05, self::PAGE],
        ['larder-sqlite:process:igbinary', 'redis:socket:none', 'short', 'read', 1 / 8, 4 * self::PAGE, Cell::OTHER],
        ['larder-sqlite:process:igbinary', 'redis:socket:none', 'short', 'read', 1.0, 4 * self::PAGE, Cell::SAME],
        ['larder-sqlite:process:igbinary', 'redis:socket:none', 'short', 'write', 1 / 4, 4 * self::PAGE, Cell::OTHER],
        ['larder-sqlite:process:igbinary', 'redis:socket:none', 'short', 'write', 1.0, 4 * self::PAGE, Cell::SAME],
    ];

    /** Three kinds of work: in memory, on the disk, over a socket. Subject, payload, operation, operations of a sample, placement. */
    private const SAME = [
        ['apcu:process:php', '50x50', 'read', self::PAGE],
        ['larder-sqlite:process:igbinary', 'short', 'write', 2 * self::PAGE],
        ['redis:socket:php', 'short', 'read', 2 * self::PAGE, Cell::OTHER],
    ];

    /** What a second process finds each round, for the noise of the tables: subject, payload, operation. */
    private const AGAIN = [
        ['apcu:process:php', 'short', 'read'],
        ['larder-sqlite:process:igbinary', '50x50', 'write'],
        ['redis:socket:php', 'short', 'read'],
    ];

    public function __construct(private Cores $cores = new Cores()) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'write and read of a short string, 20 kB and a 50x50 array, by one process and by ten, over socket, TCP and a network',
            'Engines',
            'Two are no caches that processes share, and stand here for comparison: a PHP array, and Larder\'s request tier. '
            . 'APCu takes the place that the published tables give to XCache, which ended with PHP 5. '
            . 'Where ten do it at once, a round counts what ends between a common start and a common end. A sample is what an operation took on average, with its waits.',
        );
    }

    public function subjects(): array
    {
        return EngineSubjects::all();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = $byName = [];
        foreach ($subjects as $subject) {
            $effort = match (true) {
                $scope->level !== Scope::EVERY => Effort::quick(),
                $subject->connection === Cell::NETWORK => Effort::far(),
                default => Effort::full(),
            };
            $byName[$subject->name] = $subject;
            foreach ([1, self::AT_ONCE] as $concurrency) {
                foreach ($concurrency === 1 ? $this->cores->placements($subject) : [Cell::ANYWHERE] as $placement) {
                    $sides = self::sides($scope->level, $subject, $concurrency, $placement);
                    if ($sides === []) {
                        continue;
                    }
                    $tasks[] = $task = new ProcessTask(self::NAME . "/$subject->name/$concurrency" . ($placement === '' ? '' : "/$placement"), $sides, $effort, $concurrency);
                    foreach (self::AGAIN as [$name, $payload, $operation]) {
                        if ($name === $subject->name && $placement !== Cell::SAME) {
                            \array_push($tasks, ...Again::of($task, $payload, $operation));
                        }
                    }
                }
            }
        }

        return [...$tasks, ...$this->pairs($byName)];
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === self::BASE ? null : $cell->idOf(self::BASE);
    }

    /**
     * @param int<1, max> $concurrency
     *
     * @return list<Side>
     */
    private static function sides(string $level, Subject $subject, int $concurrency, string $placement): array
    {
        $sides = [];
        foreach (Payloads::PUBLISHED as $payload) {
            foreach ([Cell::REQUEST, ...isset($subject->parameters['begins']) && $concurrency === 1 ? self::REQUESTS : []] as $request) {
                if (self::isIn($level, $subject, $payload, $concurrency, $placement, $request)) {
                    // What is written first is there to be read.
                    $sides[] = Side::of(self::NAME, $subject, $payload, 'write', $concurrency, placement: $placement, request: $request);
                    $sides[] = Side::of(self::NAME, $subject, $payload, 'read', $concurrency, placement: $placement, request: $request);
                }
            }
        }

        return $sides;
    }

    private static function isIn(string $level, Subject $subject, string $payload, int $concurrency, string $placement, int $request): bool
    {
        if ($payload === '50x50' && $subject->serializer === 'none' && $subject->service !== null) {
            // Strings only.
            return false;
        }
        if ($level === Scope::EVERY) {
            return true;
        }
        // A serializer has nothing to do with a string, but to put some bytes before it.
        $usual = !\in_array($subject->serializer, ['igbinary', 'msgpack'], true);
        $larder = $subject->isLarder();
        $away = \in_array($subject->connection, [Cell::TCP, Cell::NETWORK], true);
        if ($larder && $away && $subject->serializer !== 'igbinary') {
            // Not in the published tables: what the serializers do to it is seen by socket.
            return false;
        }
        if ($level === Scope::QUICK) {
            return $usual || $payload === '50x50' || ($larder && $away);
        }

        return self::isFirst($subject, $payload, $concurrency, $placement, $request);
    }

    /** Whether it is of the part that a reader wants to know first. */
    private static function isFirst(Subject $subject, string $payload, int $concurrency, string $placement, int $request): bool
    {
        // What most sites have: a library of C, a serializer that makes a difference; Larder as it comes.
        $first = \in_array($subject->engine, ['lookup', 'apcu', 'opcache', 'redis', 'predis', 'memcached', 'larder-request', 'larder-apcu', 'larder-segment', 'larder-sqlite', 'larder-redis'], true);
        if (!$first || $subject->serializer === 'msgpack') {
            return false;
        }
        if ($subject->connection === Cell::TCP || $subject->connection === Cell::NETWORK) {
            return $concurrency === 1 && $payload === 'short' && $placement !== Cell::SAME && \in_array($subject->engine, ['redis', 'larder-redis'], true)
                && $request === Cell::REQUEST && $subject->serializer !== 'none';
        }
        $larder = $subject->isLarder();
        if ($concurrency > 1 || $request !== Cell::REQUEST) {
            return $payload === 'short' && $subject->serializer === ($larder && $subject->serializer !== 'none' ? 'igbinary' : 'php') && $subject->engine !== 'predis';
        }

        return match ($payload) {
            'short' => $subject->serializer === ($larder ? 'igbinary' : 'php') || $subject->serializer === 'none',
            '50x50' => $subject->serializer !== 'php' || !$larder,
            default => $placement !== Cell::SAME && $subject->serializer === ($larder ? 'igbinary' : 'php'),
        };
    }

    /**
     * @param array<string, Subject> $subjects
     *
     * @return list<ProcessTask>
     */
    private function pairs(array $subjects): array
    {
        $tasks = [];
        $pair = function (string $of, string $to, string $payload, string $operation, int $operations, string $placement, Pair $pair) use ($subjects, &$tasks): void {
            $side = fn(Subject $subject): Side => Side::of(self::NAME, $subject, $payload, $operation, placement: $subject->service === null || !$this->cores->areHeld() ? Cell::ANYWHERE : $placement, request: self::PAGE);
            if (isset($subjects[$of], $subjects[$to])) {
                $tasks[] = ProcessTask::inTurn($side($subjects[$of]), $side($subjects[$to]), $operations, $pair, $placement);
            }
        };
        foreach (self::PROMISES as $promise) {
            [$of, $to, $payload, $operation, $limit, $operations] = $promise;
            $placement = $promise[6] ?? Cell::ANYWHERE;
            // What is promised of a server is promised of where it runs.
            $held = $placement === Cell::ANYWHERE || $this->cores->areHeld();
            if ($held || $placement === Cell::OTHER) {
                $pair($of, $to, $payload, $operation, $operations, $placement, new Pair("$of against $to: $operation, $payload" . self::where($held ? $placement : ''), $held ? $limit : null));
            }
        }
        foreach (self::SAME as $same) {
            [$subject, $payload, $operation, $operations] = $same;
            $placement = $same[4] ?? Cell::ANYWHERE;
            $pair($subject, $subject, $payload, $operation, $operations, $placement, new Pair("$subject against itself: $operation, $payload", null, Ratio::NOISE));
        }

        return $tasks;
    }

    private static function where(string $placement): string
    {
        return match ($placement) {
            Cell::SAME => ', the server on the same core',
            Cell::OTHER => ', the server on another core',
            default => '',
        };
    }
}
