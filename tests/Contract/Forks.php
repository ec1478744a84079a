<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

/** Work done in other processes, for the contracts of this folder. */
trait Forks
{
    /**
     * Runs $work(0), $work(1)… each in a process of its own, all at once, and gives what they returned.
     *
     * Without processes (a store that lives in one) it runs them one after the other in this one.
     *
     * @template T
     * @param \Closure(int): T $work      its result has to be serializable
     * @param ?\Closure(): void $meanwhile called again and again until the last one has ended, and once more after it
     *
     * @return list<T>
     */
    protected function inProcesses(int $count, \Closure $work, ?\Closure $meanwhile = null): array
    {
        $results = [];
        if (!static::FORKS) {
            for ($i = 0; $i < $count; $i++) {
                $results[] = $work($i);
                $meanwhile === null || $meanwhile();
            }

            return $results;
        }
        $children = [];
        for ($i = 0; $i < $count; $i++) {
            $children[] = $this->fork(static fn() => $work($i));
        }
        $deadline = \microtime(true) + 300;
        $open = $children;
        while ($open !== []) {
            self::assertLessThan($deadline, \microtime(true), 'A child process hangs.');
            $meanwhile === null || $meanwhile();
            foreach ($open as $i => [$pid, $file]) {
                if (\pcntl_waitpid($pid, $status, \WNOHANG) === $pid) {
                    unset($open[$i], $this->children[$pid]);
                }
            }
            \usleep(1000);
        }
        $meanwhile === null || $meanwhile();
        foreach ($children as [, $file]) {
            $answer = \unserialize((string) \file_get_contents($file));
            \unlink($file);
            self::assertIsArray($answer, 'A child process died.');
            self::assertNull($answer[0], 'A child process failed: ' . $answer[0]);
            $results[] = $answer[1];
        }

        return $results;
    }

    /** @var array<int, true> process ids still to be ended by the test */
    private array $children = [];

    /** @var list<string> files with their results */
    private array $resultFiles = [];

    /**
     * @param \Closure(): mixed $work
     *
     * @return array{int, string} the child's process id; the file in which it leaves its result
     */
    protected function fork(\Closure $work): array
    {
        $file = (string) \tempnam(\sys_get_temp_dir(), 'larder-fork-');
        $this->resultFiles[] = $file;
        // Opened here: the child may become another user.
        $result = \fopen($file, 'w');
        self::assertIsResource($result);
        $pid = \pcntl_fork();
        if ($pid === 0) {
            try {
                $answer = [null, $work()];
            } catch (\Throwable $e) {
                $answer = [$e::class . ': ' . $e->getMessage() . "\n" . $e->getTraceAsString(), null];
            }
            try {
                \fwrite($result, \serialize($answer));
            } finally {
                // Not exit(): PHPUnit's shutdown functions and the parent's destructors are not the child's to run.
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
        }
        \fclose($result);
        self::assertGreaterThan(0, $pid);
        $this->children[$pid] = true;

        return [$pid, $file];
    }

    protected function killChild(int $pid): void
    {
        \posix_kill($pid, \SIGCONT);
        \posix_kill($pid, \SIGKILL);
        \pcntl_waitpid($pid, $status);
        unset($this->children[$pid]);
    }

    protected function endChildren(): void
    {
        \array_map($this->killChild(...), \array_keys($this->children));
        foreach ($this->resultFiles as $file) {
            \is_file($file) && \unlink($file);
        }
        $this->resultFiles = [];
    }

    /** @param \Closure(): bool $condition */
    protected function await(\Closure $condition): void
    {
        $end = \microtime(true) + 60;
        while (!$condition()) {
            self::assertLessThan($end, \microtime(true), 'Waited in vain.');
            \usleep(5000);
        }
    }
}
