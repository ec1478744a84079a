<?php

declare(strict_types=1);

namespace Larder\Tests\Contract;

use Larder\Queue\Queue;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * Producers and workers that are killed at random: no message that was accepted is lost, and one is handled twice only
 * where its worker was killed, or was too late and was told so.
 *
 * The class that uses it has Forks and queue().
 */
trait QueueDeaths
{
    /**
     * @param \Closure(): Queue $open
     * @param int               $pause     microseconds between two deaths
     * @param ?\Closure(int): void $disturb called after each death with their number
     *
     * @return array{accepted: int, handled: int, twice: int, deaths: int}
     */
    private function dieAtRandom(\Closure $open, int $messages, int $producers, int $workers, int $pause, ?\Closure $disturb = null): array
    {
        $directory = new TemporaryDirectory();
        $start = fn(int $slot): int => $this->fork($slot < $producers
            ? static fn() => self::produce($open(), $directory->file("pushed-$slot"), "$slot", \intdiv($messages, $producers))
            : static fn() => self::handle($open(), $directory->file("handled-$slot"), $directory->file('stop')))[0];
        $running = \array_map($start, \range(0, $producers + $workers - 1));
        $deaths = $workersDeaths = 0;
        $end = \microtime(true) + 500;
        $reap = function () use (&$running): void {
            foreach ($running as $slot => $pid) {
                if (\pcntl_waitpid($pid, $status, \WNOHANG) === $pid) {
                    unset($running[$slot], $this->children[$pid]);
                }
            }
        };
        $arePushing = static function () use (&$running, $producers): bool {
            return \array_filter(\array_keys($running), static fn(int $slot): bool => $slot < $producers) !== [];
        };
        while ($arePushing()) {
            self::assertLessThan($end, \microtime(true), 'The producers hang.');
            \usleep($pause);
            $reap();
            if (!$arePushing()) {
                break;
            }
            $slot = \array_rand($running);
            if ($slot >= $producers || !self::hasPushedAll($directory->file("pushed-$slot"), \intdiv($messages, $producers))) {
                \posix_kill($running[$slot], \SIGKILL);
                \pcntl_waitpid($running[$slot], $status);
                unset($this->children[$running[$slot]]);
                $running[$slot] = $start($slot);
                $deaths++;
                $workersDeaths += $slot >= $producers ? 1 : 0;
                $disturb === null || $disturb($deaths);
            }
        }
        \touch($directory->file('stop'));
        while ($running !== []) {
            self::assertLessThan($end, \microtime(true), 'The workers hang.');
            \usleep(10_000);
            $reap();
        }

        $accepted = $begun = $handled = [];
        $late = 0;
        foreach (\glob($directory->file('*-*')) ?: [] as $file) {
            foreach (\file($file, \FILE_IGNORE_NEW_LINES) ?: [] as $line) {
                [$what, $body] = \explode(' ', $line, 2);
                match ($what) {
                    'push' => $begun[] = $body,
                    'pushed' => $accepted[] = $body,
                    'handled' => $handled[] = $body,
                    'late' => $late++,
                };
            }
        }
        self::assertSame([], \array_diff($accepted, $handled), 'None is lost.');
        self::assertSame([], \array_diff($handled, $begun), 'None is made up.');
        $twice = \count($handled) - \count(\array_unique($handled));
        self::assertLessThanOrEqual($workersDeaths + $late, $twice, 'One is handled twice only after a death.');
        self::assertSame([0, []], [$open()->size(), $open()->dead()]);

        return ['accepted' => \count($accepted), 'handled' => \count($handled), 'twice' => $twice, 'deaths' => $deaths];
    }

    /** Goes on where the last process with this file died. What that had begun may have been accepted or not. */
    private static function produce(Queue $queue, string $file, string $name, int $messages): int
    {
        \preg_match_all('/^push \d+-(\d+)$/m', \is_file($file) ? (string) \file_get_contents($file) : '', $begun);
        $log = \fopen($file, 'a');
        for ($n = \count($begun[1]); $n < $messages; $n++) {
            \fwrite($log, "push $name-$n\n");
            match ($n % 8) {
                0 => $queue->push("$name-$n", key: "$name-$n"),
                1 => $queue->push("$name-$n", 0.01),
                2 => $queue->push("$name-$n", priority: 1),
                3 => $queue->pushMany(["$name-$n"]),
                default => $queue->push("$name-$n"),
            };
            \fwrite($log, "pushed $name-$n\n");
        }

        return 1;
    }

    private static function handle(Queue $queue, string $file, string $stop): int
    {
        $log = \fopen($file, 'a');
        while (true) {
            $isLast = \is_file($stop);
            $message = $queue->pop(2, 0.5);
            if ($message === null) {
                // What a killed worker had claimed comes back after the visibility time.
                if ($isLast && $queue->stats()['claimed'] === 0) {
                    return 1;
                }
                continue;
            }
            \fwrite($log, "handled $message->body\n");
            $message->ack() || \fwrite($log, "late $message->body\n");
        }
    }

    private static function hasPushedAll(string $file, int $messages): bool
    {
        return \is_file($file) && \substr_count((string) \file_get_contents($file), "pushed ") >= $messages;
    }
}
