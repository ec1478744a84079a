<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Script;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Response;

/** What a whole request pays: a script behind nginx and php-fpm opens a cache and reads some warm keys one by one. */
final readonly class Requests extends Scenario
{
    public const NAME = 'requests';

    private const BASE = 'symfony-files:process';
    private const KEYS = [1, 30, 175];
    private const AT_ONCE = [1, 10];

    /** Each asks for at least so many; fewer of many keys. */
    private const REQUESTS = [1 => 4_000, 30 => 2_000, 175 => 1_000];

    /** The adapter of Symfony's over the same engine. */
    private const BESIDE = ['larder-sqlite' => 'symfony-pdo', 'larder-apcu' => 'symfony-apcu', 'larder-segment' => 'symfony-apcu', 'larder-redis' => 'symfony-redis'];

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        $payloads = [];
        foreach (self::KEYS as $keys) {
            $payloads["$keys keys"] = $keys === 1 ? 'a request that reads one key' : "a request that reads $keys keys one by one";
        }

        return new Presentation(
            self::NAME,
            "a whole request that opens a cache and reads 1, 30 or 175 keys, beside Symfony's and Laravel's caches: requests a second, processor time",
            "A request beside Symfony's and Laravel's caches",
            'All code is in OPcache, and each script finds its classes by the map that Composer makes for production. Processor time is that of nginx, php-fpm and the server that is asked. Laravel\'s stores stand without the framework around them.',
            first: '1 keys/cpu',
            sideBySide: true,
            payloads: $payloads,
            operations: ['hey' => '%s', 'latency' => '%s: latency', 'cpu' => '%s: processor time'],
            columns: ['hey' => 'a request', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::requests();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach (self::KEYS as $keys) {
                $sides = [];
                foreach (self::AT_ONCE as $atOnce) {
                    foreach (['hey', 'latency', 'cpu'] as $operation) {
                        $sides[] = Side::of(self::NAME, $subject, "$keys keys", $operation, $atOnce);
                    }
                }
                $expected = Script::checksum($keys);
                $check = static fn(Response $answer): ?string => match (true) {
                    $answer->status !== 200 => "its status is $answer->status",
                    $answer->body !== $expected => 'its body is "' . \substr($answer->body, 0, 200) . '"',
                    default => null,
                };
                $requests = $scope->level === Scope::EVERY ? self::REQUESTS[$keys] : \intdiv(self::REQUESTS[$keys], 5);
                $task = new LoadTask($this->stand, self::NAME . "/$subject->name/$keys", $sides, 'hey', "/?keys=$keys", false, $check, $requests, 0.0);
                $tasks[] = $task;
                if ($subject->name === self::BASE && $keys === 1) {
                    \array_push($tasks, ...Again::of($task, "$keys keys", 'cpu'));
                }
            }
        }

        return $tasks;
    }

    /** Symfony's cache in files, which it uses where nothing else is said. */
    public function base(Cell $cell): ?string
    {
        return $cell->subject === self::BASE || $cell->operation === 'latency' ? null : $cell->idOf(self::BASE);
    }

    /** Less processor time than Symfony's adapter over the same engine. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            $other = self::BESIDE[$cell->engine] ?? null;
            if ($cell->scenario === self::NAME && $cell->operation === 'cpu' && $other !== null) {
                $promises[] = new Promise($cell->id(), $cell->idOf("$other:process"), 1.0, "processor time of a request that reads $cell->payload, $cell->concurrency at once: $cell->engine beside $other");
            }
        }

        return $promises;
    }
}
