<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Entry;
use Larder\Segment;

/**
 * Which copies of one space a request may read, and where it keeps what it has read.
 *
 * The one rule is admits(): a copy's position lies after the last flush and within the request's view, and its end has not
 * come. Each near tier applies it to copies in its own form (Near::get()), and so does the extension (ext/hit_path.c),
 * which knows the first properties here, in this order.
 */
abstract class Window
{
    /** Milliseconds, 253 years: the longest time that still fits into an integer of nanoseconds since the machine's start. */
    public const LONGEST = 8_000_000_000_000;

    /** Copies that are read near between two calls of trim(), less one: a power of two, less one. */
    public const OFTEN = 1023;

    /** @var array<array-key, mixed> never null, object or reference */
    public array $values = [];

    /** @var array<array-key, int> positions at which this request changed keys: no other near copy of theirs counts; PHP_INT_MAX: none at all does. Empty without a near tier */
    public array $own = [];

    /** hrtime() at which a get calls Cache::check(): at the view's time, or when the next copy expires. */
    public int $due = 0;

    /** hrtime() at which the next copy expires. */
    public int $end = \PHP_INT_MAX;

    /** The view's $version, by reference; and the one for which View::open() has set what follows. */
    public int $current;
    public int $version = 0;

    /** The near tier's, if it is the segment. */
    public ?Segment $segment = null;

    /** What a key begins with in the near tier, if that is the segment or APCu; '': it is neither, or cannot be read now. */
    public string $prefix = '';

    /** Positions of the last flush, and of the newest copy that lies within the view. */
    public int $floor = \PHP_INT_MAX;
    public int $ceiling = -1;

    /** Copies that a near tier has answered. */
    public int $hits = 0;

    /** @var array<array-key, int> hrtime() at which each copy expires: setting the wall clock back must not extend its life */
    public array $ends = [];

    /** By how many milliseconds the store's clock is ahead of hrtime(), which is known until $compared (in milliseconds): see Truth. */
    public int $ahead = 0;
    public int $compared = 0;

    /** @var array<array-key, true> keys read from a near tier whose values are not kept here */
    public array $passed = [];

    // What the extension does not look at.

    /** The near tier, if $prefix is set. */
    public ?Near $near = null;

    /** $floor, and the position after $ceiling, as APCu's plain strings and its encoded copies begin, which PHP compares in place. */
    public string $low = '';
    public string $high = '';
    public string $lowEncoded = '';
    public string $highEncoded = '';

    /** The view's $changes, by reference: grows with each change by this request. */
    public int $changes;

    /** @var array{Entry, int, string}|null the copy that the near tier has found last and could not judge by itself, its position and its key */
    public ?array $other = null;

    /** Gets that may come without a look at the clock. If there are any, a copy that expires is not for the near tier to hand out. */
    public int $unchecked = 0;

    /**
     * Whether this request may read a copy.
     *
     * @param int $made when it was made, in milliseconds by the store's clock
     * @param int $end  when it expires; 0: it does not
     */
    public function admits(string $key, int $position, int $made = 0, int $end = 0): bool
    {
        return $position > $this->floor && (isset($this->own[$key]) ? $position === $this->own[$key] : $position <= $this->ceiling)
            && ($end === 0 || (($now = $this->now()) < $end && $now >= $made - Entry::SKEW));
    }

    /** Milliseconds by the store's clock. */
    public function now(): int
    {
        $uptime = \intdiv(\hrtime(true), 1_000_000);

        return $uptime < $this->compared ? $uptime + $this->ahead : $this->compare();
    }

    /** Until View::open() no copy may be read. */
    public function close(): void
    {
        $this->near = $this->segment = null;
        $this->prefix = '';
        $this->floor = \PHP_INT_MAX;
        $this->ceiling = -1;
    }

    /** Asks for the store's clock. */
    abstract protected function compare(): int;

    /** Keeps the bound after copies were put into $values directly. */
    abstract public function trim(): void;

    /** Keeps an entry and returns its value; null (and $found false) if it cannot be decoded. */
    abstract public function put(string $key, Entry $entry, mixed &$found = null): mixed;

    /**
     * As put(), for a value without tags, soft expiry and bounded life.
     *
     * @param string $body of its entry
     * @param int    $at   where the payload begins in it
     * @param int    $left milliseconds until the value expires; 0: it does not
     */
    abstract public function putBody(string $key, string $body, int $at, int $left, mixed &$found): mixed;

    abstract public function drop(string $key): void;
}
