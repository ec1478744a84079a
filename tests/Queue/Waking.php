<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

/** Leaves the id of each process that decodes it. */
final class Waking
{
    public function __construct(private readonly string $file) {}

    public function __wakeup(): void
    {
        \file_put_contents($this->file, \posix_getpid() . "\n", \FILE_APPEND);
    }
}
