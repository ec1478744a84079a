<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

/** Ends a computation whose value is not to be stored: the lease goes to the next one. It never leaves this folder. */
final class NotKept extends \RuntimeException
{
    public function __construct(
        public readonly mixed $value,
        /** Whether it is the old value, so another one has to be computed later. */
        public readonly bool $isStale = false,
    ) {
        parent::__construct('A value is not stored.');
    }
}
