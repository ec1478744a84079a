<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** The least that PHP can do, an array look-up in a method: what a request tier is compared with. */
final class LookupDriver extends Driver
{
    private ?ArrayLookup $lookup = null;

    /** @param array<string, string|int> $parameters none are read */
    public function __construct(public readonly array $parameters) {}

    public function connect(): void
    {
        $this->lookup = new ArrayLookup();
    }

    public function disconnect(): void
    {
        $this->lookup = null;
    }

    public function write(array $values): void
    {
        $lookup = $this->lookup ?? throw EngineFailure::notConnected();
        foreach ($values as $key => $value) {
            $lookup->set($key, $value);
        }
    }

    public function increment(string $key, int $times): mixed
    {
        $lookup = $this->lookup ?? throw EngineFailure::notConnected();
        $count = null;
        for ($i = 0; $i < $times; ++$i) {
            $count = $lookup->increment($key);
        }

        return $count;
    }

    public function read(array $keys): mixed
    {
        $lookup = $this->lookup ?? throw EngineFailure::notConnected();
        $value = null;
        foreach ($keys as $key) {
            $value = $lookup->get($key);
        }

        return $value;
    }
}
