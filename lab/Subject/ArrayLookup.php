<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** The least that a cache can be in PHP: an array behind a method of one line. */
final class ArrayLookup
{
    /** @var array<string, mixed> */
    private array $values = [];

    public function get(string $key, mixed $default = null): mixed
    {
        return $this->values[$key] ?? $default;
    }

    /** What is there must be a number, or nothing. */
    public function increment(string $key): mixed
    {
        $count = $this->values[$key] ?? 0;

        return $this->values[$key] = \is_int($count) ? $count + 1 : null;
    }

    public function set(string $key, mixed $value): void
    {
        $this->values[$key] = $value;
    }
}
