<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Script;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Response;

/** One short value from each cache in a script behind nginx and php-fpm, asked for by hey. */
final readonly class Fpm extends Scenario
{
    public const NAME = 'fpm';

    private const PAYLOAD = 'value';
    private const AT_ONCE = [1, 50];

    /** As published. */
    private const REQUESTS = 10_000;

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'a script behind nginx and php-fpm that reads one short value: requests a second with 1 and 50 connections, latency, processor time',
            'A script behind nginx and php-fpm',
            first: self::PAYLOAD . '/hey',
            sideBySide: true,
            payloads: [self::PAYLOAD => 'a request that reads one value'],
            operations: ['hey' => '%s', 'latency' => '%s: latency', 'cpu' => '%s: processor time'],
            columns: ['hey' => 'a request', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::fpm();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $requests = $scope->level === Scope::EVERY ? self::REQUESTS : \intdiv(self::REQUESTS, 5);
        $tasks = [];
        foreach ($subjects as $subject) {
            $sides = [];
            foreach (self::AT_ONCE as $atOnce) {
                foreach (['hey', 'latency', 'cpu'] as $operation) {
                    $sides[] = Side::of(self::NAME, $subject, self::PAYLOAD, $operation, $atOnce);
                }
            }
            $check = static fn(Response $answer): ?string => match (true) {
                $answer->status !== 200 => "its status is $answer->status",
                $answer->body !== ($subject->engine === WebSubjects::EMPTY ? '' : Script::VALUE) => 'its body is "' . \substr($answer->body, 0, 200) . '"',
                default => null,
            };
            $task = new LoadTask($this->stand, self::NAME . "/$subject->name", $sides, 'hey', '/', false, $check, $requests, 0.0);
            $tasks[] = $task;
            if ($subject->engine === WebSubjects::EMPTY) {
                \array_push($tasks, ...Again::of($task, self::PAYLOAD, 'hey'));
            }
        }

        return $tasks;
    }

    /** The empty script. */
    public function base(Cell $cell): ?string
    {
        return $cell->engine === WebSubjects::EMPTY || $cell->operation === 'latency' ? null : $cell->idOf(WebSubjects::EMPTY . ':process');
    }
}
