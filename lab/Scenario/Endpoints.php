<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Plan\Task;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\Audit;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Response;

/** A script behind nginx and php-fpm that changes something at each request, asked for by wrk; all changes are counted. */
abstract readonly class Endpoints extends Scenario
{
    /** As published: wrk -c20 -d10s -t10. Three rounds together have the ten seconds. */
    private const CONNECTIONS = 20;
    private const THREADS = 10;
    private const SECONDS = 10.0 / 3;

    private const OPERATIONS = [
        'wrk' => '%s', 'p50' => '%s: median latency', 'p95' => '%s: p95 of the latency', 'p99' => '%s: p99 of the latency', 'max' => '%s: longest latency',
        'stdev' => '%s: standard deviation of the latency', 'cpu' => '%s: processor time',
    ];

    private const COLUMNS = ['wrk' => 'a request', 'stdev' => 'its standard deviation', 'cpu' => 'CPU'];

    final public function __construct(private Stand $stand) {}

    /** The script that does nothing. */
    public function base(Cell $cell): ?string
    {
        return $cell->engine === WebSubjects::FAKE ? null : $cell->idOf(WebSubjects::FAKE . ':process');
    }

    /**
     * @param array<string, string> $payloads   as Presentation takes them, the first of its first picture
     * @param array<string, string> $operations besides those of wrk
     * @param array<string, string> $columns    likewise
     */
    final protected static function presented(string $name, string $about, string $title, string $remark, array $payloads, array $operations = [], array $columns = []): Presentation
    {
        return new Presentation($name, $about, $title, $remark, \array_key_first($payloads) . '/wrk', true, $payloads, self::OPERATIONS + $operations, $columns + self::COLUMNS);
    }

    /**
     * @param string $path       of the requests
     * @param bool   $isConsumed whether a consumer takes meanwhile what they make
     *
     * @return list<Task>
     */
    final protected function load(Scope $scope, string $name, Subject $subject, string $payload, string $path, bool $isConsumed = false): array
    {
        $isFake = $subject->engine === WebSubjects::FAKE;
        $sides = \array_map(static fn(string $operation): Side => Side::of($name, $subject, $payload, $operation, self::CONNECTIONS), \array_keys(self::OPERATIONS));
        $seconds = $scope->level === Scope::EVERY ? self::SECONDS : 1.0;
        $audit = $isFake ? null : new Audit($path, $isConsumed);
        $task = new LoadTask($this->stand, "$name/$subject->name/$payload", $sides, 'wrk', $path, false, self::check(...), 0, $seconds, self::THREADS, $audit);

        return $isFake && !$isConsumed ? [$task, ...Again::of($task, $payload, 'wrk')] : [$task];
    }

    private static function check(Response $answer): ?string
    {
        return match (true) {
            $answer->status !== 200 => "its status is $answer->status: " . \substr($answer->body, 0, 200),
            \preg_match('/^[1-9]\d*$/D', $answer->body) !== 1 => 'it answers "' . \substr($answer->body, 0, 200) . '"',
            default => null,
        };
    }
}
