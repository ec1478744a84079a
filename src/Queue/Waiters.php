<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;
use Larder\System\Fork;
use Larder\System\Quiet;

/**
 * Lets processes wait for a message without asking again and again: each has a named pipe in a directory while it waits, and
 * who pushes writes a byte to as many as there are messages, and removes them.
 *
 * A waiter opens its pipe before it looks for the last time, and who pushes commits before it looks for pipes: so one of the
 * two sees the other. A pipe without a reader is a dead process's, and is removed. So is the directory where no process waits:
 * then a push pays for one look.
 */
final class Waiters
{
    /** Milliseconds after which a waiter looks again in any case: a pipe's byte may have gone to a process that died of it. */
    private const LOOK = 1_000;

    /** Where there are no pipes. */
    private const POLL = 20;

    /** @var ?resource */
    private mixed $pipe = null;
    private string $path = '';
    private int $pid = 0;

    public function __construct(private readonly string $directory) {}

    public function __destruct()
    {
        $this->leave();
    }

    /** Makes this process's pipe, if it has none. */
    public function register(): void
    {
        if ($this->isRegistered() || !\function_exists('posix_mkfifo')) {
            return;
        }
        $this->leave();
        Quiet::call(function (): void {
            $this->pid = Fork::pid();
            $this->path = "$this->directory/$this->pid-" . \bin2hex(\random_bytes(4));
            // The last one that left may remove the directory just now.
            for ($try = 0; $try < 5; $try++) {
                \is_dir($this->directory) || \mkdir($this->directory, 0o700);
                if (\posix_mkfifo($this->path, 0o600)) {
                    // Open for both: so it has no end when a writer closes it.
                    $pipe = \fopen($this->path, 'r+e');
                    $this->pipe = $pipe === false ? null : $pipe;
                    $this->pipe === null || \stream_set_blocking($this->pipe, false);

                    return;
                }
            }
        });
    }

    /** Removes this process's pipe. */
    public function leave(): void
    {
        if ($this->pipe === null) {
            return;
        }
        $this->pipe = null;
        if ($this->pid === Fork::pid()) {
            Quiet::call(function (): void {
                \unlink($this->path);
                // Fails where another one waits.
                \rmdir($this->directory);
            });
        }
    }

    public function wait(int $milliseconds): void
    {
        if ($this->pipe === null) {
            Clock::pause(\min($milliseconds, self::POLL) * 1_000);

            return;
        }
        $milliseconds = \min($milliseconds, self::LOOK);
        $read = [$this->pipe];
        $write = $except = null;
        if (Quiet::call(static fn(): int|false => \stream_select($read, $write, $except, \intdiv($milliseconds, 1000), $milliseconds % 1000 * 1000)) > 0) {
            \fread($this->pipe, 4_096);
        }
    }

    /** Wakes so many waiters, or all there are. */
    public function wake(int $most): void
    {
        \clearstatcache(true, $this->directory);
        if ($most < 1 || !\is_dir($this->directory)) {
            return;
        }
        Quiet::call(function () use ($most): void {
            $names = \array_diff(\scandir($this->directory, \SCANDIR_SORT_NONE) ?: [], ['.', '..']);
            \shuffle($names);
            foreach ($names as $name) {
                // What is no pipe is not ours: a symbolic link in the directory's place may lead to anything.
                if (\filetype("$this->directory/$name") !== 'fifo') {
                    continue;
                }
                // Not blocking: it fails without a reader (fifo(7), ENXIO).
                $pipe = \fopen("$this->directory/$name", 'wne');
                if ($pipe !== false) {
                    \fwrite($pipe, '.');
                    \fclose($pipe);
                    $most--;
                }
                // The next one who pushes wakes another.
                \unlink("$this->directory/$name");
                if ($most < 1) {
                    return;
                }
            }
        });
    }

    private function isRegistered(): bool
    {
        \clearstatcache(true, $this->path);

        return $this->pipe !== null && $this->pid === Fork::pid() && \file_exists($this->path);
    }
}
