<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Again;
use Larder\Lab\Subject\WebSubjects;
use Larder\Lab\Web\Application;
use Larder\Lab\Web\LoadTask;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Response;

/**
 * Whole pages: made by PHP each time, served by Larder's page cache over each of its stores, and by the web server's own
 * means. Beside them the least that PHP can do, a script that prints a constant with the same header.
 */
final readonly class Pages extends Scenario
{
    public const NAME = 'pages';

    /** As published. */
    private const REQUESTS = 1_000;

    private const AB = 10;

    /** Of wrk in a round: thousands of requests. */
    private const SECONDS = 0.5;

    /** Connections of wrk. */
    private const AT_ONCE = [10, 50, 200];


    /** Part of the constant's requests a second, and of the file's. */
    private const BESIDE_ECHO = 0.97;
    private const BESIDE_FILE = 0.98;

    public function __construct(private Stand $stand) {}

    public function presentation(): Presentation
    {
        $payloads = ['login' => 'the login page'];
        foreach (\array_keys(Application::PAGES) as $path) {
            $size = \substr($path, \strlen('/page-'));
            $payloads["page-$size"] = "a page of $size kB";
            $payloads["page-$size-gzip"] = "a page of $size kB, gzip";
        }

        return new Presentation(
            self::NAME,
            'pages of 100, 35 and 15 kB and a login page behind nginx: requests a second with 10, 50 and 200 connections, latency, processor time',
            'Whole pages',
            first: 'page-35/wrk',
            sideBySide: true,
            payloads: $payloads,
            operations: [
                'ab' => '%s, by ab -k', 'wrk' => '%s', 'cpu' => '%s: processor time',
                'p50' => '%s: median latency', 'p95' => '%s: p95 of the latency', 'p99' => '%s: p99 of the latency', 'max' => '%s: longest latency',
            ],
            columns: ['ab' => 'ab', 'wrk' => 'a request', 'cpu' => 'CPU'],
        );
    }

    public function subjects(): array
    {
        return WebSubjects::pages();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $paths = match ($scope->level) {
            Scope::PART => ['/page-35'],
            Scope::QUICK => ['/page-35', Application::LOGIN],
            default => [...\array_keys(Application::PAGES), Application::LOGIN],
        };
        $tasks = [];
        foreach ($subjects as $subject) {
            foreach ($paths as $path) {
                $isLogin = $path === Application::LOGIN;
                if ($isLogin && !isset($subject->parameters['script']) || $isLogin && $subject->engine === WebSubjects::ECHO) {
                    // Neither a file nor a constant makes one.
                    continue;
                }
                foreach ($isLogin || $scope->level === Scope::PART ? [''] : ['', '-gzip'] as $coding) {
                    $payload = \substr($path, 1) . $coding;
                    $sides = self::sides($subject, $payload, $scope->level === Scope::EVERY ? self::AT_ONCE : \array_slice(self::AT_ONCE, 0, 2));
                    $task = new LoadTask($this->stand, self::NAME . "/$subject->name/$payload", $sides, 'wrk', $path, $coding !== '', self::check($subject, $path, $coding !== ''), self::REQUESTS, self::SECONDS);
                    $tasks[] = $task;
                    if ($payload === 'page-35' && $subject->engine === WebSubjects::ECHO) {
                        \array_push($tasks, ...Again::of($task, $payload, 'wrk'));
                    }
                }
            }
        }

        return $tasks;
    }

    /** The constant; of what it has not, PHP without a cache. */
    public function base(Cell $cell): ?string
    {
        $base = ($cell->payload === 'login' ? WebSubjects::APPLICATION : WebSubjects::ECHO) . ':process';

        return $cell->subject === $base ? null : $cell->idOf($base);
    }

    /** Larder's fastest way in PHP beside the constant, and its files beside the web server's own. */
    public function promises(array $cells): array
    {
        $promises = [];
        foreach ($cells as $cell) {
            if ($cell->scenario !== self::NAME || $cell->operation !== 'wrk' || $cell->payload === 'login') {
                continue;
            }
            $file = [WebSubjects::NGINX => WebSubjects::FILE, WebSubjects::APACHE => WebSubjects::APACHE_FILE][$cell->engine] ?? null;
            if ($file !== null) {
                $promises[] = new Promise($cell->id(), $cell->idOf("$file:process"), 1 / self::BESIDE_FILE, "a page by the web server beside its own file: $cell->payload, $cell->concurrency at once");
            }
            if ($cell->engine === WebSubjects::FAST) {
                $promises[] = new Promise($cell->id(), (string) $this->base($cell), 1 / self::BESIDE_ECHO, "a page by Larder beside a constant: $cell->payload, $cell->concurrency at once");
            }
        }

        return $promises;
    }

    /** @return \Closure(Response): ?string */
    private static function check(Subject $subject, string $path, bool $isCoded): \Closure
    {
        return static function (Response $answer) use ($subject, $path, $isCoded): ?string {
            if ($answer->status !== 200) {
                return "its status is $answer->status";
            }
            if ($path === Application::LOGIN) {
                return $answer->header('set-cookie') === '' || !\str_contains($answer->body, $token = \substr($answer->header('set-cookie'), 6, 32)) || $token === '' ? 'it is another visitor\'s login page' : null;
            }
            if ($answer->header('content-encoding') !== ($isCoded ? 'gzip' : '')) {
                return 'its coding is "' . $answer->header('content-encoding') . '"';
            }
            $body = $isCoded ? \gzdecode($answer->body) : $answer->body;
            if ($body !== Application::page(Application::PAGES[$path])) {
                return 'its body is another one, of ' . \strlen((string) $body) . ' bytes';
            }
            $isCached = match (true) {
                $subject->isLarder() => \str_contains($answer->header('cache-status'), '; hit'),
                isset($subject->parameters['server'], $subject->parameters['script']) => \str_starts_with($answer->header('x-cache'), 'HIT'),
                default => true,
            };

            return $isCached ? null : 'it does not come from the cache (' . $answer->header('cache-status') . $answer->header('x-cache') . ')';
        };
    }

    /**
     * @param list<int<1, max>> $atOnce
     *
     * @return non-empty-list<Side>
     */
    private static function sides(Subject $subject, string $payload, array $atOnce): array
    {
        $sides = [Side::of(self::NAME, $subject, $payload, 'ab', self::AB)];
        foreach ($atOnce as $connections) {
            foreach (['wrk', 'p50', 'p95', 'p99', 'max', 'cpu'] as $operation) {
                $sides[] = Side::of(self::NAME, $subject, $payload, $operation, $connections);
            }
        }

        return $sides;
    }
}
