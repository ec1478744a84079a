<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** A transaction in the history, until its end. */
final class Opened
{
    /** @var array<int, ?int> by item that it has changed: since when nothing of it is valid for others; null: that was not recorded */
    public array $changed = [];

    /** @var array<int, array{int, string}> by item: what it sets at the end, and since when */
    public array $sets = [];

    /** @var list<Stored> what it has filled, for itself */
    public array $fills = [];

    public function drop(int $item): void
    {
        unset($this->sets[$item]);
    }
}
