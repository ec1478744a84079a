<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Support\Process;

/** A process on the command line, begun anew when it was killed. */
final class Worker
{
    public int $killed = 0;
    private int $before = 0;
    private int $calls = 0;
    private Process $process;

    public function __construct(
        public readonly Settings $settings,
        private int $seed,
        private readonly int $until,
        private readonly int $most,
    ) {
        $this->process = $this->start();
    }

    public function calls(): int
    {
        while (($line = $this->process->line(0.0)) !== null) {
            $this->calls = (int) $line;
        }

        return $this->before + $this->calls;
    }

    public function ended(): bool
    {
        $this->calls();
        if ($this->process->isRunning()) {
            return false;
        }
        if ($this->process->wait() !== 0) {
            throw new \RuntimeException('A process on the command line ended: ' . $this->process->errors());
        }
        $this->calls();

        return true;
    }

    public function one(): ?int
    {
        return $this->process->isRunning() ? $this->process->pid : null;
    }

    /** @return int its process id; it is gone */
    public function kill(): int
    {
        $pid = $this->process->pid;
        $this->process->kill();
        $this->before = $this->calls();
        $this->calls = 0;
        $this->killed++;

        return $pid;
    }

    public function restart(): void
    {
        $this->process = $this->start();
    }

    public function stop(): void
    {
        $this->process->kill();
    }

    private function start(): Process
    {
        $this->seed += 1_000_000;

        return Process::php(__DIR__ . '/worker.php', [
            (string) \json_encode($this->settings->toArray()), (string) $this->seed, (string) $this->until,
            (string) \max(1, $this->most - $this->before),
        ], ['apc.enable_cli' => 0, 'memory_limit' => '512M'], $this->settings->environment());
    }
}
