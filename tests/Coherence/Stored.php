<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** A value was stored: when its call began and ended, at the latest. */
final class Stored
{
    /** When its request rolled it back, which may not see it any more either. */
    public ?int $gone = null;

    /**
     * @param ?bool  $bounded null: not known, its process died
     * @param ?Visit $only    the request that alone may see it: a fill that was refused stays with who computed it
     *                        while the truth tier is down
     */
    public function __construct(
        public readonly int $begin,
        public readonly int $end = \PHP_INT_MAX,
        public readonly ?bool $bounded = null,
        public readonly ?Visit $only = null,
    ) {}
}
