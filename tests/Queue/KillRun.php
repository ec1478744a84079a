<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * Producers and workers of a queue, killed at random and started again, and what became of each message.
 *
 * Each process keeps a diary: a line before and after what it does, which its death does not take away. A message that was
 * accepted has to be handled; it may be handled again only if who handled it died, or could not say that it had.
 */
final class KillRun
{
    /** Seconds that a message is nobody else's. */
    private const VISIBILITY = 1;

    /** Messages of one pushMany(). */
    private const BATCH = 5;

    private readonly TemporaryDirectory $directory;

    /** @var array<int, array{string, int}> process id to role and place */
    private array $processes = [];

    private int $started = 0;

    /** @var list<string> accepted and handled by nobody */
    public array $lost = [];

    /** @var list<string> handled though nobody has begun to push them */
    public array $madeUp = [];

    /** @var list<string> handled again though they had been acknowledged in time */
    public array $repeated = [];

    /** Handled again after a kill, a failure or a stall. */
    public int $duplicates = 0;
    public int $accepted = 0;
    public int $unknown = 0;
    public int $kills = 0;

    /**
     * @param \Closure(): Queue $open
     * @param int               $pause microseconds between two kills
     * @param int<1, max>       $least kills before the producers end
     */
    public function __construct(private readonly \Closure $open, private readonly int $messages, private readonly int $producers, private readonly int $workers, private readonly int $pause = 50_000, private readonly int $least = 1)
    {
        $this->directory = new TemporaryDirectory('larder-kill');
    }

    /** @param ?\Closure(int): void $meanwhile called after each kill, with the number of kills until then */
    public function run(?\Closure $meanwhile = null): void
    {
        for ($place = 0; $place < $this->producers; $place++) {
            $this->start('producer', $place);
        }
        for ($place = 0; $place < $this->workers; $place++) {
            $this->start('worker', $place);
        }
        try {
            while ($this->processes !== []) {
                \usleep($this->pause);
                $this->collect();
                $isProducing = \in_array('producer', \array_column($this->processes, 0), true);
                if ($isProducing && $this->processes !== []) {
                    $pid = \array_rand($this->processes);
                    [$role, $place] = $this->processes[$pid];
                    ++$this->kills === $this->least && \touch($this->directory->file('killed'));
                    \posix_kill($pid, \SIGKILL);
                    \pcntl_waitpid($pid, $status);
                    unset($this->processes[$pid]);
                    $this->start($role, $place);
                    $meanwhile === null || $meanwhile($this->kills);
                }
            }
        } finally {
            foreach (\array_keys($this->processes) as $pid) {
                \posix_kill($pid, \SIGKILL);
                \pcntl_waitpid($pid, $status);
            }
        }
        $this->judge();
    }

