<?php

declare(strict_types=1);

namespace Larder\Psr;

use Larder\Codec\NotStorable;
use Larder\System\InvalidInterval;

/**
 * An argument that PSR-6 or PSR-16 forbids: the one exception that leaves this folder.
 *
 * It implements the exception interfaces of both PSRs, so that code written for either catches it.
 */
final class InvalidArgument extends \InvalidArgumentException implements
    \Psr\Cache\InvalidArgumentException,
    \Psr\SimpleCache\InvalidArgumentException
{
    public static function key(mixed $key): self
    {
        if (!\is_string($key)) {
            return new self('A cache key must be a string, not ' . \get_debug_type($key)
                . (\is_int($key) ? '; write (string) $key.' : '.'));
        }
        if ($key === '') {
            return new self('A cache key must have at least one character.');
        }
        if (\strlen($key) > Rules::KEY_BYTES) {
            return new self('A cache key has at most ' . Rules::KEY_BYTES . ' bytes; this one has ' . \strlen($key)
                . '; hash it, for example with hash(\'xxh128\', $key).');
        }

        return new self('The cache key "' . $key . '" has one of the characters ' . Rules::RESERVED
            . ' that PSR-6 and PSR-16 reserve; write "." or "_" instead, or hash the key.');
    }

    public static function iterable(string $what, mixed $given): self
    {
        return new self('The ' . $what . ' must be an array or a Traversable, not ' . \get_debug_type($given) . '.');
    }

    public static function ttl(mixed $ttl): self
    {
        return new self('A time to live must be null, an integer number of seconds or a DateInterval, not '
            . \get_debug_type($ttl) . (\is_numeric($ttl) ? '; write (int) $ttl.' : '.'));
    }

    public static function interval(InvalidInterval $cause): self
    {
        // Here 0 deletes.
        return new self('This interval is longer than 10,000 years: for a value that does not expire give null as its time to live.', 0, $cause);
    }

    public static function expiration(mixed $expiration): self
    {
        return new self('An expiration must be null or a DateTimeInterface, not ' . \get_debug_type($expiration)
            . '; for a number of seconds call expiresAfter().');
    }

    public static function value(NotStorable $cause): self
    {
        return new self($cause->getMessage(), 0, $cause);
    }

    public static function item(object $item): self
    {
        return new self('A Larder pool saves items of Larder pools only, not ' . \get_debug_type($item)
            . '; get the item by this pool\'s getItem(), then set() its value.');
    }
}
