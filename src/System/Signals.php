<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Delays the handlers of asynchronous signals (pcntl_async_signals()) while an object of this class lives. The handlers
 * run when the last of these holds ends, and their exceptions pass on from there.
 *
 * Otherwise a job's time-out handler that throws could leave a lock that was taken and not noted, or a lease that is
 * never released. Every call of an engine is limited in time, so a handler waits no longer than the time-out.
 *
 * A try with a finally does not help: PHP runs signal handlers at the jump into the finally, and an exception of theirs
 * counts as thrown inside it, so that nothing of the finally runs (php-src, Zend/zend_vm_def.h, ZEND_FAST_CALL and
 * zend_dispatch_try_catch_finally_helper). So every method that takes something it must release holds signals.
 */
final class Signals
{
    private static int $holds = 0;

    /** Whether PHP has pcntl signals at all; null: not checked yet. */
    private static ?bool $exist = null;

    /** @phpstan-ignore property.onlyWritten */
    private static bool $settled = false;

    /** @param int $before number of holds when this one began; its end restores that number, even if an inner hold was not counted down */
    private function __construct(private readonly int $before) {}

    public function __destruct()
    {
        self::$holds = $this->before;
        if ($this->before === 0) {
            \pcntl_async_signals(true);
            \pcntl_signal_dispatch();
        }
    }

    /** Delays signal handlers until the caller drops the result; null: there is nothing to delay. */
    public static function hold(): ?self
    {
        if (self::$holds !== 0) {
            return new self(self::$holds++);
        }
        if (!(self::$exist ??= \function_exists('pcntl_async_signals') && \function_exists('pcntl_signal_dispatch')) || !\pcntl_async_signals()) {
            return null;
        }
        try {
            \pcntl_async_signals(false);
            self::settle();
        } catch (\Throwable $thrown) {
            // A handler that was due just then has thrown.
            \pcntl_async_signals(true);

            throw $thrown;
        }
        self::$holds = 1;

        return new self(0);
    }

    /**
     * Lets signal handlers run during $work, which may take long, even while holds exist.
     *
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public static function letIn(\Closure $work): mixed
    {
        $holds = self::$holds;
        if ($holds === 0) {
            return $work();
        }
        $result = $thrown = null;
        // No finally, for the reason above. After the work, the next function call delays the handlers again. A handler may
        // throw before that, even on the way into the first catch.
        try {
            try {
                self::$holds = 0;
                \pcntl_async_signals(true);
                \pcntl_signal_dispatch();
                $result = $work();
            } catch (\Throwable $thrown) {
            }
            \pcntl_async_signals(false);
            self::$holds = $holds;
            self::settle();
        } catch (\Throwable $thrown) {
            \pcntl_async_signals(false);
            self::$holds = $holds;
            self::settle();
        }
        if ($thrown !== null) {
            throw $thrown;
        }

        /** @var T $result */
        return $result;
    }

    /**
     * Lets PHP handle here the signals that have arrived. PHP handles them when it enters a function; otherwise the next
     * function call would, even if handlers must wait by then (php-src, ext/pcntl/pcntl.c, pcntl_interrupt_function).
     */
    private static function settle(): void
    {
        // Not empty, so that the optimizer keeps the call.
        self::$settled = true;
    }
}
