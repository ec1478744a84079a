<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\System\Interval;
use Larder\System\InvalidInterval;

/**
 * The rules for keys and times to live that PSR-6 ("Definitions") and PSR-16 (section 1.2) share.
 *
 * The adapters declare their arguments as mixed and let this class check them. Otherwise PHP would turn true, 2 or 2.5 of a
 * caller without strict_types into a legal string. And both PSRs want one of their own exceptions for any illegal argument,
 * not a TypeError.
 *
 * @internal
 */
final class Rules
{
    /** "reserved for future extensions and MUST NOT be supported by implementing libraries" */
    public const RESERVED = '{}()/\\@:';

    /** Bytes of the longest key; the PSRs ask for at least 64 characters. */
    public const KEY_BYTES = 65536;

    /** Seconds, about 300 years: a longer time to live counts as this, so that sums with it stay integers. */
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
     * Checks all keys before the first is used.
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
     * Checks key to value pairs. PHP turns a string like "12" into an integer array key, so an integer key counts as that
     * string; any other key that a generator yields must be a legal string.
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
     * Seconds from now; zero or less: already expired; null: none is given.
     *
     * Cuts off an interval's fraction of a second: the PSRs ask for whole seconds and allow an earlier expiry. Counts days and
     * months from now in UTC, where all days are equally long.
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
            try {
                $ttl = Interval::seconds($ttl, false);
            } catch (InvalidInterval $invalid) {
                throw InvalidArgument::interval($invalid);
            }
        }
        if (!\is_int($ttl)) {
            throw InvalidArgument::ttl($ttl);
        }

        return \min($ttl, self::FOREVER);
    }
}
