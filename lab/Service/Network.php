<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * A server behind a network of 0.5 ms round trip and 100 Mbit/s: a process passes everything on with such a delay and
 * rate (Proxy), both ends on the loopback.
 */
final class Network implements Service
{
    /** Of a packet, in each direction. Nanoseconds; half the round trip. */
    public const DELAY = 250_000;

    /** In each direction, shared by all connections. Bits a second. */
    public const RATE = 100_000_000;

    private ?Program $proxy = null;
    private ?Directory $home = null;
    private int $port = 0;

    /** @param Directory $directory the lab's; the proxy gets one of its own in it */
    public function __construct(private readonly Directory $directory, public readonly Service $server) {}

    public function start(): void
    {
        if ($this->isAlive()) {
            return;
        }
        $this->stop();
        $this->server->start();
        ['host' => $host, 'port' => $port] = $this->server->address() + ['host' => '', 'port' => 0];
        $home = $this->home = $this->directory->sub('proxy');
        $file = $home->file('port');
        // Without php.ini: whatever extensions it loads, a debugger among them, would only cost time here.
        $this->proxy = $proxy = new Program('the delaying proxy', [\PHP_BINARY, '-n', __DIR__ . '/proxy.php', "tcp://$host:$port", (string) self::DELAY, (string) self::RATE, $file], $home->path);
        try {
            $proxy->start();
            $proxy->await(static fn(): bool => \file_exists($file));
        } catch (ServiceFailure $failure) {
            $this->stop();

            throw $failure;
        }
        $this->port = (int) \file_get_contents($file);
    }

    public function stop(): void
    {
        $this->server->stop();
        if ($this->directory->isOwned()) {
            $this->proxy?->stop();
            $this->proxy = null;
            $this->home?->remove();
        }
    }

    public function isAlive(): bool
    {
        return $this->proxy !== null && $this->proxy->isAlive() && $this->server->isAlive();
    }

    public function pids(): array
    {
        return [...$this->server->pids(), ...$this->proxy === null ? [] : [$this->proxy->pid()]];
    }

    public function address(): array
    {
        return $this->port > 0 ? ['host' => '127.0.0.1', 'port' => $this->port] : throw new \LogicException('A network has no address before its start.');
    }

    public function version(): string
    {
        return \sprintf('Network %s ms round trip, %d Mbit/s, by a delaying proxy on the loopback', 2 * self::DELAY / 1e6, self::RATE / 1e6);
    }

    public function lastWords(): string
    {
        return $this->server->lastWords() . $this->proxy?->lastWords();
    }
}
