<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * What things are called on the servers. All but the head carry the epoch, so that nothing of another epoch can be
 * read or written by mistake.
 */
final class Keys
{
    /** Bytes that a key may have: no space, no control characters (memcached: doc/protocol.txt, "Keys"). */
    private const GRAPH = '!"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~';

    /** Bytes that a key may be long. */
    private const LONGEST = 250;

    /** The epoch and the position up to which the log is settled. */
    public readonly string $head;

    private readonly string $prefix;

    private string $epoch = '';

    public function __construct(string $prefix)
    {
        // "~" marks a prefix that had to be hashed.
        $plain = \strlen($prefix) <= 60 && \strspn($prefix, self::GRAPH) === \strlen($prefix) && !\str_starts_with($prefix, '~');
        $this->prefix = ($plain ? $prefix : '~' . \substr(\hash('sha256', $prefix), 0, 40)) . ':';
        $this->head = $this->prefix . 'head';
    }

    public function enter(string $epoch): void
    {
        $this->epoch = $this->prefix . $epoch . ':';
    }

    /** The last position given out. */
    public function allocated(): string
    {
        return $this->epoch . 'a';
    }

    /** The last version of an unlogged record given out. */
    public function versions(): string
    {
        return $this->epoch . 'v';
    }

    public function slot(int $position): string
    {
        return $this->epoch . 'j:' . $position;
    }

    /** When somebody first saw that a position was given out and its slot is not there. */
    public function gap(int $position): string
    {
        return $this->epoch . 'g:' . $position;
    }

    /** When somebody first saw that the slot of a position is not settled. */
    public function open(int $position): string
    {
        return $this->epoch . 'o:' . $position;
    }

    public function part(string $id, int $number): string
    {
        return $this->epoch . 'p:' . $id . ':' . $number;
    }

    /** Of a record: plain where memcached can take it, else hashed, in a name space of its own. */
    public function record(string $key): string
    {
        $plain = $this->epoch . 'r:' . $key;
        if (\strlen($plain) <= self::LONGEST && \strspn($key, self::GRAPH) === \strlen($key)) {
            return $plain;
        }

        return $this->epoch . 'h:' . \hash('sha256', $key);
    }

    /** Whether what the server calls so is a record of this epoch. */
    public function isRecord(string $name): bool
    {
        return \str_starts_with($name, $this->epoch . 'r:') || \str_starts_with($name, $this->epoch . 'h:');
    }
}
