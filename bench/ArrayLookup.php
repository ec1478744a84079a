<?php

declare(strict_types=1);

namespace Larder\Bench;

/** The least that a cache can be: what RequestTier compares with. */
final class ArrayLookup
{
    /** @param array<string, mixed> $values */
    public function __construct(private array $values) {}

    public function get(string $key, mixed $default = null): mixed
    {
        return $this->values[$key] ?? $default;
    }
}
