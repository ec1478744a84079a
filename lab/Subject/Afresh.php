<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** A driver whose engine would remember what the process before this one has left there. */
interface Afresh
{
    /**
     * Removes that; called once by the process that measures, before it forks or connects.
     *
     * @param array<string, string|int> $parameters as the driver takes them
     */
    public static function clear(array $parameters): void;
}
