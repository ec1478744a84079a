<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Segment;

/**
 * The way of a hit, which most calls of a cache take: Cache::get(), and what it looks at. With the extension get() is in C,
 * and looks at the same properties (see HitPath).
 */
trait PlainHitPath
{
    /** @var array<array-key, mixed> the request tier's $values, by reference: a hit is an array look-up */
    protected array $values;

    /** @var array<array-key, int> the request tier's $own, by reference */
    protected array $own;

    /** The view's $due and the request tier's, by reference. */
    protected int $due;
    protected int $ends;

    /** The view's $version, by reference; and the one for which Cache::derive() has set what follows. */
    protected int $current;
    protected int $version = 0;

    /** The near tier, if it is the segment. */
    protected ?Segment $segment = null;

    /** What a key begins with in the near tier, if that is the segment or APCu; '': it is neither, or cannot be read now. */
    protected string $nearPrefix = '';

    /** A compact near copy is valid if its position lies between these two: after the last flush, and within this request's view. */
    protected int $floorAt = 0;
    protected int $ceilingAt = 0;
    protected int $nearHits = 0;

    /** Gets left that need not check the clock; -1: all of them are done. Below it each get checks it, down to -512. */
    protected int $free = 0;

    /** @var array<array-key, int> the request tier's $ends, by reference; this and what follows is for copies in the near tier that expire */
    protected array $endings;

    /** Truth's, by reference: by how many milliseconds its store's clock is ahead of hrtime(), which is known until $compared. */
    protected int $ahead;
    protected int $compared;

    /** @var array<array-key, true> the request tier's $passed, by reference */
    protected array $passed;

    public function get(string $key, mixed $default = null): mixed
    {
        // After 512 gets check() looks whether they were such a loop. Not a constant: PHP looks it up at each get in a trait.
        if (--$this->free < 0
            && ($this->free === -1 || $this->free <= -512 || ($now = \hrtime(true)) >= $this->due || $now >= $this->ends)) {
            $this->check();
        }

        return $this->values[$key] ?? $this->lookup($key, $default);
    }

    /** Checks the clock: drops expired copies, and once a second asks the journal what others changed. */
    abstract protected function check(): void;

    /**
     * Answers what is no copy in $values.
     *
     * @param ?bool $below false: the truth tier is not asked; null: only the near tier is, and only
     *                     about what it can tell by itself. The caller passes the request itself as
     *                     default, since no cache can hold it
     * @param mixed $copy  what the segment or APCu holds for the key; null: nothing; false: it was not asked
     */
    abstract protected function lookup(string $key, mixed $default, ?bool $below = true, mixed $copy = false): mixed;
}
