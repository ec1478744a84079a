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
interface Driver
{
    /** @param array<string, string|int> $parameters of the subject, and "socket" or "host" and "port" of its server */
    public function __construct(array $parameters);

    /** Opens the connection, and what a process does once. */
    public function connect(): void;

    public function disconnect(): void;

    /** What a new request does by itself before its first get; timed with the request's keys. */
    public function begin(): void;

    /**
     * Stores each value under its key.
     *
     * @param array<string, mixed> $values
     */
    public function write(array $values): void;

    /**
     * Reads each key once.
     *
     * @param non-empty-list<string> $keys
     *
     * @return mixed what the last one gave; null or false where it has nothing
     */
    public function read(array $keys): mixed;
}
