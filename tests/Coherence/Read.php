<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** A value was served. */
final class Read
{
    /**
     * @param string $tier    r(equest), n(ear), t(ruth), m: by remember()
     * @param bool   $bounded its request knew that the value has a bounded life
     */
    public function __construct(
        public readonly Visit $visit,
        public readonly int $item,
        public readonly string $value,
        public readonly int $begin,
        public readonly int $end,
        public readonly string $tier,
        public readonly bool $bounded = false,
    ) {}
}