    private function start(string $role, int $place): void
    {
        $number = ++$this->started;
        $pid = \pcntl_fork();
        if ($pid === 0) {
            $status = 1;
            try {
                $diary = \fopen($this->directory->file("$role-$place-" . \posix_getpid()), 'a');
                \assert(\is_resource($diary));
                \mt_srand($number);
                $role === 'producer' ? $this->produce($diary, $place) : $this->work($diary);
                \fwrite($diary, "end 0 0\n");
            } catch (\Throwable $thrown) {
                \file_put_contents($this->directory->file("failed-$number"), (string) $thrown);
            } finally {
                // Not exit(): PHPUnit's shutdown functions and the parent's destructors are not the child's to run.
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
        }
        $this->processes[$pid] = [$role, $place];
    }

    private function collect(): void
    {
        while (($pid = \pcntl_waitpid(-1, $status, \WNOHANG)) > 0) {
            unset($this->processes[$pid]);
        }
        foreach (\glob($this->directory->file('failed-*')) ?: [] as $file) {
            throw new \RuntimeException((string) \file_get_contents($file));
        }
    }

    /** @param resource $diary */
    private function produce($diary, int $place): void
    {
        $queue = ($this->open)();
        $last = -1;
        foreach (\glob($this->directory->file("producer-$place-*")) ?: [] as $file) {
            foreach (self::lines($file) as [$event, $message]) {
                $last = $event === 'push' ? \max($last, (int) \explode('-', $message)[1]) : $last;
            }
        }
        $most = \intdiv($this->messages, $this->producers);
        for ($n = $last + 1; $n < $most; $n += $count) {
            $count = $n % 10 === 0 ? \min(self::BATCH, $most - $n) : 1;
            // On a busy machine it would be done before the kills.
            while ($n + $count === $most && !\is_file($this->directory->file('killed'))) {
                \usleep(1_000);
            }
            $names = \array_map(static fn(int $n): string => "$place-$n", \range($n, $n + $count - 1));
            self::note($diary, 'push', ...$names);
            try {
                $count === 1
                    ? $queue->push($names[0], $n % 50 === 1 ? 0.05 : 0, $n % 3, $n % 7 === 1 ? $names[0] : null)
                    : $queue->pushMany($names);
                self::note($diary, 'accepted', ...$names);
            } catch (QueueFailure) {
                self::note($diary, 'unknown', ...$names);
                \usleep(20_000);
            }
        }
    }

    /** @param resource $diary */
    private function work($diary): void
    {
        $queue = ($this->open)();
        $message = null;
        $end = \hrtime(true) + 120_000_000_000;
        // A dead worker's message comes after its visibility.
        $patience = self::VISIBILITY + 0.3;
        while (\hrtime(true) < $end) {
            try {
                $message ??= $queue->pop(self::VISIBILITY, $patience);
                if ($message === null) {
                    if ($this->hasEnded()) {
                        return;
                    }
                    continue;
                }
                \assert(\is_string($message->body));
                $name = $message->body;
                $message2 = null;
                $since = \hrtime(true);
                self::note($diary, 'handled', $name);
                if (\mt_rand(0, 1) === 1) {
                    $isDone = $message->ack();
                } else {
                    $message2 = $queue->ackAndPop($message, self::VISIBILITY);
                    $isDone = \hrtime(true) - $since < self::VISIBILITY * 900_000_000;
                }
                self::note($diary, $isDone ? 'done' : 'late', $name);
                $message = $message2;
            } catch (QueueFailure) {
                // Whether it was acknowledged is not known; the diary has no line of it.
                $message = null;
                \usleep(20_000);
            }
        }
        throw new \RuntimeException('It does not end.');
    }

    private function hasEnded(): bool
    {
        for ($place = 0; $place < $this->producers; $place++) {
            $ends = \array_filter(\glob($this->directory->file("producer-$place-*")) ?: [], static fn(string $file): bool => \str_ends_with((string) \file_get_contents($file), "end 0 0\n"));
            if ($ends === []) {
                return false;
            }
        }

        return true;
    }

    private function judge(): void
    {
        $begun = $accepted = $handled = $closed = [];
        foreach (\glob($this->directory->file('*')) ?: [] as $file) {
            foreach (self::lines($file) as [$event, $message, $time]) {
                match ($event) {
                    'push' => $begun[$message] = true,
                    'accepted' => $accepted[$message] = true,
                    'unknown' => $this->unknown++,
                    'handled' => $handled[$message][$time] = \basename($file),
                    'done' => $closed[$message][] = $time,
                    default => null,
                };
            }
        }
        $this->accepted = \count($accepted);
        foreach (\array_keys($accepted) as $message) {
            isset($handled[$message]) || $this->lost[] = (string) $message;
        }
        $this->madeUp = \array_map(\strval(...), \array_keys(\array_diff_key($handled, $begun)));
        foreach ($handled as $message => $times) {
            \ksort($times);
            $last = \array_key_last($times);
            $this->duplicates += \count($times) - 1;
            foreach ($closed[$message] ?? [] as $time) {
                if ($time < $last) {
                    $this->repeated[] = "$message, by $times[$last], that had been done before";
                }
            }
        }
    }

    /** @param resource $diary */
    private static function note($diary, string $event, string ...$messages): void
    {
        $time = \hrtime(true);
        \fwrite($diary, \implode('', \array_map(static fn(string $message): string => "$event $message $time\n", $messages)));
    }

    /** @return iterable<array{string, string, int}> event, message and time */
    private static function lines(string $file): iterable
    {
        foreach (\explode("\n", (string) \file_get_contents($file)) as $line) {
            $parts = \explode(' ', $line);
            if (\count($parts) === 3) {
                yield [$parts[0], $parts[1], (int) $parts[2]];
            }
        }
    }
}
