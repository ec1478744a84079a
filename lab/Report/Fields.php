<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** The members of one object of a report that is read: each must be there, be of its type, and be known. */
final class Fields
{
    /** @var array<mixed> what has not been asked for */
    private array $rest;

    /** @param string $where in the file, for the message */
    public function __construct(
        mixed $object,
        private readonly string $file,
        private readonly string $where,
    ) {
        if (!\is_array($object) || ($object !== [] && \array_is_list($object))) {
            throw ReportUnreadable::malformed($file, $where, 'is not an object');
        }
        $this->rest = $object;
    }

    public function text(string $name): string
    {
        $value = $this->take($name);

        return \is_string($value) ? $value : throw $this->wrong($name, 'is not a string');
    }

    /**
     * @template T of string
     *
     * @param list<T> $values
     *
     * @return T
     */
    public function oneOf(string $name, array $values): string
    {
        $value = $this->text($name);
        foreach ($values as $allowed) {
            if ($value === $allowed) {
                return $allowed;
            }
        }

        throw $this->wrong($name, 'is not one of ' . \implode(', ', $values));
    }

    public function flag(string $name): bool
    {
        $value = $this->take($name);

        return \is_bool($value) ? $value : throw $this->wrong($name, 'is not true or false');
    }

    public function optionalFlag(string $name): ?bool
    {
        return $this->isNull($name) ? null : $this->flag($name);
    }

    public function integer(string $name): int
    {
        $value = $this->take($name);

        return \is_int($value) ? $value : throw $this->wrong($name, 'is not a whole number');
    }

    /** @return int<0, max> */
    public function count(string $name): int
    {
        $value = $this->integer($name);

        return $value >= 0 ? $value : throw $this->wrong($name, 'is less than 0');
    }

    /** @return int<1, max> */
    public function positive(string $name): int
    {
        $value = $this->integer($name);

        return $value >= 1 ? $value : throw $this->wrong($name, 'is less than 1');
    }

    /** Of what was measured or computed from it: never below zero. */
    public function number(string $name): float
    {
        return $this->measured($this->take($name), $name);
    }

    public function optionalNumber(string $name): ?float
    {
        return $this->isNull($name) ? null : $this->number($name);
    }

    /** @return list<float> */
    public function numbers(string $name): array
    {
        $values = [];
        foreach ($this->items($name) as $i => $value) {
            $values[] = $this->measured($value, "{$name}[$i]");
        }

        return $values;
    }

    /** @return list<string> */
    public function texts(string $name): array
    {
        $values = [];
        foreach ($this->items($name) as $i => $value) {
            $values[] = \is_string($value) ? $value : throw $this->wrong("{$name}[$i]", 'is not a string');
        }

        return $values;
    }

    /** @return list<self> */
    public function objects(string $name): array
    {
        $objects = [];
        foreach ($this->items($name) as $i => $value) {
            $objects[] = new self($value, $this->file, $this->path("{$name}[$i]"));
        }

        return $objects;
    }

    /** @return list<mixed> */
    public function items(string $name): array
    {
        $value = $this->take($name);

        return \is_array($value) && \array_is_list($value) ? $value : throw $this->wrong($name, 'is not a list');
    }

    /** @return array<string, string|int|float> */
    public function map(string $name): array
    {
        $value = $this->take($name);
        $map = [];
        foreach (\is_array($value) ? $value : throw $this->wrong($name, 'is not an object') as $key => $item) {
            $map[(string) $key] = \is_string($item) || \is_int($item) || \is_float($item) ? $item : throw $this->wrong("$name.$key", 'is neither text nor number');
        }

        return $map;
    }

    /** Nothing else may be there. */
    public function end(): void
    {
        foreach ($this->rest as $name => $_) {
            throw $this->wrong((string) $name, 'is not known here');
        }
    }

    public function wrong(string $name, string $what): ReportUnreadable
    {
        return ReportUnreadable::malformed($this->file, $this->path($name), $what);
    }

    private function path(string $name): string
    {
        return $this->where === '' ? $name : "$this->where.$name";
    }

    private function take(string $name): mixed
    {
        if (!\array_key_exists($name, $this->rest)) {
            throw $this->wrong($name, 'is missing');
        }
        $value = $this->rest[$name];
        unset($this->rest[$name]);

        return $value;
    }

    private function isNull(string $name): bool
    {
        if (($this->rest[$name] ?? null) !== null) {
            return false;
        }
        $this->take($name);

        return true;
    }

    private function measured(mixed $value, string $name): float
    {
        if (!\is_int($value) && !\is_float($value)) {
            throw $this->wrong($name, 'is not a number');
        }

        return $value >= 0 && \is_finite((float) $value) ? (float) $value : throw $this->wrong($name, 'is less than 0 or has no end');
    }
}
