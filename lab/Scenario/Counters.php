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
use Larder\Lab\Web\Answer;
use Larder\Lab\Web\Audit;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;

/** A request that adds one to a counter, as published: /cache/DRIVER behind nginx and php-fpm. All additions are counted. */
final readonly class Counters implements Scenario, Promising
{
    public const NAME = 'counters';

    private const PAYLOAD = 'hit';

    /** As published: wrk -c20 -d10s -t10. Three rounds together have the ten seconds. */
    public const CONNECTIONS = 20;
    public const THREADS = 10;
    private const SECONDS = 10.0 / 3;

    public const OPERATIONS = ['wrk', 'p50', 'p95', 'p99', 'max', 'stdev', 'cpu'];

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'a script behind nginx and php-fpm that adds one to a counter, asked for by wrk with 20 connections: requests a second, latency, processor time',
            'Counters over HTTP',
            'After each run the counter must hold what php-fpm has answered, by the web server\'s log; a subject that holds another number is out.',
            first: self::PAYLOAD . '/wrk',
            sideBySide: true,
            payloads: [self::PAYLOAD => 'a request that counts'],
            operations: self::titles(),
            columns: ['wrk' => 'a request', 'stdev' => 'its standard deviation', 'cpu' => 'CPU'],
        );
    }

    /** @return array<string, string> */
    public static function titles(): array
    {
        return [
            'wrk' => '%s', 'cpu' => '%s: processor time', 'stdev' => '%s: standard deviation of the latency',
            'p50' => '%s: median latency', 'p95' => '%s: p95 of the latency', 'p99' => '%s: p99 of the latency', 'max' => '%s: longest latency',
        ];
    }

    public static function seconds(Scope $scope): float
    {
        return $scope->level === Scope::EVERY ? self::SECONDS : 1.0;
    }

    public function subjects(): array
    {
        return WebSubjects::counters();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            $path = "/cache/$subject->engine";
            $isFake = $subject->engine === WebSubjects::FAKE;
            $sides = \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, self::PAYLOAD, $operation, self::CONNECTIONS), self::OPERATIONS);
            $tasks[] = $task = new LoadTask($this->stand, self::NAME . "/$subject->name", $sides, 'wrk', $path, [], self::check(...), 0, self::seconds($scope), self::THREADS, $isFake ? null : new Audit($path, false));
            if ($isFake) {
                $tasks[] = new WithItself($task);
            }
        }

        return $tasks;
    }

    /** The script that counts nothing. */
    public function base(Cell $cell): ?string
    {
        return $cell->engine === WebSubjects::FAKE ? null : \str_replace("/$cell->subject/", '/' . WebSubjects::FAKE . ':process/', $cell->id());
    }

    /** Larder's counters are ahead of the plain ones. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            if ($cell->scenario === self::NAME && $cell->operation === 'wrk' && WebSubjects::isLarder($cell)) {
                foreach (['memcached', 'redis', 'predis'] as $other) {
                    $promises[] = new Promise($cell->id(), \str_replace("/$cell->subject/", "/$other:process/", $cell->id()), 1.0, "a counter: $cell->engine beside $other");
                }
            }
        }

        return $promises;
    }

    /** What is wrong with an answer. */
    public static function check(Answer $answer): ?string
    {
        return match (true) {
            $answer->status !== 200 => "its status is $answer->status: " . \substr($answer->body, 0, 200),
            \preg_match('/^[1-9]\d*$/D', $answer->body) !== 1 => 'it answers "' . \substr($answer->body, 0, 200) . '"',
            default => null,
        };
    }
}
