<?php

declare(strict_types=1);

namespace Larder\Tests\Load;

/**
 * One of the two that carry the load: Larder, or plain Redis.
 *
 * This folder holds loads that run for minutes, each with a program that prints what came out, and a short test.
 */
interface Side
{
    /** A request begins and asks for a key. Null: a hit, and the request is over. Else the request, which now computes. */
    public function request(string $key): ?object;

    /** The request has computed a value, stores it, and is over. */
    public function computed(object $request, string $key, string $value): void;

    public function flush(): void;

    /** @return array<string, int> what happened to the values, by name */
    public function counts(): array;
}
