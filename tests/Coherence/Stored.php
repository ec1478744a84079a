<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** A value was stored: when its call began and ended, at the latest. */
final class Stored
{
    /** @param ?bool $bounded null: not known, its process died */
    public function __construct(
        public readonly int $begin,
        public int $end = \PHP_INT_MAX,
        public ?bool $bounded = null,
    ) {}
}
