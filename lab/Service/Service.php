<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * A real server that the lab starts for itself and stops by its process id.
 *
 * This folder holds one server a file. Each listens on a unix socket in a private temporary directory or on a free
 * port of the loopback, and ends with the lab, however that ends.
 */
interface Service
{
    /**
     * Starts it and waits until it answers; nothing happens when it already runs.
     *
     * @throws ServiceFailure which says what failed and what to do
     */
    public function start(): void;

    public function stop(): void;

    public function isAlive(): bool;

    /** @return list<int> of what answers, and of what stands before it; none where it does not run */
    public function pids(): array;

    /** @return array<string, string|int> "socket", or "host" and "port" */
    public function address(): array;

    /** Name and version as the report says them ("Redis 7.0.15"); of a network, what makes its delay. */
    public function version(): string;

    /** Of one that has ended by itself: how, and its last log line (" (signal 9: …)"); else nothing. */
    public function lastWords(): string;
}
