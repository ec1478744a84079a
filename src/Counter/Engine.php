<?php

declare(strict_types=1);

namespace Larder\Counter;

/**
 * Where a counter's number lies. Everything here is atomic across processes.
 *
 * This folder holds what Larder\Counter stands on: engines over Driver/, and none over Store/, since a cache may forget.
 */
interface Engine
{
    /** Seconds that a call waits for other processes, or for a server, where nothing else is said. */
    public const TIMEOUT = 5.0;

    /** Bytes of a counter's name. */
    public const LONGEST_NAME = 200;

    /**
     * @return int the new value
     *
     * @throws CounterOverflow nothing has changed
     * @throws CounterFailure
     */
    public function add(int $by): int;

    /** @throws CounterFailure */
    public function value(): int;

    /** @throws CounterFailure */
    public function reset(): void;
}
