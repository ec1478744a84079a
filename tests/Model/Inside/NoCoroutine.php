<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Inside;

/** Stands for Coroutine: the model runs each process in a fiber, which is the main program of that process. */
final class NoCoroutine
{
    public static function areOthers(): bool
    {
        return false;
    }

    public static function current(): ?object
    {
        return null;
    }

    public static function hasEnded(object $coroutine): bool
    {
        return false;
    }

    public static function isInLoop(): bool
    {
        return false;
    }

    public static function mayWait(): bool
    {
        return false;
    }
}
