<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** One request in the history: its two ends and what it changed. */
final class Visit
{
    /** With everything done at its end; null: it was killed. */
    public ?int $end = null;

    /** @var array<int, list<array{int, int}>> by item: begin and end of each change that was done */
    public array $changes = [];

    /** @var array<int, int> by item: since when an intent of this request stands */
    public array $intents = [];

    /** The open transaction. */
    public ?Opened $inside = null;

    /** @var list<Written> */
    public array $writes = [];

    public function __construct(
        public readonly string $process,
        public readonly int $begin,
    ) {}
}
