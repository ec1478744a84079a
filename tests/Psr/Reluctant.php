<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

/** Throws when it is to be serialized. */
final class Reluctant
{
    /** @return never */
    public function __serialize(): array
    {
        throw new \DomainException('It does not go.');
    }
}
