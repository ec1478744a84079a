<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

/** A value that does something while it is encoded, once. */
final class Interrupting
{
    public function __construct(private ?\Closure $meanwhile) {}

    /** @return array<string, mixed> */
    public function __serialize(): array
    {
        $meanwhile = $this->meanwhile;
        $this->meanwhile = null;
        $meanwhile?->__invoke();

        return [];
    }

    /** @param array<string, mixed> $data */
    public function __unserialize(array $data): void
    {
        $this->meanwhile = null;
    }
}
