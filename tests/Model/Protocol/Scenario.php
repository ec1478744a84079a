<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Protocol;

use Larder\Tests\Model\Copy;
use Larder\Tests\Model\Explorer;
use Larder\Tests\Model\Machine;
use Larder\Tests\Model\Program;
use Larder\Tests\Model\Violation;

/** Some requests at the same time, and what must be so after them. */
final class Scenario
{
    /**
     * @param list<\Closure(object): void> $requests named by their keys
     * @param list<int>                    $servers  of each request, 0 or 1
     * @param string                       $near     apcu, store or none
     * @param bool                         $cached   something is in the cache before
     * @param list<\Closure(): void>       $events   what else happens meanwhile: Requests::events()
     * @param bool                         $fails    the truth tier may be away
     * @param bool                         $isLocal  the truth tier is an engine in this process (Store\ReadsPosition)
     */
    public function __construct(
        private readonly array $requests,
        private readonly array $servers,
        private readonly string $near = 'apcu',
        private readonly bool $cached = false,
        private readonly int $kills = 0,
        private readonly bool $fine = false,
        private readonly bool $forgets = false,
        private readonly ?int $computations = null,
        private readonly int $most = 2_000_000,
        private readonly array $events = [],
        private readonly bool $fails = false,
        private readonly bool $isLocal = false,
    ) {}

    /**
     * @return int states that were looked at
     *
     * @throws Violation
     */
    public function check(Copy $copy): int
    {
        $programs = $closings = [];
        foreach ($this->requests as $i => $request) {
            $programs[] = $this->program($copy, $i, $this->servers[$i], 'request', $request);
        }
        $servers = $this->servers;
        foreach ($this->events as $event) {
            $servers[] = Site::NOWHERE;
            $programs[] = new Program(\count($programs) . ' event', $event);
        }
        $keys = ['k', 'b'];
        // The next request on each server; one after all bounded lives, also if they are renewed meanwhile; and one after the
        // intents of the dead.
        $later = [[0, 0], [1, 0], [0, 4_001], [1, 4_001], ...($this->kills > 0 ? [[0, 61_000]] : [])];
        foreach ($later as $i => [$server, $milliseconds]) {
            $closings[] = $this->program($copy, \count($programs) + $i, $server, 'next', static function (object $request) use ($milliseconds, $keys): void {
                $request->check($milliseconds > 0, ...$keys);
            }, $milliseconds);
        }
        $servers = [...$servers, ...\array_column($later, 0)];
        foreach ($this->fails ? [[0, 1], [1, 0]] : [] as [$first, $then]) {
            $closings[] = $this->after($copy, \count($servers), $first, $then, $keys);
            $servers[] = $first;
        }
        $servers = [...$servers, 0, 1];
        $shelves = [];
        foreach (['truth', 'near0', 'near1'] as $name) {
            $shelves[$name] = $copy->make('Tests\Model\Inside\Shelf');
        }
        $site = new Site($servers, \count($programs), $shelves, $this->fine, $this->computations, $this->fails);
        foreach ($this->cached ? [0, 1] : [] as $server) {
            $number = \count($servers) - 2 + $server;
            Explorer::alone($site, $this->program($copy, $number, $server, 'before', static function (object $request): void {
                $request->get('k') ?? $request->fill('k', 0, ['t']);
                $request->get('b') ?? $request->fill('b', 0);
            }), $number);
        }
        $explorer = new Explorer($programs, $closings, $this->kills, $this->most);
        $explorer->explore($site);

        return $explorer->states;
    }

    /**
     * A request on one server, so that it applies what is pending there, and then one on the other.
     *
     * @param list<string> $keys
     */
    private function after(Copy $copy, int $number, int $first, int $then, array $keys): Program
    {
        return new Program("$number next", function () use ($copy, $number, $first, $then, $keys): void {
            $this->request($copy, $number, $first)->end();
            Machine::step('moves', $then);
            $request = $this->request($copy, $number + 1, $then);
            $request->check(false, ...$keys);
            $request->end();
        });
    }

    private function request(Copy $copy, int $number, int $server): object
    {
        return $copy->make('Tests\Model\Inside\Application', $number, $server, $this->near, false, $this->forgets, $this->isLocal);
    }

    /** @param \Closure(object): void $code */
    private function program(Copy $copy, int $number, int $server, string $name, \Closure $code, int $later = 0): Program
    {
        return new Program("$number $name", function () use ($copy, $number, $server, $code, $later): void {
            if ($later > 0) {
                Machine::step('wait', $later);
            }
            $request = $this->request($copy, $number, $server);
            $code($request);
            $request->end();
        });
    }
}
