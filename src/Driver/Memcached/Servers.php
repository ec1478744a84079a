<?php

declare(strict_types=1);

namespace Larder\Driver\Memcached;

use Larder\System\Failure;

/**
 * The servers of one store. Chooses the server of each key.
 *
 * One server holds the whole journal; the records are spread. No key moves when a server fails: one that moved to another
 * server and back would bring an old record with it.
 */
final class Servers
{
    public readonly int $count;

    /** The server that holds the journal. */
    public readonly int $log;

    /** hrtime() at which the call ends that began last: see begin(). */
    private int $end = 0;

    /** Nanoseconds. */
    private readonly int $timeout;

    /** @var list<string> */
    private readonly array $names;

    /** @var non-empty-list<MemcachedConnection> */
    private readonly array $connections;

    /**
     * @param list<array{string, int}> $servers host and port; the path of a unix socket has port 0
     * @param float                    $timeout seconds for a call
     */
    public function __construct(array $servers, string $name, float $timeout)
    {
        $names = $connections = [];
        foreach ($servers as [$host, $port]) {
            $names[] = $host . ':' . $port;
            $connections[] = new MemcachedConnection($host, $port, $timeout);
        }
        if ($connections === []) {
            throw Failure::because('memcached', 'no server is named; write memcached://host:port');
        }
        $this->timeout = (int) ($timeout * 1e9);
        $this->names = $names;
        $this->connections = $connections;
        $this->count = \count($names);
        $this->log = $this->of($name);
    }

    /** Begins a call: all its round trips together have one time-out. */
    public function begin(): void
    {
        $this->end = \hrtime(true) + $this->timeout;
    }

    /** hrtime() at which a round trip that begins now must have ended. */
    public function end(): int
    {
        $now = \hrtime(true);

        return $this->end > $now ? $this->end : $now + $this->timeout;
    }

    /**
     * The server of a record: the one with the highest hash of its name and the key (rendezvous hashing, Thaler and
     * Ravishankar 1998), so that adding a server moves only the keys that it gets.
     */
    public function of(string $key): int
    {
        $best = 0;
        if ($this->count > 1) {
            $highest = '';
            foreach ($this->names as $i => $name) {
                $hash = \hash('xxh64', $name . "\0" . $key);
                if (\strcmp($hash, $highest) > 0) {
                    $best = $i;
                    $highest = $hash;
                }
            }
        }

        return $best;
    }

    public function at(int $server): MemcachedConnection
    {
        return $this->connections[$server] ?? $this->connections[0];
    }

    /** A separate socket, for a command that occupies its socket. */
    public function another(int $server): MemcachedConnection
    {
        return clone $this->at($server);
    }

    public function drop(): void
    {
        foreach ($this->connections as $connection) {
            $connection->drop();
        }
    }
}
