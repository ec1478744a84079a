<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/** One operation of one driver: made ready, timed, and ended. */
interface Measurable
{
    /**
     * Connects, checks that what is written comes back, and does all that shall not be timed.
     *
     * @return ?string what is wrong with the value that came back; null if it is right
     */
    public function prepare(): ?string;

    /** Microseconds an operation (bytes, where the operation is "size"). */
    public function sample(): float;

    /** Microseconds an operation, of all samples since prepare() together. */
    public function average(): float;

    /** Operations a second of all samples since prepare(); 0 where there was none. */
    public function rate(): float;

    public function close(): void;
}
