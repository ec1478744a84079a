<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * An engine in this machine's memory, which is so fast that it matters what is given to it.
 *
 * A string of PHP keeps its hash once somebody has asked for it. To store one string again and again is therefore not
 * what an application does; each value here is a new one, made before the clock starts.
 */
interface FreshDriver extends Driver
{
    /**
     * What the engine is asked by, for read(): keys as they are, or what an application would have in place of them.
     *
     * @param non-empty-list<string> $keys
     *
     * @return non-empty-list<string>
     */
    public function names(array $keys): array;

    /**
     * Stores each value under its key.
     *
     * @param non-empty-array<string, mixed> $values
     */
    public function writeEach(array $values): void;
}
