<?php

declare(strict_types=1);

namespace Larder\Tests\Reentrancy;

/** Garbage that only the collector finds, and whose destructor does something. */
final class Garbage
{
    /** @phpstan-ignore property.onlyWritten */
    private self $self;

    private function __construct(private readonly ?\Closure $does)
    {
        $this->self = $this;
    }

    public function __destruct()
    {
        $this->does === null || ($this->does)();
    }

    /** So much of it that the collector runs before so many further objects or arrays may be garbage. */
    public static function fill(int $left, \Closure $does): void
    {
        new self($does);
        $status = \gc_status();
        for ($roots = $status['roots']; $roots < $status['threshold'] - $left; $roots++) {
            new self(null);
        }
    }
}
