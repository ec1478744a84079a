<?php

declare(strict_types=1);

namespace Larder\Request;

/**
 * Cache::get(), and the properties that it looks at. With the extension get() is in C, and looks at the properties of the
 * copies (see HitPath).
 */
trait PlainGetPath
{
    /** The copies of this space, which belong to the request: all its Cache objects of the space share them. */
    protected readonly RequestTier $copies;

    /** Gets left that need not check the clock; -1: all of them are done. Below it each get checks it, down to -512. */
    protected int $free = 0;

    /** @var array<array-key, mixed> the copies' $values, by reference: a hit is an array look-up */
    protected array $values;

    public function get(string $key, mixed $default = null): mixed
    {
        if (\Fiber::getCurrent()) {
            return $this->getIn($key, $default);
        }
        // After 512 gets check() looks whether they were such a loop. Not a constant: PHP looks it up at each get in a trait.
        if (--$this->free < 0 && (($this->free & 511) === 511 || \hrtime(true) >= $this->copies->due)) {
            $this->check();
        }

        return $this->values[$key] ?? $this->copies->near?->get($key, $this->copies) ?? $this->lookup($key, $default, isAsked: true);
    }

    /** As get(), in a fiber: each has copies of its own. */
    abstract protected function getIn(string $key, mixed $default): mixed;

    /** Checks the clock: drops expired copies, and once a second asks the journal what others changed. */
    abstract protected function check(): void;

    /**
     * Answers what is no copy in $values.
     *
     * @param ?bool $below   false: the truth tier is not asked; null: only the near tier is, and only
     *                       about what it can tell by itself. The caller passes the request itself as
     *                       default, since no cache can hold it
     * @param mixed $copy    what the segment or APCu holds for the key; null: nothing; false: it was not asked
     * @param bool  $isAsked the near tier was asked just now, if the copies name one
     */
    abstract protected function lookup(string $key, mixed $default, ?bool $below = true, mixed $copy = false, bool $isAsked = false): mixed;
}
