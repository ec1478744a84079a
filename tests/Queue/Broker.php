<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Tests\Support\Process;

/** A broker of ZeroMQ in a process of its own, which goes with this object. */
final class Broker
{
    public readonly Process $process;

    public function __construct(public readonly string $dsn, string ...$options)
    {
        $this->process = new Process([\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'queue:serve', $dsn, ...\array_values($options)]);
        $end = \hrtime(true) + 30_000_000_000;
        while (!\str_contains($this->process->errors(), 'serving')) {
            if (!$this->process->isRunning() || \hrtime(true) > $end) {
                throw new \RuntimeException('The broker does not start: ' . $this->process->errors());
            }
            \usleep(5_000);
        }
    }
}
