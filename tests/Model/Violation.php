<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/** Something that must never happen, and the steps that lead to it. */
final class Violation extends \RuntimeException
{
    /** @param list<string> $path */
    public function after(array $path): self
    {
        return new self($this->getMessage() . "\n  " . \implode("\n  ", $path));
    }
}
