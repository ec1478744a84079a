<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** A row of the database got a new version, and after that its writer told the cache, or did not. */
final class Written
{
    /** When the writer's next change of the cached value returned; null: it never did. */
    public ?int $told = null;

    public function __construct(
        public readonly Visit $visit,
        public readonly int $row,
        public readonly int $version,
        public readonly int $begin,
        public readonly int $end,
        /** When the intent that stood while it was written was put; null: none did. */
        public readonly ?int $intended,
    ) {}
}
