<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Promising;
use Larder\Lab\Plan\Remarking;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\WithItself;
use Larder\Lab\Subject\WordPressSubjects;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\Stage;
use Larder\Lab\WordPress\TransientsTask;

/** Inside WordPress, in php-fpm: 10,000 transients are set, then read, then deleted, without this request's own copies. */
final readonly class Transients implements Scenario, Promising, Remarking
{
    public const NAME = 'transients';

    private const COUNT = 10_000;
    /** Where it shall not last long. */
    private const FEW = 1_000;

    private const OPERATIONS = ['write' => 'set', 'read' => 'get', 'delete' => 'delete'];

    /** Of Larder's stacks: those that need no server, each of which is to be before every other drop-in. */
    private const AHEAD = [WordPressSubjects::DEFAULT, WordPressSubjects::APCU, WordPressSubjects::SEGMENT];

    /** Microseconds aimed at on the machine on which others' drop-ins had been measured. */
    private const GOALS = [WordPressSubjects::APCU => [20.0, 3.5, 12.0], WordPressSubjects::SEGMENT => [9.0, 1.0, 1.2]];

    public function __construct(private Choice $choice, private Stage $stage) {}

    public function name(): string
    {
        return self::NAME;
    }

    public function about(): string
    {
        return '10,000 transients set, read and deleted inside WordPress, by each object cache';
    }

    public function subjects(): array
    {
        return WordPressSubjects::all($this->choice);
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            $sides = \array_map(static fn(string $operation): Side => new Side(self::cell($subject, $operation), $subject), \array_keys(self::OPERATIONS));
            $task = fn(int $count): TransientsTask => new TransientsTask($this->stage, self::NAME . "/$subject->name", $sides, $count);
            $tasks[] = $task($scope->level === Scope::EVERY ? self::COUNT : self::FEW);
            if ($subject->name === WordPressSubjects::DEFAULT) {
                $tasks[] = new WithItself($task(self::FEW));
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === WordPressSubjects::NONE ? null : self::id(WordPressSubjects::NONE, $cell->operation);
    }

    public function promises(array $cells): array
    {
        $there = \array_fill_keys(\array_map(static fn(Cell $cell): string => $cell->id(), $cells), true);
        $promises = [];
        foreach ($this->subjects() as $other) {
            foreach (WordPressSubjects::isDropIn($other) ? self::AHEAD : [] as $larder) {
                foreach (self::OPERATIONS as $operation => $name) {
                    if (isset($there[self::id($larder, $operation)], $there[self::id($other->name, $operation)])) {
                        $promises[] = new Promise(self::id($larder, $operation), self::id($other->name, $operation), 1.0, "$larder against $other->name: $name a transient");
                    }
                }
            }
        }

        return $promises;
    }

    public function remarks(array $results): array
    {
        $found = [];
        foreach ($results as $result) {
            $found[$result->cell->id()] = $result->summary->median;
        }
        $remarks = ['Transients: each round is one request, to workers of php-fpm that have just been started; they expire in an hour. Base: WordPress without a drop-in, which keeps them in its database.'];
        foreach (self::GOALS as $subject => $goals) {
            $parts = [];
            foreach (\array_keys(self::OPERATIONS) as $i => $operation) {
                $median = $found[self::id($subject, $operation)] ?? null;
                if ($median !== null) {
                    $parts[] = \sprintf('%s %.1f (%s)', self::OPERATIONS[$operation], $median, $goals[$i]);
                }
            }
            if ($parts !== []) {
                $remarks[] = "$subject, microseconds, and in brackets the goal, which is of another machine: " . \implode(', ', $parts) . '.';
            }
        }

        return $remarks;
    }

    private static function cell(Subject $subject, string $operation): Cell
    {
        return new Cell(self::NAME, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, 'transient', $operation);
    }

    private static function id(string $subject, string $operation): string
    {
        return \implode('/', [self::NAME, $subject, 'transient', $operation, 1]);
    }
}
