<?php

declare(strict_types=1);

namespace Larder\Lab\Plan;

/** A cell and the subject that is measured for it. */
final readonly class Side
{
    public function __construct(
        public Cell $cell,
        public Subject $subject,
    ) {}
}
