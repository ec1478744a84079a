<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * How the measuring process works with one engine.
 *
 * This folder holds one engine a file. A driver is made with what the subject's parameters and its server's address
 * say, in an array; nothing is opened before connect(), for a process that measures ten at once forks first.
 *
 * write() and read() are what is timed, so their loops are written out in each driver, without a call, a closure or a
 * check that an application would not have. An engine that fails throws.
 */
abstract class Driver
{
    /** @param array<string, string|int> $parameters of the subject, and "socket" or "host" and "port" of its server */
    abstract public function __construct(array $parameters);

    /**
     * Removes what the engine would remember of the process before this one; called once by the process that measures,
     * before it forks or connects.
     *
     * @param array<string, string|int> $parameters as the driver takes them
     */
    public static function clear(array $parameters): void {}

    /** Opens the connection, and what a process does once. */
    public function connect(): void {}

    public function disconnect(): void {}

    /** What a new request does by itself before its first get; timed with the request's keys. */
    public function begin(): void {}

    /**
     * Stores each value under its key.
     *
     * @param array<string, mixed> $values
     */
    abstract public function write(array $values): void;

    /**
     * Reads each key once.
     *
     * @param non-empty-list<string> $keys
     *
     * @return mixed what the last one gave; null or false where it has nothing
     */
    abstract public function read(array $keys): mixed;

    /**
     * What read() takes for keys, of an engine that is asked by something else: made before the clock starts.
     *
     * @param non-empty-list<string> $keys
     *
     * @return non-empty-list<string>
     */
    public function names(array $keys): array
    {
        return $keys;
    }

    /**
     * Adds one, so many times.
     *
     * @param int<1, max> $times
     *
     * @return mixed the last result; false or null where it could not
     */
    public function increment(string $key, int $times): mixed
    {
        throw new \LogicException(static::class . ' does not count.');
    }

    /** @return ?int<0, max> bytes of the one value that is there, 0 before the first; null where it does not know */
    public function size(): ?int
    {
        return null;
    }

    /**
     * Looks, outside the clock, for a part that is missing or has failed, of an engine that goes on without it.
     *
     * @throws EngineFailure
     */
    public function inspect(): void {}
}
