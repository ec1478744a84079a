<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineFailure;

/**
 * An engine in memory that says what was asked of it, and is as bad as its parameter "fault" says: "keeps the first",
 * "forgets", "forgets one", "alters", "finds everything", "counts twice", "loses count", "throws", "exits". "tells" is a good
 * one that writes into a file of its directory how many values it was given at once, if more than one.
 */
final class FaultyMemory extends Driver
{
    /** @var array<string, mixed> */
    public array $values = [];
    /** @var list<list<string>> the keys of each read() */
    public array $reads = [];
    /** @var list<array<string, mixed>> the values of each write() */
    public array $written = [];
    public bool $connected = false;
    /** How often it was looked for a failed part. */
    public int $inspected = 0;
    public bool $isWhole = true;
    /** @var list<int> keys of each request since it began */
    public array $requests = [];
    /** Reads that empty the last cell of a table. */
    public int $emptied = 0;
    /** Nanoseconds of a beginning. */
    public int $cost = 0;

    private readonly string $fault;
    private readonly string $file;
    private int $increments = 0;

    public function __construct(array $parameters = [])
    {
        $this->fault = (string) ($parameters['fault'] ?? '');
        $this->file = ($parameters['directory'] ?? '') . '/written';
    }

    public function connect(): void
    {
        $this->connected = true;
    }

    public function disconnect(): void
    {
        $this->connected = false;
    }

    public function begin(): void
    {
        $this->requests[] = 0;
        $end = \hrtime(true) + $this->cost;
        while (\hrtime(true) < $end);
    }

    public function names(array $keys): array
    {
        return \array_map(static fn(string $key): string => "name of $key", $keys);
    }

    public function write(array $values): void
    {
        $this->fault === 'exits' && exit(3);
        $this->written[] = $values;
        if ($this->fault === 'tells' && \count($values) > 1) {
            \file_put_contents($this->file, \count($values) . "\n", \FILE_APPEND);
        }
        $this->store($values);
    }

    public function read(array $keys): mixed
    {
        $this->reads[] = $keys;
        $this->ofRequest(\count($keys));
        $value = null;
        $this->fault !== 'throws' || throw new \RuntimeException('The engine is gone');
        foreach ($keys as $name) {
            $key = \substr($name, \strlen('name of '));
            $value = \array_key_exists($key, $this->values) ? $this->values[$key] : ($this->fault === 'finds everything' ? 'something' : null);
        }

        if (--$this->emptied >= 0 && \is_array($value) && \is_array($value[49])) {
            $value[49][49] = '';
        }

        return $this->fault === 'alters' && \is_string($value) ? $value . ' ' : $value;
    }

    public function increment(string $key, int $times): mixed
    {
        ++$this->increments;
        $count = $this->values[$key] ?? 0;
        $count = \is_int($count) ? $count : 0;
        $step = $this->fault === 'counts twice' && $this->increments > 2 ? 2 : 1;

        return $this->fault === 'loses count' && $this->increments > 3 ? false : $this->values[$key] = $count + $step * $times;
    }

    public function inspect(): void
    {
        ++$this->inspected;
        $this->isWhole || throw new EngineFailure('A part has failed');
    }

    /** @param array<string, mixed> $values */
    private function store(array $values): void
    {
        $this->ofRequest(\count($values));
        foreach ($values as $key => $value) {
            if ($this->fault === 'keeps the first') {
                $this->values[$key] ??= $value;
            } elseif ($this->fault !== 'forgets' && ($this->fault !== 'forgets one' || !\str_ends_with($key, ':77'))) {
                $this->values[$key] = $value;
            }
        }
    }

    private function ofRequest(int $keys): void
    {
        if ($this->requests !== []) {
            $this->requests[] = \array_pop($this->requests) + $keys;
        }
    }
}
