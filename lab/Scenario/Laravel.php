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
use Larder\Lab\Web\LaravelSite;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Response;

/** One application of Laravel's behind nginx and php-fpm, over the framework's own cache stores and over Larder. */
final readonly class Laravel extends Scenario
{
    public const NAME = 'laravel';

    /** The store of a new application. */
    private const BASE = 'laravel-database:process';

    private const BESIDE = 'laravel-file:process';

    private const PAYLOADS = ['read' => 'a request that reads 20 keys', 'write' => 'a request that reads 20 keys and stores one', 'limit' => 'a request that reads 20 keys behind the rate limiter'];
    private const OPERATIONS = ['wrk' => '%s', 'p50' => '%s: median latency', 'p99' => '%s: p99 of the latency', 'cpu' => '%s: processor time'];
    private const AT_ONCE = 10;
    private const SECONDS = 3.0;

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            "one application of Laravel's over the framework's cache stores and over Larder, asked for by wrk with 10 connections: requests a second, latency, processor time",
            'An application of Laravel\'s',
            'All code is in OPcache; the configuration is not cached. The database is SQLite with a write-ahead log, immediate transactions and a time-out of five seconds: as a new application has it, requests that write at once fail. Nobody asks it for the rate limiter: with PHP before 8.4 the framework begins no immediate transaction there, and requests fail ("database is locked"). Processor time is that of nginx, php-fpm and the server that is asked.',
            first: 'write/wrk',
            sideBySide: true,
            payloads: self::PAYLOADS,
            operations: self::OPERATIONS,
            columns: ['wrk' => 'a request', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::laravel();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $expected = LaravelSite::checksum();
        $check = static fn(Response $answer): ?string => match (true) {
            $answer->status !== 200 => "its status is $answer->status: " . \substr($answer->body, 0, 200),
            $answer->body !== $expected => 'its body is "' . \substr($answer->body, 0, 200) . '"',
            default => null,
        };
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach (\array_keys(self::PAYLOADS) as $payload) {
                if ($payload === 'limit' && $subject->name === self::BASE) {
                    continue;
                }
                $sides = \array_map(static fn(string $operation): Side => Side::of(self::NAME, $subject, $payload, $operation, self::AT_ONCE), \array_keys(self::OPERATIONS));
                $tasks[] = $task = new LoadTask($this->stand, self::NAME . "/$subject->name/$payload", $sides, 'wrk', "/$payload", false, $check, 0, $scope->level === Scope::EVERY ? self::SECONDS : 1.0);
                if ($subject->name === self::BASE && $payload === 'read') {
                    \array_push($tasks, ...Again::of($task, $payload, 'wrk'));
                }
            }
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        $base = $cell->payload === 'limit' ? self::BESIDE : self::BASE;

        return $cell->subject === $base ? null : $cell->idOf($base);
    }
}
