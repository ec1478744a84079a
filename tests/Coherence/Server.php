<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Lab\Service\Silence;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;

/** A php-fpm master with an APCu of its own, and the driver that keeps it busy. */
final class Server
{
    public const WORKERS = 3;

    /** futex(2) on x86-64 and arm64: what waits for a lock in shared memory. */
    private const FUTEX = ['x86_64' => '202', 'aarch64' => '98'];

    /** Seconds; a lease is 3 in this experiment. */
    private const LONGEST_STEP = 7;

    /** Looks at each worker that hangs. */
    private const SAMPLES = 50;

    public int $calls = 0;
    public int $lost = 0;
    public bool $ended = false;
    public readonly FpmServer $fpm;
    private readonly Process $driver;

    public function __construct(public readonly Settings $settings, int $seed, int $until, int $calls)
    {
        // One worker more than connections: one that is asked for while another has just been killed.
        $before = \getenv();
        $environment = $settings->environment();
        foreach ($environment as $name => $value) {
            \putenv($value === null ? $name : "$name=$value");
        }
        $this->fpm = new FpmServer(self::WORKERS + 1, '32M', ['opcache.enable' => 1, 'display_errors' => 0, 'log_errors' => 1]);
        foreach ($environment as $name => $_) {
            \putenv("$name=$before[$name]");
        }
        $this->driver = Process::php(__DIR__ . '/driver.php', [
            (string) \json_encode($settings->toArray()), $this->fpm->socket, (string) $seed, (string) $until, (string) $calls,
            (string) self::WORKERS,
        ]);
    }

    /** What its driver said; true: a request hangs. */
    public function listen(): bool
    {
        $hangs = false;
        while (($line = $this->driver->line(0.0)) !== null) {
            if ($line === 'hang') {
                $hangs = true;
            } elseif ($line === 'end') {
                $this->ended = true;
            } else {
                [$this->calls, $this->lost] = \array_map(\intval(...), \explode(' ', $line));
            }
        }
        if (!$this->ended && !$this->driver->isRunning()) {
            throw new \RuntimeException('A driver ended: ' . $this->driver->errors());
        }

        return $hangs;
    }

    /**
     * Workers in the middle of a request that have come no step further for long: longer than a step may take, which
     * is a lease, or a pause of the program.
     *
     * @return list<int>
     */
    public function stuck(): array
    {
        $stuck = [];
        \clearstatcache();
        foreach ($this->fpm->workers() as $pid) {
            $diary = $this->settings->common . '/' . $this->settings->diaryName($pid);
            if (\is_file($diary) && \time() - (int) \filemtime($diary) >= self::LONGEST_STEP) {
                $file = \fopen($diary, 'r');
                $end = $file === false ? '' : (string) \stream_get_contents($file, -1, \max(0, (int) \filesize($diary) - 300));
                $lines = \explode("\n", \trim($end));
                if (!\str_starts_with(\end($lines), 'Z ')) {
                    $stuck[] = $pid;
                }
            }
        }

        return $stuck;
    }

    /**
     * Whether workers hang in APCu: one waits for a lock in shared memory, which among all that runs there only
     * APCu's is, or goes round and round in APCu's own code, in a table that a killed worker left half changed.
     *
     * @param list<int> $pids
     */
    public function hangsInApcu(array $pids): bool
    {
        foreach ($pids as $pid) {
            $maps = (string) Silence::of(static fn(): string|false => \file_get_contents("/proc/$pid/maps"));
            \preg_match_all('~^([0-9a-f]+)-([0-9a-f]+) .*/apcu\.so$~m', $maps, $ranges, \PREG_SET_ORDER);
            for ($sample = 0; $sample < self::SAMPLES; $sample++) {
                $where = Process::where($pid);
                if ($where[0] === (self::FUTEX[\php_uname('m')] ?? '')) {
                    return true;
                }
                foreach ($ranges as [, $from, $to]) {
                    $at = \hexdec(\end($where));
                    if ($at >= \hexdec($from) && $at < \hexdec($to)) {
                        return true;
                    }
                }
            }
        }

        return false;
    }

    /**
     * Words for people: where these workers are.
     *
     * @param list<int> $pids
     */
    public function whereabouts(array $pids): string
    {
        $words = [];
        foreach ($pids as $pid) {
            $where = Process::where($pid);
            $maps = (string) Silence::of(static fn(): string|false => \file_get_contents("/proc/$pid/maps"));
            $in = '';
            foreach (\explode("\n", $maps) as $line) {
                if (\preg_match('/^([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)$/', $line, $parts) === 1
                    && \hexdec(\end($where)) >= \hexdec($parts[1]) && \hexdec(\end($where)) < \hexdec($parts[2])) {
                    $in = $parts[3];
                }
            }
            $words[] = "$pid: system call $where[0], in $in";
        }

        return \implode('; ', $words);
    }

    /** A worker's process id. */
    public function one(): ?int
    {
        $workers = $this->fpm->workers();

        return $workers === [] ? null : $workers[\array_rand($workers)];
    }

    /** @return ?int the killed worker's process id; it is gone */
    public function kill(): ?int
    {
        $pid = $this->one();
        if ($pid === null) {
            return null;
        }
        \posix_kill($pid, \SIGKILL);

        return Process::ends($pid) ? $pid : null;
    }

    /** @return list<int> the workers that ended */
    public function reload(): array
    {
        $old = $this->fpm->workers();
        $this->fpm->reload();

        return $old;
    }

    public function stop(): void
    {
        $this->driver->kill();
        $this->fpm->stop();
    }
}
