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
