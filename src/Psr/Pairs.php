<?php

declare(strict_types=1);

namespace Larder\Psr;

/**
 * Key to value pairs, some of whose keys look like integers. PHP would turn these array keys into integers, but both PSRs
 * promise the caller's own strings. May be iterated any number of times.
 *
 * @internal
 *
 * @template T
 *
 * @implements \IteratorAggregate<string, T>
 */
final class Pairs implements \Countable, \IteratorAggregate
{
    /** @param array<array-key, T> $pairs */
    private function __construct(private readonly array $pairs) {}

    /**
     * Returns the array itself if all its keys are strings, which is the usual case.
     *
     * @template V
     *
     * @param array<array-key, V> $pairs
     *
     * @return iterable<string, V>
     */
    public static function of(array $pairs): iterable
    {
        foreach ($pairs as $key => $_) {
            if (\is_int($key)) {
                return new self($pairs);
            }
        }

        /** @var array<string, V> $pairs */
        return $pairs;
    }

    public function count(): int
    {
        return \count($this->pairs);
    }

    /** @return \Generator<string, T> */
    public function getIterator(): \Generator
    {
        foreach ($this->pairs as $key => $value) {
            yield (string) $key => $value;
        }
    }
}
