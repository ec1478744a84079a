<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * All that processes share: one state of the model, a value. Explorer clones it before each step.
 */
interface World
{
    /**
     * One step of a process, in one piece.
     *
     * @param list<mixed> $arguments
     *
     * @return mixed what the process gets to see; serializable
     *
     * @throws Violation if that must never happen
     */
    public function apply(int $process, string $step, array $arguments): mixed;

    /** Whether the step can be made now; if not the process waits. */
    public function ready(int $process, string $step): bool;

    /** Whether nobody can come between the step before and this one. */
    public function glued(int $process, string $step): bool;

    /** Whether no other process can notice when this step is made. */
    public function hidden(int $process, string $step): bool;

    /** All wait: time passes. False: nobody will ever go on. */
    public function idle(): bool;

    /** Whether killing the process before this step is another thing than killing it later. */
    public function mortal(int $process, string $step): bool;

    public function kill(int $process): void;

    /** Milliseconds. */
    public function now(): int;

    /** @return array<int, true> processes that were killed */
    public function dead(): array;

    /** The same for equal states, and for no others. */
    public function key(): string;
}
