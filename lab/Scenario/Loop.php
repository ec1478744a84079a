<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Again;
use Larder\Lab\Service\Cores;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/**
 * One script that gets one key 10,000 times over one connection, as it was published; the same with as many keys; and
 * with connect, get and close for each. The script is one request.
 */
final readonly class Loop extends Scenario
{
    public const NAME = 'loop';

    private const GETS = 10_000;

    /** Where it shall not last long. */
    private const FEW = 1_000;

    private const BASE = 'apcu:process';

    /**
     * Name => the subject of `engines` that it is made of, and the parameters in which it differs.
     *
     * The request tier lies over SQLite here, as in an application that says nothing else: with nothing below it,
     * the value would be gone with the connection, and connect, get and close would time a miss.
     */
    private const SUBJECTS = [
        'redis:socket' => ['redis:socket:none', []],
        'redis:tcp' => ['redis:tcp:none', []],
        'predis:socket' => ['predis:socket:none', []],
        'predis:tcp' => ['predis:tcp:none', []],
        'memcached:socket' => ['memcached:socket:php', []],
        'memcached:tcp' => ['memcached:tcp:php', []],
        'apcu:process' => ['apcu:process:php', []],
        'files:process' => ['files:process:php', ['raw' => 1]],
        'larder-request:process' => ['larder-sqlite:process:php', ['tier' => 'request']],
        'larder-apcu:process' => ['larder-apcu:process:php', []],
        'larder-segment:process' => ['larder-segment:process:php', []],
        'larder-sqlite:process' => ['larder-sqlite:process:php', []],
        'larder-redis:socket' => ['larder-redis:socket:php', []],
    ];

    public function __construct(private Cores $cores = new Cores()) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            '10,000 gets in one script over one connection, of one key and of as many; the same with connect, get and close for each',
            'The loop',
            first: 'short/read',
            sideBySide: true,
            operations: ['cycle' => 'connect, get and close, %s', 'repeat' => 'read %s, one key again and again'],
            columns: ['cycle' => 'connect, get, close', 'repeat' => 'read one key'],
        );
    }

    public function subjects(): array
    {
        $engines = \array_column(EngineSubjects::all(), null, 'name');
        $subjects = [];
        foreach (self::SUBJECTS as $name => [$engine, $parameters]) {
            $subjects[] = self::plain($name, $engines[$engine], $parameters);
        }

        return $subjects;
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $gets = $scope->level === Scope::EVERY ? self::GETS : self::FEW;
        // The whole loop is one sample, as it was in what was published; a round is a script, which runs it once.
        $effort = Effort::script($gets);
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach ($this->cores->placements($subject) as $placement) {
                foreach (['repeat', 'read', 'cycle'] as $operation) {
                    if ($scope->level === Scope::PART && $operation === 'read') {
                        continue;
                    }
                    $side = Side::of(self::NAME, $subject, 'short', $operation, placement: $placement, request: $gets);
                    $tasks[] = $task = new ProcessTask($side->cell->id(), [$side], $effort);
                    if ($subject->name === self::BASE && $operation === 'repeat') {
                        \array_push($tasks, ...Again::of($task, 'short', $operation));
                    }
                }
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === self::BASE ? null : $cell->idOf(self::BASE) . "/$cell->request";
    }

    /** @param array<string, string|int> $different */
    private static function plain(string $name, Subject $of, array $different): Subject
    {
        $engine = \explode(':', $name)[0];
        if (isset($of->parameters['prefix'])) {
            // Not what `engines` has left in the same server.
            $different['prefix'] = "loop-$engine";
        }

        $plain = $of->engine === 'apcu' ? [] : ['serializer' => 'none'];

        return $of->with(name: $name, engine: $engine, serializer: 'none', parameters: $different + $plain + $of->parameters);
    }
}
