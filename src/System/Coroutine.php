<?php

declare(strict_types=1);

namespace Larder\System;

use Revolt\EventLoop;
use Revolt\EventLoop\FiberLocal;

/**
 * Which coroutine is running: a fiber, a task of Revolt's event loop (and so of Amp), or a coroutine of Swoole.
 *
 * Revolt runs one task after another in the same fiber, and clears what is local to the task after each.
 */
final class Coroutine
{
    /** @var ?FiberLocal<Task> */
    private static ?FiberLocal $tasks = null;

    /** Stands for Swoole's main program, which is one more coroutine here. */
    private static ?\stdClass $main = null;

    /** Whether there may be coroutines that are no fibers. */
    public static function areOthers(): bool
    {
        return \class_exists('Swoole\Coroutine', false);
    }

    /** An object that lives as long as the calling coroutine does; null: the main program. */
    public static function current(): ?object
    {
        $fiber = \Fiber::getCurrent();
        if ($fiber === null) {
            return self::areOthers() ? self::ofSwoole() : null;
        }
        if (self::$tasks === null && \class_exists(EventLoop::class, false)) {
            self::$tasks = new FiberLocal(static fn(): Task => new Task());
        }

        return self::$tasks?->get() ?? $fiber;
    }

    /** Whether it has ended, although the application still holds its fiber. */
    public static function hasEnded(object $coroutine): bool
    {
        $fiber = $coroutine instanceof Task ? $coroutine->fiber?->get() : $coroutine;

        return $fiber instanceof \Fiber && $fiber->isTerminated();
    }

    /** Whether it waits: a fiber that does not, and is not the calling one, has started or resumed that one. */
    public static function isSuspended(object $coroutine): bool
    {
        $fiber = $coroutine instanceof Task ? $coroutine->fiber?->get() : $coroutine;

        return !$fiber instanceof \Fiber || $fiber->isSuspended();
    }

    /**
     * Whether Revolt's event loop resumes the calling fiber, so that it may wait while others go on. The loop itself does not say
     * who runs in it, but it has made the fibers of its callbacks: their outermost call is its own.
     */
    public static function isInLoop(): bool
    {
        if (\Fiber::getCurrent() === null || !self::hasLoop() || !\function_exists('debug_backtrace')) {
            return false;
        }
        $outermost = '';
        foreach (\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS) as $call) {
            if (($call['class'] ?? '') === \Fiber::class) {
                return \str_starts_with($outermost, 'Revolt\\EventLoop\\');
            }
            $outermost = $call['class'] ?? '';
        }

        return false;
    }

    /** Whether the caller may wait for what the event loop runs. Where the main program waits, the loop runs meanwhile. */
    public static function mayWait(): bool
    {
        return \Fiber::getCurrent() === null ? self::hasLoop() : self::isInLoop();
    }

    /** Waits while the event loop goes on. Call it where mayWait() says so. */
    public static function pause(int $microseconds): void
    {
        $suspension = EventLoop::getSuspension();
        $timer = EventLoop::delay($microseconds / 1_000_000, static fn() => $suspension->resume());
        try {
            $suspension->suspend();
        } finally {
            EventLoop::cancel($timer);
        }
    }

    private static function hasLoop(): bool
    {
        return \class_exists(EventLoop::class, false);
    }

    private static function ofSwoole(): object
    {
        // By their names: the extension may not be there.
        /** @var callable(): int $number */
        $number = ['Swoole\Coroutine', 'getCid'];
        /** @var callable(): ?object $context */
        $context = ['Swoole\Coroutine', 'getContext'];

        return ($number() < 0 ? null : $context()) ?? self::$main ??= new \stdClass();
    }
}
