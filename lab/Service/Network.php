<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * A server behind a network of 0.5 ms round trip and 100 Mbit/s.
 *
 * Made by the first of its links that this machine lets it make.
 */
final class Network implements Service
{
    private ?Server $server = null;
    private ?Link $link = null;

    /** @var array{host: string, port: int} */
    private array $address = ['host' => '', 'port' => 0];

    /** @var list<string> why better links than this one could not be had */
    private array $obstacles = [];

    /**
     * @param non-empty-list<Link>     $links the best first
     * @param \Closure(Place): Server  $make
     */
    public function __construct(
        private readonly array $links,
        private readonly \Closure $make,
    ) {}

    public function start(): void
    {
        if ($this->isAlive()) {
            return;
        }
        $this->stop();
        $this->obstacles = [];
        foreach ($this->links as $i => $link) {
            try {
                $this->link = $link;
                $this->server = ($this->make)($link->open());
                $this->server->start();
                $this->address = $link->reach($this->server->address());

                return;
            } catch (ServiceFailure $failure) {
                $this->stop();
                if (!isset($this->links[$i + 1])) {
                    throw $failure;
                }
                $this->obstacles[] = \rtrim($failure->getMessage(), '.');
            }
        }
    }

    public function stop(): void
    {
        $this->server?->stop();
        $this->link?->close();
    }

    public function isAlive(): bool
    {
        return $this->server !== null && $this->link !== null && $this->server->isAlive() && $this->link->isOpen();
    }

    public function pids(): array
    {
        return [...$this->server?->pids() ?? [], ...$this->link?->pids() ?? []];
    }

    public function address(): array
    {
        return $this->address['port'] > 0 ? $this->address : throw new \LogicException('A network has no address before its start.');
    }

    public function version(): string
    {
        $about = $this->link === null ? '' : ', by ' . $this->link->about();
        $why = $this->obstacles === [] ? '' : ' (not by namespaces: ' . \implode('; ', $this->obstacles) . ')';

        return \sprintf('Network %s ms round trip, %d Mbit/s%s%s', 2 * Link::DELAY / 1e6, Link::RATE / 1e6, $about, $why);
    }

    public function prefix(): array
    {
        return $this->server?->prefix() ?? [];
    }

    public function lastWords(): string
    {
        return ($this->server?->lastWords() ?? '') . ($this->link?->lastWords() ?? '');
    }

    /** The one behind it; null before the first start. */
    public function server(): ?Server
    {
        return $this->server;
    }
}
