<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/**
 * The names of items on the servers. All but the head's contain the epoch, so that no process reads or writes an item of
 * another epoch by mistake.
 */
final class Keys
{
    /** Characters that a memcached key may contain: no space, no control characters (memcached: doc/protocol.txt, "Keys"). */
    private const GRAPH = '!"#$%&\'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~';

    /** Bytes of the longest memcached key. */
    private const LONGEST = 250;

    /** Holds the epoch and the position up to which the journal is settled. */
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

    /** Holds the last position allocated. */
    public function allocated(): string
    {
        return $this->epoch . 'a';
    }

    /** Holds the last version allocated for records outside the journal. */
    public function versions(): string
    {
        return $this->epoch . 'v';
    }

    public function slot(int $position): string
    {
        return $this->epoch . 'j:' . $position;
    }

    /** Holds the time when a process first saw that a position was allocated and its slot is missing. */
    public function gap(int $position): string
    {
        return $this->epoch . 'g:' . $position;
    }

    /** Holds the time when a process first saw that a position's slot is not settled. */
    public function open(int $position): string
    {
        return $this->epoch . 'o:' . $position;
    }

    public function part(string $id, int $number): string
    {
        return $this->epoch . 'p:' . $id . ':' . $number;
    }

    /** Holds a record. The key is plain if memcached can take it, else hashed, in a name space of its own. */
    public function record(string $key): string
    {
        $plain = $this->epoch . 'r:' . $key;
        if (\strlen($plain) <= self::LONGEST && \strspn($key, self::GRAPH) === \strlen($key)) {
            return $plain;
        }

        return $this->epoch . 'h:' . \hash('sha256', $key);
    }

    /** Whether this is the name of a record of this epoch. */
    public function isRecord(string $name): bool
    {
        return \str_starts_with($name, $this->epoch . 'r:') || \str_starts_with($name, $this->epoch . 'h:');
    }
}
