<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Payload\Payloads;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Pair;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/**
 * Write and read of three values, by one process and by ten at once, over every way to every engine.
 *
 * This folder holds one published comparison a file. This one also compares, in turn, what the library promises of its
 * own tiers with what they stand on, and three subjects with themselves: that is the noise of the machine.
 */
final readonly class Engines implements Scenario
{
    public const NAME = 'engines';

    private const AT_ONCE = 10;

    /** subject, base, payload, operation, what the first may take of the second's time at most, and operations of a sample */
    private const PROMISES = [
        ['larder-request:process:none', 'lookup:process:none', 'short', 'read', 1.5, 10_000],
        ['larder-request:process:none', 'lookup:process:none', '50x50', 'read', 1.5, 10_000],
        ['larder-apcu:process:igbinary', 'apcu:process:php', 'short', 'read', 3.0, 2_000],
        ['larder-apcu:process:igbinary', 'apcu:process:php', '20kB', 'read', 1.5, 500],
        ['larder-apcu:process:igbinary', 'apcu:process:php', '50x50', 'read', 1.05, 100],
        ['larder-sqlite:process:igbinary', 'redis:socket:php', 'short', 'read', 1 / 8, 1_000],
        ['larder-sqlite:process:igbinary', 'redis:socket:php', 'short', 'write', 1 / 4, 1_000],
    ];

    /** Three kinds of work: in memory, on the disk, over a socket. */
    private const SAME = [
        ['apcu:process:php', '50x50', 'read', 100],
        ['larder-sqlite:process:igbinary', 'short', 'write', 500],
        ['redis:socket:php', 'short', 'read', 500],
    ];

    public function name(): string
    {
        return self::NAME;
    }

    public function about(): string
    {
        return 'write and read of a short string, 20 kB and a 50x50 array, by one process and by ten, over socket, TCP and a network';
    }

    public function subjects(): array
    {
        return EngineSubjects::all();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $effort = $scope->level === Scope::EVERY ? Effort::full() : Effort::quick();
        $tasks = $byName = [];
        foreach ($subjects as $subject) {
            $byName[$subject->name] = $subject;
            foreach ([1, self::AT_ONCE] as $concurrency) {
                $sides = [];
                foreach (Payloads::names() as $payload) {
                    if (self::isIn($scope->level, $subject, $payload, $concurrency)) {
                        // What is written first is there to be read.
                        $sides[] = new Side(self::cell($subject, $payload, 'write', $concurrency), $subject);
                        $sides[] = new Side(self::cell($subject, $payload, 'read', $concurrency), $subject);
                    }
                }
                if ($sides !== []) {
                    $tasks[] = new ProcessTask(self::NAME . "/$subject->name/$concurrency", $sides, $effort, $concurrency);
                }
            }
        }

        return [...$tasks, ...self::pairs($byName)];
    }

    public function base(Cell $cell): ?string
    {
        $serializer = \in_array($cell->serializer, ['igbinary', 'msgpack'], true) ? $cell->serializer : 'php';
        // Where each serializer is only measured on the array, strings have been through php's.
        $base = "redis:socket:$serializer";

        return $cell->subject === $base ? null : \implode('/', [self::NAME, $base, $cell->payload, $cell->operation, $cell->concurrency]);
    }

    private static function isIn(string $level, Subject $subject, string $payload, int $concurrency): bool
    {
        if ($level === Scope::EVERY) {
            return true;
        }
        // A serializer has nothing to do with a string, but to put some bytes before it.
        $usual = !\in_array($subject->serializer, ['igbinary', 'msgpack'], true);
        if (\str_starts_with($subject->engine, 'larder-') && \in_array($subject->connection, [Cell::TCP, Cell::NETWORK], true)) {
            // Not in the published tables: what the serializers do to it is seen by socket.
            return $subject->serializer === 'igbinary' && ($level === Scope::QUICK || $concurrency === 1);
        }
        if ($level === Scope::QUICK) {
            return $usual || $payload === '50x50';
        }
        // A part: what most sites have. Ten at once only where all is on one machine.
        $here = $subject->connection === Cell::PROCESS || $subject->connection === Cell::SOCKET;

        return $payload === '50x50'
            ? $subject->serializer !== 'msgpack' && ($concurrency === 1 ? true : $here && $subject->serializer !== 'php')
            : $usual && ($concurrency === 1 || ($here && $payload === 'short'));
    }

    private static function cell(Subject $subject, string $payload, string $operation, int $concurrency): Cell
    {
        return new Cell(self::NAME, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, $payload, $operation, \max(1, $concurrency));
    }

    /**
     * @param array<string, Subject> $subjects
     *
     * @return list<ProcessTask>
     */
    private static function pairs(array $subjects): array
    {
        $tasks = [];
        $pair = static function (string $of, string $to, string $payload, string $operation, int $operations, Pair $pair) use ($subjects, &$tasks): void {
            if (isset($subjects[$of], $subjects[$to])) {
                $tasks[] = new ProcessTask(
                    \implode('/', [self::NAME, $pair->kind, $of, $to, $payload, $operation]),
                    [new Side(self::cell($subjects[$of], $payload, $operation, 1), $subjects[$of]), new Side(self::cell($subjects[$to], $payload, $operation, 1), $subjects[$to])],
                    Effort::ofPair($operations),
                    1,
                    $pair,
                );
            }
        };
        foreach (self::PROMISES as [$of, $to, $payload, $operation, $limit, $operations]) {
            $pair($of, $to, $payload, $operation, $operations, new Pair("$of against $to: $operation, $payload", $limit));
        }
        foreach (self::SAME as [$subject, $payload, $operation, $operations]) {
            $pair($subject, $subject, $payload, $operation, $operations, new Pair("$subject against itself: $operation, $payload", null, Ratio::NOISE));
        }

        return $tasks;
    }
}
