<?php

declare(strict_types=1);

namespace Larder\Lab\Worker;

/**
 * Processes that do the same at the same time.
 *
 * Each cell goes in step: everybody prepares, says so and waits; the parent names a moment a little ahead; everybody
 * takes samples from that moment for as long as the window lasts. The moment is one of the monotonic clock, which is
 * the same for all processes (clock_gettime(2)).
 *
 * @phpstan-import-type Found from Worker
 */
final readonly class Crew
{
    /** Nanoseconds from the word to the start: the last of ten has read it by then. */
    private const AHEAD = 2_000_000;

    /** @param int $beside more of them, with the numbers after the members', whose samples count for nothing */
    public function __construct(private int $members, private int $beside = 0) {}

    /**
     * @param int                       $sides
     * @param \Closure(int, int): Measurable $bench of a side and a member
     *
     * @return list<Found>
     */
    public function work(int $sides, \Closure $bench, Effort $effort): array
    {
        $lines = [];
        for ($member = 0; $member < $this->members + $this->beside; ++$member) {
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
                foreach ($lines as $line) {
                    \fclose($line);
                }
                self::member($pair[1], $sides, static fn(int $side): Measurable => $bench($side, $member), $effort);
                // Not exit(): what the parent will clean up is not this child's.
                \posix_kill(\posix_getpid(), \SIGKILL);
            }
            \fclose($pair[1]);
            $lines[] = $pair[0];
        }
        $found = [];
        for ($side = 0; $side < $sides; ++$side) {
            $found[] = $this->side($lines);
        }
        foreach ($lines as $line) {
            \fclose($line);
        }
        while (\pcntl_wait($status) > 0);

        return $found;
    }

    /**
     * @param non-empty-list<resource>|list<resource> $lines one a member
     *
     * @return Found
     */
    private function side(array $lines): array
    {
        foreach ($lines as $line) {
            self::hear($line);
        }
        $start = \hrtime(true) + self::AHEAD;
        foreach ($lines as $line) {
            \fwrite($line, $start . "\n");
        }
        $samples = [];
        $rate = 0.0;
        $wrong = null;
        foreach ($lines as $member => $line) {
            $one = \json_decode(self::hear($line), true);
            \assert(\is_array($one));
            if (\is_string($one['wrong'] ?? null)) {
                $wrong ??= $one['wrong'];
                continue;
            }
            if ($member >= $this->members) {
                continue;
            }
            /** @var array{samples: list<float>, perSecond: float} $one */
            \array_push($samples, ...$one['samples']);
            $rate += $one['perSecond'];
        }

        return $wrong !== null ? ['wrong' => $wrong] : ['samples' => $samples, 'perSecond' => $rate];
    }

    /**
     * @param resource             $line to the parent
     * @param \Closure(int): Measurable $make
     */
    private static function member($line, int $sides, \Closure $make, Effort $effort): void
    {
        for ($side = 0; $side < $sides; ++$side) {
            $bench = null;
            try {
                $bench = $make($side);
                $wrong = $bench->prepare();
            } catch (\Throwable $e) {
                $wrong = $e instanceof \Exception ? Worker::say($e) : $e->getMessage();
            }
            \fwrite($line, "ready\n");
            $start = (int) self::hear($line);
            if ($bench === null || $wrong !== null) {
                \fwrite($line, \json_encode(['wrong' => $wrong], \JSON_INVALID_UTF8_SUBSTITUTE) . "\n");
                continue;
            }
            try {
                $found = self::measure($bench, $start, $effort);
                $bench->close();
            } catch (\Throwable $e) {
                $found = ['wrong' => $e instanceof \Exception ? Worker::say($e) : $e->getMessage()];
            }
            \fwrite($line, \json_encode($found, \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_PRESERVE_ZERO_FRACTION) . "\n");
        }
    }

    /**
     * One sample a process: its average over the window. A shorter one would tell whether the scheduler's turn, of some
     * milliseconds, fell into it or not.
     *
     * @return array{samples: list<float>, perSecond: float}
     */
    private static function measure(Measurable $bench, int $start, Effort $effort): array
    {
        while (\hrtime(true) < $start) {
            \usleep(50);
        }
        $end = $start + (int) ($effort->window * 1e6);
        do {
            $bench->sample();
        } while (\hrtime(true) < $end);

        return ['samples' => [$bench->average()], 'perSecond' => $bench->rate()];
    }

    /** @param resource $line */
    private static function hear($line): string
    {
        $said = \fgets($line);

        return $said === false ? throw new \RuntimeException('One of the concurrent processes has died.') : \rtrim($said);
    }
}
