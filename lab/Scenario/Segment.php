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
use Larder\Lab\Run\Machine;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\IncludeDriver;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Subject\SegmentDriver;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\Keys;
use Larder\Lab\Worker\ProcessTask;

/**
 * The segment beside what else keeps values in this machine's memory: APCu, a file that OPcache has compiled (by key, and
 * the include alone), an array. What Larder's requests cost once is borne by 1, by 10 and by 175 keys.
 *
 * A task is one kind of value of one subject: a process that has read more than its share of a segment in place copies
 * from then on, and what one kind has read must not be another's.
 */
final readonly class Segment extends Scenario
{
    public const NAME = 'segment';

    private const BASE = 'apcu:process:php';

    /** Processes that get at once. */
    private const AT_ONCE = [1, 2, 4];

    /** subject, base, payload, operation, and what the first may take of the second's time at most */
    private const PROMISES = [
        ['segment:process:none', 'apcu:process:php', '50x50', 'read', 1 / 1_000],
        ['segment:process:none', 'include:process:none', '50x50', 'read', 1.0],
        ['segment:process:none', 'apcu:process:php', 'short', 'read', 1 / 2],
        ['segment:process:none', 'apcu:process:php', '50x50', 'write', 1.0],
        ['segment:process:none', 'apcu:process:php', 'short', 'write', 1.0],
    ];

    private const SAME = [
        ['segment:process:none', 'short', 'read'],
        ['segment:process:none', 'short', 'write'],
        ['apcu:process:php', '50x50', 'read'],
    ];

    /** Keys of a request, of Larder's. */
    private const REQUESTS = [Cell::REQUEST, 1, 175];

    /** What a second process finds each round, for the noise of the tables: subject, payload, operation. */
    private const AGAIN = [['segment:process:none', 'short', 'read'], ['apcu:process:php', '50x50', 'read']];

    /** An array of one process is no other's, and OPcache never gives back what a file that was written again has left. */
    private const NOT_WRITTEN_BESIDE = ['lookup', ...self::ONLY_FILES];

    /** A file that is not there is asked for in another way than by include, and it does not count. */
    private const ONLY_FILES = ['opcache', 'include'];

    /**
     * What differs from the settings of `engines`: APCu is told how many keys there will be, as an administrator who tunes it would
     * do. Its default of 4,096 places makes chains of five of the 20,000 (apc.entries_hint).
     */
    private const INI = ['apc.entries_hint' => 32_768];

    /** Those of `engines` that are measured here too. */
    private const FROM = ['lookup:process:none', 'opcache:process:none', 'apcu:process:php', 'apcu:process:igbinary', 'larder-segment:process:igbinary'];

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'values in this machine\'s memory: one key, every cell of a table, thousands in no order, none. Also new values, counting, and gets a second of 1, 2 and 4 processes, with and without a writer',
            'The segment',
            'A PHP array is no cache that processes share, and stands here for comparison.',
            payloads: ['integers' => 'an array of 1,000 integers', 'objects' => 'an array with objects', 'integer' => 'an integer'],
            operations: [
                'walk' => 'get %s and read every cell', 'shuffled' => 'read %s, keys shuffled', 'missing' => 'read a missing key', 'increment' => 'increment %s',
                'gets' => 'gets a second, %s', 'gets-written' => 'gets a second beside a writer, %s',
            ],
        );
    }

    public function subjects(): array
    {
        $subjects = [];
        foreach (EngineSubjects::all() as $subject) {
            if (\in_array($subject->name, self::FROM, true)) {
                $subjects[] = self::like($subject, $subject->engine, $subject->driver);
            }
            if ($subject->engine === 'opcache') {
                $subjects[] = self::like($subject, 'include', IncludeDriver::class);
            }
        }

        return [self::segment(), ...$subjects];
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $part = $scope->level === Scope::PART;
        $quick = $scope->level !== Scope::EVERY;
        $tasks = $byName = [];
        foreach ($subjects as $subject) {
            $byName[$subject->name] = $subject;
            foreach (Payloads::MEMORY as $payload) {
                $operations = $part ? \array_intersect(self::operations($subject, $payload), $payload === 'short' || $payload === '50x50' ? ['read', 'walk', 'write'] : []) : self::operations($subject, $payload);
                foreach (isset($subject->parameters['begins']) ? self::REQUESTS : [Cell::REQUEST] as $request) {
                    $sides = \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, $payload, $operation, request: $request), \array_values($operations));
                    if ($sides === []) {
                        continue;
                    }
                    $tasks[] = $task = new ProcessTask(self::NAME . "/$subject->name/$payload/$request", $sides, $quick ? Effort::quick() : Effort::full());
                    foreach (self::AGAIN as [$name, $ofPayload, $operation]) {
                        \array_push($tasks, ...$name === $subject->name && $ofPayload === $payload ? Again::of($task, $payload, $operation) : []);
                    }
                }
            }
            if (!$part && !\in_array($subject->engine, self::ONLY_FILES, true)) {
                $tasks[] = new ProcessTask(self::NAME . "/$subject->name/integer", [Side::of(self::NAME, $subject, 'integer', 'increment')], $quick ? Effort::quick() : Effort::full());
            }
            // What Larder does with a set of two at once is decided by its table of conflicts: there is no key that all write.
            foreach ($part || ($subject->parameters['tier'] ?? '') !== '' ? [] : self::AT_ONCE as $processes) {
                $tasks[] = new ProcessTask(
                    self::NAME . "/$subject->name/gets/$processes",
                    \array_map(
                        static fn(string $operation): Side => Side::of(self::NAME, $subject, 'short', $operation, $processes, Cell::PER_SECOND),
                        \in_array($subject->engine, self::NOT_WRITTEN_BESIDE, true) ? ['gets'] : ['gets', 'gets-written'],
                    ),
                    // A scheduler's turn is some milliseconds: the window has many.
                    new Effort(1, 1.0, $quick ? 100.0 : 250.0),
                    $processes,
                );
            }
        }

        return [...$tasks, ...self::pairs($byName)];
    }

    /** APCu as it comes; what all processes together do in a second, with one alone. */
    public function base(Cell $cell): ?string
    {
        if ($cell->unit === Cell::PER_SECOND) {
            return $cell->concurrency === 1 ? null : \implode('/', [self::NAME, $cell->subject, $cell->payload, $cell->operation, 1]);
        }

        return $cell->subject === self::BASE ? null : $cell->idOf(self::BASE);
    }

    /** @return list<string> */
    private static function operations(Subject $subject, string $payload): array
    {
        $operations = ['shuffled'];
        if (($subject->parameters['tier'] ?? '') === '') {
            // The second get of a key in a request is not the near tier's.
            $operations[] = 'read';
            if ($payload === '50x50') {
                // What is not copied by a get is only brought into the processor when it is looked at.
                $operations[] = 'walk';
            }
        }
        if ($payload === 'short' && !\in_array($subject->engine, self::ONLY_FILES, true)) {
            $operations[] = 'missing';
        }
        // Last, for what was written is looked at, and a request may read only so much of a segment in place.
        $operations[] = 'write';

        return $operations;
    }

    /**
     * @param array<string, Subject> $subjects
     *
     * @return list<ProcessTask>
     */
    private static function pairs(array $subjects): array
    {
        $tasks = [];
        $pair = static function (string $of, string $to, string $payload, string $operation, Pair $pair) use ($subjects, &$tasks): void {
            if (isset($subjects[$of], $subjects[$to])) {
                $side = static fn(Subject $subject): Side => Side::of(self::NAME, $subject, $payload, $operation);
                $tasks[] = ProcessTask::inTurn($side($subjects[$of]), $side($subjects[$to]), Effort::OPERATIONS, $pair);
            }
        };
        foreach (self::PROMISES as [$of, $to, $payload, $operation, $limit]) {
            $pair($of, $to, $payload, $operation, new Pair("$of against $to: $operation, $payload", $limit));
        }
        foreach (self::SAME as [$subject, $payload, $operation]) {
            $pair($subject, $subject, $payload, $operation, new Pair("$subject against itself: $operation, $payload", null, Ratio::NOISE));
        }

        return $tasks;
    }

    public function remarks(array $results): array
    {
        $counts = [];
        foreach (Keys::SHUFFLED as $payload => $count) {
            $counts[] = \sprintf('%s %s', $payload, \number_format($count));
        }

        return [
            \sprintf('Read shuffled: %s keys, each once, in random order. All of them are read and compared before and after.', \implode(', ', $counts)),
            \sprintf('Gets a second: of 1,000 keys with a short string, by 1, 2 and 4 processes together on %s cores.', (string) (Machine::facts()['cores'] ?? '?')),
            'The writer beside them writes as fast as it can, and takes its share of the cores.',
        ];
    }

    /** @param class-string $driver */
    private static function like(Subject $subject, string $engine, string $driver): Subject
    {
        return $subject->with(
            name: "$engine:$subject->connection:$subject->serializer",
            engine: $engine,
            driver: $driver,
            parameters: ['work' => Keys::MEMORY] + $subject->parameters,
            ini: self::INI + $subject->ini,
        );
    }

    private static function segment(): Subject
    {
        return new Subject(
            'segment:process:none',
            'segment',
            Cell::PROCESS,
            'none',
            'none',
            [LarderExtension::need()],
            SegmentDriver::class,
            ['work' => Keys::MEMORY, 'shared' => 1, 'serializer' => 'none'],
            null,
            LarderExtension::ini() + self::INI + EngineSubjects::ini(),
        );
    }
}
