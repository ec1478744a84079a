<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/** An open file of one process: which one, and where in it. */
final class Handle
{
    public int $offset = 0;

    public function __construct(public readonly int $inode) {}
}
