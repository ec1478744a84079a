<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** A driver that knows what a value takes. */
interface Sized extends Driver
{
    /** @return int<0, max> bytes of the one value that is there; 0 before the first */
    public function size(): int;
}
