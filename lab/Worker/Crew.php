<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/**
 * Processes that do the same at the same time.
 *
 * Everybody prepares, says so and waits; the parent names a start a little ahead and an end, by the monotonic clock, which
 * is the same for all processes (clock_gettime(2)). What ends between the two counts, whatever a process does besides;
 * what ends later does not.
 *
 * @phpstan-import-type Found from Worker
 */
final readonly class Crew
{
    /** Nanoseconds from the word to the start: the last of ten has read it by then. */
    private const AHEAD = 2_000_000;

    private const LONGER = 10;

    /**
     * @param int<1, max> $members
     * @param int<0, max> $beside  more of them, with the numbers after the members', whose operations count for nothing
     * @param float       $window  milliseconds
     */
    public function __construct(private int $members, private int $beside, private float $window) {}

    /**
     * @param \Closure(int): Bench $make of a member
     *
     * @return Found one sample: what an operation took in one of the processes, on average
     */
    public function work(\Closure $make): array
    {
        $lines = [];
        for ($member = 0; $member < $this->members + $this->beside; ++$member) {
            $lines[] = $this->start($make, $member);
        }
        $found = \array_filter(\array_map(self::hear(...), $lines)) === [] ? $this->window($lines) : [];
        foreach ($lines as $line) {
            \fwrite($line, "done\n");
        }
        foreach ($lines as $line) {
            $wrong = self::hear($line)['wrong'] ?? null;
            if (\is_string($wrong)) {
                $found = ['wrong' => $found['wrong'] ?? $wrong];
            }
            \fclose($line);
        }
        while (\pcntl_wait($status) > 0);

        return $found;
    }

    /**
     * @param list<resource> $lines
     *
     * @return Found
     */
    private function window(array $lines): array
    {
        // A request that does not end in the window is given a longer one.
        for ($window = $this->window; $window <= $this->window * self::LONGER ** 2; $window *= self::LONGER) {
            $processor = Spent::processor();
            $start = \hrtime(true) + self::AHEAD;
            $end = $start + (int) ($window * 1e6);
            foreach ($lines as $line) {
                \fwrite($line, "$start $end\n");
            }
            $said = \array_map(self::hear(...), $lines);
            foreach ($said as $one) {
                if (isset($one['wrong'])) {
                    return [];
                }
            }
            /** @var list<array{ended: int, operations: int, processor: float, until: int}> $said */
            $counted = \array_slice($said, 0, $this->members);
            $ended = \array_sum(\array_column($counted, 'ended'));
            if ($ended > 0) {
                return [
                    'samples' => [\round($this->members * $window * 1e3 / $ended, 5)],
                    'perSecond' => $ended / $window * 1e3,
                    'spent' => [
                        \array_sum(\array_column($counted, 'operations')),
                        (\max($start, ...\array_column($said, 'until')) - $start) / 1e9,
                        Spent::processor() - $processor + \array_sum(\array_column($said, 'processor')),
                    ],
                ];
            }
        }

        return ['wrong' => \sprintf('no request had ended after %s ms', $window / self::LONGER)];
    }

    /**
     * @param \Closure(int): Bench $make
     *
     * @return resource a line to it
     */
    private function start(\Closure $make, int $member)
    {
        $pair = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            throw new \RuntimeException('Cannot create a pair of sockets: are there too many open files (ulimit -n)?');
        }
        $pid = \pcntl_fork();
        if ($pid === -1) {
            throw new \RuntimeException('Cannot start another process: is there a limit (ulimit -u)?');
        }
        if ($pid === 0) {
            \fclose($pair[0]);
            self::member($pair[1], static fn(): Bench => $make($member));
            // Not exit(): what the parent will clean up is not this child's.
            \posix_kill(\posix_getpid(), \SIGKILL);
        }
        \fclose($pair[1]);

        return $pair[0];
    }

    /**
     * @param resource          $line to the parent
     * @param \Closure(): Bench $make
     */
    private static function member($line, \Closure $make): void
    {
        $wrong = $bench = null;
        $try = static function (\Closure $do) use (&$wrong, $line): void {
            try {
                $found = $wrong === null ? $do() : [];
            } catch (\Throwable $e) {
                $wrong = Worker::say($e);
                $found = [];
            }
            \fwrite($line, \json_encode($wrong === null ? $found : ['wrong' => $wrong], \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PRESERVE_ZERO_FRACTION) . "\n");
        };
        $try(static function () use ($make, &$bench): array {
            $bench = $make();
            $bench->prepare();

            return [];
        });
        while (\preg_match('/^(\d+) (\d+)$/', (string) \fgets($line), $moments) === 1) {
            $try(static function () use ($moments, &$bench): array {
                \assert($bench instanceof Bench);
                $bench->spent = new Spent();
                while (\hrtime(true) < (int) $moments[1]) {
                    \usleep(50);
                }
                $ended = $bench->until((int) $moments[2]);

                return ['ended' => $ended, 'operations' => $bench->spent->operations, 'processor' => $bench->spent->processor, 'until' => \hrtime(true)];
            });
        }
        $try(static function () use (&$bench): array {
            \assert($bench instanceof Bench);
            $bench->finish();

            return [];
        });
    }

    /**
     * @param resource $line
     *
     * @return array<mixed>
     */
    private static function hear($line): array
    {
        $said = \fgets($line);
        $found = $said === false ? null : \json_decode($said, true);

        return \is_array($found) ? $found : throw new \RuntimeException('One of the concurrent processes has died.');
    }
}
