<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WordPressSubjects;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\Stage;
use Larder\Lab\WordPress\TransientsTask;

/** Inside WordPress, in php-fpm: 10,000 transients are set, then read, then deleted, without this request's own copies. */
final readonly class Transients extends Scenario
{
    public const NAME = 'transients';

    private const COUNT = 10_000;
    /** Where it shall not last long, and over a network, where each takes milliseconds. */
    private const FEW = 1_000;

    /** An array of 5 kB on average, as in the loop that others have published; and a string of some 35 bytes. */
    private const PAYLOADS = ['published', 'short'];

    private const OPERATIONS = ['write' => 'set', 'read' => 'get', 'delete' => 'delete'];

    public function __construct(private Choice $choice, private Stage $stage) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            '10,000 transients (over a network 1,000) set, read and deleted inside WordPress, by each object cache',
            'WordPress: transients',
            first: 'published/read',
            sideBySide: true,
            payloads: ['published' => 'a transient as published', 'short' => 'a short transient'],
            operations: ['delete' => 'delete %s'],
        );
    }

    public function subjects(): array
    {
        return WordPressSubjects::all($this->choice);
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach (self::PAYLOADS as $payload) {
                $sides = \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, $payload, $operation), \array_keys(self::OPERATIONS));
                $count = $scope->level === Scope::EVERY && $subject->connection !== Cell::NETWORK ? self::COUNT : self::FEW;
                $tasks[] = $task = new TransientsTask($this->stage, self::NAME . "/$subject->name/$payload", $sides, $count);
                \array_push($tasks, ...$subject->name === WordPressSubjects::DEFAULT ? Again::of($task, $payload, 'write') : []);
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === WordPressSubjects::NONE ? null : $cell->idOf(WordPressSubjects::NONE);
    }

    public function promises(array $cells): array
    {
        return WordPressSubjects::promises($this->subjects(), \array_values(\array_filter($cells, static fn(Cell $cell): bool => $cell->scenario === self::NAME)));
    }

    public function remarks(array $results): array
    {
        return ['Transients: each round is one request, to workers of php-fpm that have just been started. They expire in an hour. Every get is compared, strictly, inside the timed loop; each deleted transient is asked for again after it. "published" is [name, i, i letters], i being from 0 to 10,000: 5 kB on average. Base: WordPress without a drop-in, which keeps them in its database.'];
    }
}
