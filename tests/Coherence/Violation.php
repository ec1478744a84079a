<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** Something that a promise says cannot happen. */
final class Violation
{
    public function __construct(
        public readonly string $what,
        public readonly string $details,
        public readonly ?Read $read = null,
    ) {}
}
