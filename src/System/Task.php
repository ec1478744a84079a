<?php

declare(strict_types=1);

namespace Larder\System;

/** One task of Revolt's event loop, which may run others in the same fiber before and after it: see Coroutine. */
final class Task
{
    /** @var ?\WeakReference<\Fiber<mixed, mixed, mixed, mixed>> */
    public readonly ?\WeakReference $fiber;

    public function __construct()
    {
        /** @var ?\Fiber<mixed, mixed, mixed, mixed> $fiber */
        $fiber = \Fiber::getCurrent();
        $this->fiber = $fiber === null ? null : \WeakReference::create($fiber);
    }
}
