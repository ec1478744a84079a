<?php

declare(strict_types=1);

namespace Larder\Psr;

/**
 * What PSR-6 ("Definitions") and PSR-16 (section 1.2) say alike of keys and times to live.
 *
 * The adapters declare their arguments as mixed and leave the checking to this class: a caller without
 * strict_types would otherwise have true, 2 or 2.5 turned into a legal string, and the texts want one of their own
 * exceptions for any illegal argument, not a TypeError.
 *
 * @internal
 */
final class Rules
{
    /** "reserved for future extensions and MUST NOT be supported by implementing libraries" */
    public const RESERVED = '{}()/\\@:';

    /** Longest key in bytes; the texts ask for 64 characters at least. */
    public const KEY_BYTES = 65536;

    /** Seconds, about 300 years: a longer time to live counts as none, and sums with it stay integers. */
    public const FOREVER = 10_000_000_000;

    /**
     * @param mixed $key
     *
     * @throws InvalidArgument
     */
    public static function key(mixed $key): string
    {
        if (
            !\is_string($key)
            || $key === ''
            || \strpbrk($key, self::RESERVED) !== false
            || \strlen($key) > self::KEY_BYTES
        ) {
            throw InvalidArgument::key($key);
        }

        return $key;
    }

    /**
     * All keys are checked before the first is used.
     *
     * @param mixed $keys
     *
     * @return list<string>
     *
     * @throws InvalidArgument
     */
    public static function keys(mixed $keys): array
    {
        if (!\is_iterable($keys)) {
            throw InvalidArgument::iterable('keys', $keys);
        }
        $legal = [];
        foreach ($keys as $key) {
            $legal[] = self::key($key);
        }

        return $legal;
    }

    /**
     * Key to value. An integer key is one that PHP made of a string like "12" when it was put into an array, so it
     * is taken as that string; everything else that a generator may yield as key must be a legal string.
     *
     * @param mixed $values
     *
     * @return array<array-key, mixed>
     *
     * @throws InvalidArgument
     */
    public static function values(mixed $values): array
    {
        if (!\is_iterable($values)) {
            throw InvalidArgument::iterable('values', $values);
        }
        $legal = [];
        foreach ($values as $key => $value) {
            $legal[self::key(\is_int($key) ? (string) $key : $key)] = $value;
        }

        return $legal;
    }

    /**
     * Seconds from now; zero or less: expired already; null: no expiry.
     *
     * An interval's fraction of a second is cut off: the texts ask for whole seconds and allow to expire earlier.
     * Days and months are counted from now in UTC, where no day is longer than another.
     *
     * @param mixed $ttl
     *
     * @throws InvalidArgument
     */
    public static function ttl(mixed $ttl): ?int
    {
        if ($ttl === null) {
            return null;
        }
        if ($ttl instanceof \DateInterval) {
            $now = new \DateTimeImmutable('@' . \time());
            $ttl = $now->add($ttl)->getTimestamp() - $now->getTimestamp();
        }
        if (!\is_int($ttl)) {
            throw InvalidArgument::ttl($ttl);
        }

        return $ttl > self::FOREVER ? null : $ttl;
    }
}
