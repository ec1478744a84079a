<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

use Larder\Driver\Memcached\Servers;
use Larder\Store\Memcached\ServerClock;
use Larder\Tests\Model\Machine;

/**
 * In the place of Driver\Memcached\Batch: one server, on which other clients' commands may come between any two of
 * ours. (memcached executes a connection's commands in their order, but those of many connections at a time.)
 */
final class Batch
{
    public const KEYS = 400;

    /** @var array<int, string> */
    public array $replies = [];

    /** @var array<string, array{string, string}> */
    public array $items = [];

    /** @var ?array{string, int, int} */
    public ?array $time = null;

    /** @var array<string, string> */
    public array $stats = [];

    /** @var list<array{string, list<mixed>, int}> */
    private array $commands = [];
    private int $number = 0;

    public function __construct(Servers $servers) {}

    /** @param list<string> $keys */
    public function gets(int $server, array $keys): void
    {
        if ($keys !== []) {
            $this->commands[] = ['gets', [$keys], -1];
        }
    }

    /** @param list<string> $keys */
    public function records(array $keys): void
    {
        $this->gets(0, $keys);
    }

    /** Every process knows what time it is. */
    public function time(int $server, string $key): void
    {
        $now = Machine::hrtime(true);
        $this->time = ['HD t' . (ServerClock::HEAD - \intdiv($now, 1_000_000_000)), $now, $now];
    }

    public function stats(int $server): void
    {
        $this->stats = ['time' => (string) \intdiv(Machine::hrtime(true), 1_000_000_000)];
    }

    public function store(int $server, string $verb, string $key, string $value, int $exptime, string $token = '', bool $repeats = false): int
    {
        return $this->command('store', [$verb, $key, $value, $token]);
    }

    /** This server has room. */
    public function stored(int $number): string
    {
        return $this->replies[$number];
    }

    public function increase(int $server, string $key, int $by): int
    {
        return $this->command('incr', [$key, $by]);
    }

    public function delete(int $server, string $key): int
    {
        return $this->command('delete', [$key]);
    }

    public function forget(int $server, string $key): void
    {
        $this->command('delete', [$key]);
    }

    public function then(): void {}

    public function run(): void
    {
        foreach ($this->commands as [$command, $arguments, $number]) {
            $reply = Machine::step($command, ...$arguments);
            if ($number >= 0) {
                $this->replies[$number] = \is_string($reply) ? $reply : '';
            } elseif (\is_array($reply)) {
                $this->items = $reply + $this->items;
            }
        }
        $this->commands = [];
    }

    /** @param list<mixed> $arguments */
    private function command(string $command, array $arguments): int
    {
        $this->commands[] = [$command, $arguments, $this->number];

        return $this->number++;
    }
}
