<?php

declare(strict_types=1);

namespace Larder\Queue;

/**
 * Holds signals back while a call of ZeroMQ runs.
 *
 * A signal lets such a call throw, and PHP then drops a handler that it would call asynchronously, because no function is
 * called while an exception is under way (Zend/zend_execute_API.c, zend_call_function).
 */
final readonly class ZmqSignals
{
    private function __construct(private bool $areAsynchronous) {}

    public static function hold(): self
    {
        return new self(\function_exists('pcntl_async_signals') && \pcntl_async_signals(false));
    }

    /** Calls the handlers of what has arrived. */
    public function handle(): void
    {
        if ($this->areAsynchronous) {
            \pcntl_signal_dispatch();
        }
    }

    public function release(): void
    {
        if ($this->areAsynchronous) {
            \pcntl_async_signals(true);
            \pcntl_signal_dispatch();
        }
    }
}
