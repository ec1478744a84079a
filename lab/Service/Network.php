<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** A server behind a network of 0.5 ms round trip and 100 Mbit/s. */
final class Network implements Service
{
    /** @var ?array{host: string, port: int} */
    private ?array $address = null;

    public function __construct(public readonly Server $server, private readonly ProxyLink $link) {}

    public function start(): void
    {
        if ($this->isAlive()) {
            return;
        }
        $this->stop();
        $this->server->start();
        try {
            $this->address = $this->link->reach($this->server->address());
        } catch (ServiceFailure $failure) {
            $this->stop();

            throw $failure;
        }
    }

    public function stop(): void
    {
        $this->server->stop();
        $this->link->close();
    }

    public function isAlive(): bool
    {
        return $this->server->isAlive() && $this->link->isOpen();
    }

    public function pids(): array
    {
        return [...$this->server->pids(), ...$this->link->pids()];
    }

    public function address(): array
    {
        return $this->address ?? throw new \LogicException('A network has no address before its start.');
    }

    public function version(): string
    {
        return \sprintf('Network %s ms round trip, %d Mbit/s, by a delaying proxy on the loopback', 2 * ProxyLink::DELAY / 1e6, ProxyLink::RATE / 1e6);
    }

    public function lastWords(): string
    {
        return $this->server->lastWords() . $this->link->lastWords();
    }
}
