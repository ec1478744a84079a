<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/**
 * That the user wants the run to end: Ctrl-C, or a signal from the process that started it.
 *
 * The first asks, and the run ends after the cell that it is at; the second ends the process, and the servers with it.
 */
final class Stop
{
    private int $times = 0;

    public function isAsked(): bool
    {
        return $this->times > 0;
    }

    public function ask(): void
    {
        ++$this->times;
    }

    /**
     * From now on signals come here; without ext-pcntl they end the process at once.
     *
     * @param \Closure(bool): void $tell is called at the first (false), and at the second (true), before the process ends
     */
    public function listen(\Closure $tell): void
    {
        if (!\function_exists('pcntl_async_signals')) {
            return;
        }
        \pcntl_async_signals(true);
        foreach ([\SIGINT, \SIGTERM, \SIGHUP] as $signal) {
            \pcntl_signal($signal, function (int $signal) use ($tell): void {
                $this->ask();
                $tell($this->times > 1);
                if ($this->times > 1) {
                    // exit(), so that the shutdown functions stop the servers.
                    exit(128 + $signal);
                }
            });
        }
    }

    public function ignore(): void
    {
        if (\function_exists('pcntl_signal')) {
            foreach ([\SIGINT, \SIGTERM, \SIGHUP] as $signal) {
                \pcntl_signal($signal, \SIG_DFL);
            }
        }
    }
}
