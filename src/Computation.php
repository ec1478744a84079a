<?php

declare(strict_types=1);

namespace Larder;

use Larder\System\Signals;

/**
 * A computation of Cache::remember(), as its callable sees it: says how what it returns is stored. What it says counts before
 * remember()'s own arguments; the last call of ttl() and soft() counts, and tags() adds.
 */
final class Computation
{
    private bool $isBegun = false;
    private bool $isOver = false;
    private bool $isStored = true;

    /**
     * @internal
     *
     * @param list<string> $tags
     * @param bool         $isRenewal whether the old value is still there, which others get meanwhile, and which Cache::get() gives
     */
    public function __construct(
        private int|\DateInterval|null $ttl,
        private array $tags,
        private int|\DateInterval|null $soft,
        public readonly bool $isRenewal = false,
    ) {}

    /**
     * @param null|int|\DateInterval $ttl seconds; 0: no expiry; negative: already expired, so only this call gets the
     *                                    value; null: the group's default
     *
     * @throws ComputationEnded
     */
    public function ttl(int|\DateInterval|null $ttl): self
    {
        $this->check();
        $this->ttl = self::kept($ttl);

        return $this;
    }

    /**
     * @param null|int|\DateInterval $soft seconds after which one caller renews the value while the others get the old one;
     *                                     0: never; null: the group's default
     *
     * @throws ComputationEnded
     */
    public function soft(int|\DateInterval|null $soft): self
    {
        $this->check();
        $this->soft = self::kept($soft);

        return $this;
    }

    /**
     * Adds tags to those given to remember() and those added before.
     *
     * @throws ComputationEnded
     */
    public function tags(string ...$tags): self
    {
        $this->check();
        $this->tags = [...$this->tags, ...\array_values($tags)];

        return $this;
    }

    /**
     * Stores the value nowhere: this call returns it, and the next caller computes. A value that is there, and that this
     * computation was to renew, stays.
     *
     * @throws ComputationEnded
     */
    public function doNotStore(): self
    {
        $this->check();
        $this->isStored = false;

        return $this;
    }

    /**
     * Signals are held when it is called, and let in while the callable runs: not in the finally, see System\Signals.
     *
     * @internal
     *
     * @throws \LogicException
     */
    public function run(callable $compute): mixed
    {
        if ($this->isBegun) {
            throw new \LogicException('remember() runs a computation, and once. To compute something else in it, call that function itself.');
        }
        $this->isBegun = true;
        $compute = $compute(...);
        try {
            return Signals::letIn(self::isWanted($compute) ? fn(): mixed => $compute($this) : $compute);
        } finally {
            $this->isOver = true;
        }
    }

    /**
     * @internal
     *
     * @return ?array{null|int|\DateInterval, list<string>, null|int|\DateInterval} ttl, tags and soft; null: nothing is stored
     */
    public function chosen(): ?array
    {
        return $this->isStored ? [$this->ttl, $this->tags, $this->soft] : null;
    }

    /** Whether a callable takes a computation: others, such as time(...), must not get one into a parameter that means something else. */
    private static function isWanted(\Closure $compute): bool
    {
        $first = (new \ReflectionFunction($compute))->getParameters()[0] ?? null;
        $type = $first?->getType();

        return self::isOne($type) || ($first !== null && !$first->isOptional() && ($type === null || (string) $type === 'mixed'));
    }

    /**
     * Whether a callable's first parameter says that it takes a computation.
     *
     * @internal
     */
    public static function isNamed(\Closure $compute): bool
    {
        return self::isOne(((new \ReflectionFunction($compute))->getParameters()[0] ?? null)?->getType());
    }

    private static function isOne(?\ReflectionType $type): bool
    {
        foreach ($type instanceof \ReflectionUnionType ? $type->getTypes() : [$type] as $each) {
            if ($each instanceof \ReflectionNamedType && \strcasecmp($each->getName(), self::class) === 0) {
                return true;
            }
        }

        return false;
    }

    /** What the caller may do to an interval later does not count. */
    private static function kept(int|\DateInterval|null $time): int|\DateInterval|null
    {
        return $time instanceof \DateInterval ? clone $time : $time;
    }

    /** What a copy says would count for nothing. */
    private function __clone() {}

    /** The same of a copy by serialize(). */
    public function __serialize(): never
    {
        throw new \LogicException('A computation cannot be kept: it ends when the function that you gave to remember() returns.');
    }

    private function check(): void
    {
        if ($this->isOver) {
            throw ComputationEnded::before();
        }
    }
}
