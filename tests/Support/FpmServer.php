<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/**
 * A php-fpm master of its own: own configuration, error log, Unix socket and, above all, own APCu.
 *
 * Two of them on one machine are to Larder what two web servers are. The master and its workers end with this object,
 * and at the latest with this process: see Process.
 */
final class FpmServer
{
    public readonly string $socket;
    public readonly TemporaryDirectory $directory;

    private readonly int $children;
    private ?Process $master;

    /**
     * @param int                             $children  workers, a fixed number
     * @param string                          $apcuSize  apc.shm_size, as "32M"
     * @param array<string, string|int|float> $ini       further settings, also those that only count when PHP starts
     * @param int                             $grace     seconds that requests under way have at a reload before they are
     *                                                   ended (process_control_timeout); an idle kept connection too
     *                                                   delays a reload by this time
     * @param list<string>                    $pool      further lines of the pool's configuration
     */
    public function __construct(int $children = 2, string $apcuSize = '32M', array $ini = [], int $grace = 1, array $pool = [])
    {
        $this->children = $children;
        $this->directory = new TemporaryDirectory('larder-fpm');
        $this->socket = $this->directory->file('sock');
        $root = \posix_geteuid() === 0;
        $configuration = $this->directory->write('fpm.conf', \implode("\n", [
            '[global]',
            'error_log = ' . $this->errorLog(),
            'daemonize = no',
            'process_control_timeout = ' . $grace,
            '[test]',
            'listen = ' . $this->socket,
            'listen.mode = 0600',
            'listen.backlog = 511',
            'pm = static',
            'pm.max_children = ' . $children,
            'clear_env = no',
            'catch_workers_output = yes',
            'decorate_workers_output = no',
            ...($root ? ['user = root', 'group = root'] : []),
            ...$pool,
            '',
        ]));
        $command = [self::binary(), '--nodaemonize', '--fpm-config', $configuration];
        if ($root) {
            $command[] = '--allow-to-run-as-root';
        }
        foreach ($ini + ['apc.enabled' => 1, 'apc.shm_size' => $apcuSize, 'error_reporting' => \E_ALL] as $name => $value) {
            \array_push($command, '-d', $name . '=' . $value);
        }
        // SIGTERM: a master that gets SIGKILL leaves its workers behind.
        $this->master = new Process($command, orphaned: \SIGTERM);
        $this->await(1);
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** Whether this machine has php-fpm of the running PHP's version. */
    public static function isAvailable(): bool
    {
        return self::find() !== null;
    }

    /** A new connection; each that is open occupies a worker. */
    public function connect(float $timeout = 60.0): FastCgi
    {
        return new FastCgi($this->socket, $timeout);
    }

    /** Runs a script by a connection of its own; see FastCgi::request(). */
    public function request(string $script, string|int ...$query): FastCgiResponse
    {
        $parameters = [];
        foreach ($query as $name => $value) {
            $parameters[(string) $name] = $value;
        }
        $connection = $this->connect();
        try {
            return $connection->request($script, $parameters);
        } finally {
            $connection->close();
        }
    }

    /** Writes a script for it and returns the script's path. The code has its opening tag, or else gets the autoloader. */
    public function script(string $name, string $code): string
    {
        if (!\str_starts_with($code, '<?php')) {
            $code = "<?php\nrequire " . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ";\n" . $code;
        }

        return $this->directory->write($name, $code);
    }

    /** The master's process id; a reload does not change it. */
    public function pid(): int
    {
        return $this->running()->pid;
    }

    /**
     * The workers' process ids, from /proc/PID/task/TID/children (proc(5)).
     *
     * @return list<int>
     */
    public function workers(): array
    {
        $pid = $this->pid();
        $children = \trim((string) \file_get_contents("/proc/$pid/task/$pid/children"));

        return $children === '' ? [] : \array_map(\intval(...), \explode(' ', $children));
    }

    /** kill -9 of one worker; the master starts another. */
    public function killWorker(int $pid): void
    {
        if (!\in_array($pid, $this->workers(), true)) {
            throw new \InvalidArgumentException($pid . ' is no worker of this php-fpm.');
        }
        \posix_kill($pid, \SIGKILL);
    }

    /** kill -9 of all workers at once; returns when the master has started new ones. */
    public function killWorkers(): void
    {
        $old = $this->workers();
        foreach ($old as $pid) {
            \posix_kill($pid, \SIGKILL);
        }
        $this->awaitWorkers($old);
    }

    /** What `systemctl reload php-fpm` does: the master starts itself anew, with new workers and an empty APCu. */
    public function reload(): void
    {
        $old = $this->workers();
        $times = $this->timesReady();
        $this->running()->signal(\SIGUSR2);
        $this->await($times + 1);
        $this->awaitWorkers($old);
    }

    /** What fpm and PHP logged so far. */
    public function log(): string
    {
        return \is_file($this->errorLog()) ? (string) \file_get_contents($this->errorLog()) : '';
    }

    /** Ends the master with its workers at once, whatever they are doing. */
    public function stop(): void
    {
        if ($this->master === null || !$this->directory->isOwned()) {
            return;
        }
        // The master that ends starts no new workers; it is left alive to reap those that are killed.
        $workers = $this->master->isRunning() ? $this->workers() : [];
        $this->master->signal(\SIGTERM);
        foreach ($workers as $pid) {
            \posix_kill($pid, \SIGKILL);
        }
        if (!Process::ends($this->master->pid, 3.0)) {
            $this->master->signal(\SIGSTOP);
            foreach ($this->workers() as $pid) {
                \posix_kill($pid, \SIGKILL);
            }
        }
        $this->master->kill();
        $this->master = null;
    }

    private function errorLog(): string
    {
        return $this->directory->file('error.log');
    }

    private function running(): Process
    {
        return $this->master ?? throw new \LogicException('This php-fpm was stopped.');
    }

    private function timesReady(): int
    {
        return \substr_count($this->log(), 'ready to handle connections');
    }

    /** Waits until the master has said that often that it is ready. */
    private function await(int $times): void
    {
        $this->poll(fn(): bool => $this->timesReady() >= $times, 'is not ready');
    }

    /** @param list<int> $old */
    private function awaitWorkers(array $old): void
    {
        $this->poll(function () use ($old): bool {
            $now = $this->workers();

            return \count($now) === $this->children && \array_intersect($old, $now) === [];
        }, 'has not replaced its workers');
    }

    /** @param \Closure(): bool $condition */
    private function poll(\Closure $condition, string $problem): void
    {
        $end = \hrtime(true) + 60_000_000_000;
        while (!$condition()) {
            if (!$this->running()->isRunning() || \hrtime(true) > $end) {
                throw new \RuntimeException('php-fpm ' . $problem . '. Its log: ' . $this->log() . $this->running()->errors());
            }
            \usleep(5_000);
        }
    }

    private static function binary(): string
    {
        return self::find()
            ?? throw new \RuntimeException('No php-fpm of PHP ' . \PHP_VERSION . ' here: install it with bin/setup.');
    }

    private static function find(): ?string
    {
        $version = \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION;
        foreach (['/usr/sbin', '/usr/local/sbin', ...\explode(':', (string) \getenv('PATH'))] as $folder) {
            foreach ([$folder . '/php-fpm' . $version, $folder . '/php-fpm'] as $path) {
                if (\is_executable($path)) {
                    return $path;
                }
            }
        }

        return null;
    }
}
