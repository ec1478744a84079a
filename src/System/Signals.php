<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Keeps handlers of asynchronous signals (pcntl_async_signals()) out while it is held: they run when the last hold ends,
 * and what they throw passes on from there.
 *
 * A job's time-out that throws would otherwise leave a lock taken and not noted, or a lease that nobody gives back: an
 * engine cannot undo what it does not know to have done. Every call of an engine is bounded, so a handler waits no
 * longer than the time-out.
 *
 * A try with a finally does not help there: PHP looks for signals at the jump into the finally, and what a handler throws
 * then counts as thrown inside it, so that nothing of it is done (php-src, Zend/zend_vm_def.h, ZEND_FAST_CALL and
 * zend_dispatch_try_catch_finally_helper). So whatever takes something that must be given back is held.
 */
final class Signals
{
    private static int $holds = 0;

    /** Whether PHP can hand signals on at all; null: not looked yet. */
    private static ?bool $exist = null;

    /** @phpstan-ignore property.onlyWritten */
    private static bool $settled = false;

    /** @param int $before holds when this one began, which also count again should one inside it not have been counted back */
    private function __construct(private readonly int $before) {}

    public function __destruct()
    {
        self::$holds = $this->before;
        if ($this->before === 0) {
            \pcntl_async_signals(true);
            \pcntl_signal_dispatch();
        }
    }

    /** Held until the result is let go of; null where nothing has to be. */
    public static function hold(): ?self
    {
        if (self::$holds !== 0) {
            return new self(self::$holds++);
        }
        if (!(self::$exist ??= \function_exists('pcntl_async_signals')) || !\pcntl_async_signals()) {
            return null;
        }
        try {
            \pcntl_async_signals(false);
            self::settle();
        } catch (\Throwable $thrown) {
            // A handler that was due just then.
            \pcntl_async_signals(true);

            throw $thrown;
        }
        self::$holds = 1;

        return new self(0);
    }

    /**
     * Lets them in while $work runs, whoever holds: it may take long.
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
        // No finally, see above: where the work ends, the next function that is called keeps them out. A handler may throw
        // before that, also on the way into the first catch.
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
     * What had arrived is handled here: PHP looks for it when it enters a function, and would do so at the next one, however
     * signals are to be handled by then (php-src, ext/pcntl/pcntl.c, pcntl_interrupt_function).
     */
    private static function settle(): void
    {
        // Not empty, or the optimizer would leave the call out.
        self::$settled = true;
    }
}
