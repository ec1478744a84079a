<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * Keeps signal handlers waiting while something is between two states.
 *
 * A handler that ends the process right after proc_open() and before its result is kept would leave PHP waiting for
 * the child for ever. The signals are not blocked, for a child would inherit that: only PHP's own handlers wait.
 */
final class Signals
{
    /**
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public static function held(\Closure $work): mixed
    {
        if (!\function_exists('pcntl_async_signals') || !\pcntl_async_signals()) {
            return $work();
        }
        \pcntl_async_signals(false);
        try {
            return $work();
        } finally {
            \pcntl_async_signals(true);
            \pcntl_signal_dispatch();
        }
    }
}
