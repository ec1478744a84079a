<?php

declare(strict_types=1);

namespace Larder\System;

/** Notices that this process is a forked child: it must not use what is its parent's, nor answer for it. */
final class Fork
{
    private int $process;

    public function __construct()
    {
        $this->process = Process::id();
    }

    /** Whether this is another process than at the last call, or at first than the one that made the object. */
    public function isNoticed(): bool
    {
        $process = Process::id();
        if ($process === $this->process) {
            return false;
        }
        $this->process = $process;

        return true;
    }
}
