<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Subject\WebSubjects;

/** A request that adds one to a counter, as published: /cache/DRIVER behind nginx and php-fpm. All additions are counted. */
final readonly class Counters extends Endpoints
{
    public const NAME = 'counters';

    private const PAYLOAD = 'hit';

    public function presentation(): Presentation
    {
        return self::presented(
            self::NAME,
            'a script behind nginx and php-fpm that adds one to a counter, asked for by wrk with 20 connections: requests a second, latency, processor time',
            'Counters over HTTP',
            'After each run the counter must hold what php-fpm has answered, by the web server\'s log; a subject that holds another number is out.',
            [self::PAYLOAD => 'a request that counts'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::counters();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            \array_push($tasks, ...$this->load($scope, self::NAME, $subject, self::PAYLOAD, "/cache/$subject->engine"));
        }

        return $tasks;
    }

    /** Larder's counters are ahead of the plain ones. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            if ($cell->scenario === self::NAME && $cell->operation === 'wrk' && \str_starts_with($cell->engine, 'larder-')) {
                foreach (['memcached', 'redis', 'predis'] as $other) {
                    $promises[] = new Promise($cell->id(), $cell->idOf("$other:process"), 1.0, "a counter: $cell->engine beside $other");
                }
            }
        }

        return $promises;
    }
}
