<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

/** Can be serialized, and refuses to come back. */
final class Unrestorable
{
    public int $kept = 1;

    /** @return array<string, int> */
    public function __serialize(): array
    {
        return ['kept' => $this->kept];
    }

    /** @param array<mixed> $data */
    public function __unserialize(array $data): void
    {
        throw new \DomainException('It does not come back.');
    }
}
