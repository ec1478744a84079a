<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** A way to put a network's delay and rate between a server and whoever measures it. */
interface Link
{
    /** Of a packet, in each direction. Nanoseconds; half the round trip. */
    public const DELAY = 250_000;

    /** In each direction, shared by all connections. Bits a second. */
    public const RATE = 100_000_000;

    /**
     * Makes it, as far as that can be done without a server; nothing happens when it is there.
     *
     * @return Place that the server has to be started in
     *
     * @throws ServiceFailure if this machine does not let it be made
     */
    public function open(): Place;

    /**
     * @param array<string, string|int> $server "host" and "port" of the server
     *
     * @return array{host: string, port: int} by which it is reached over the network
     */
    public function reach(array $server): array;

    public function close(): void;

    public function isOpen(): bool;

    /** @return list<int> of the processes that make it */
    public function pids(): array;

    /** Of one that has ended by itself: why, " (signal 9: …)"; else ''. */
    public function lastWords(): string;

    /** What makes the delay. */
    public function about(): string;
}
