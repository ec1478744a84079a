<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Service\Services;

/** What a task has around it while it is measured. */
final readonly class Context
{
    /**
     * @param string $directory private to the run, on the disk that the engines which keep files write to
     * @param int    $seed      of this task in this round
     */
    public function __construct(
        public Services $services,
        public string $directory,
        public int $seed,
    ) {}
}
