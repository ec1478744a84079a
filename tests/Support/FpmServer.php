<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Directory;
use Larder\Lab\Service\PhpFpmServer;

/**
 * The laboratory's php-fpm with what a test does to one: own configuration, error log, Unix socket and, above all, own
 * APCu. Two of them on one machine are to Larder what two web servers are.
 */
final class FpmServer
{
    /** sched_yield(2) on x86-64 and arm64. */
    private const SCHED_YIELD = ['x86_64' => '24', 'aarch64' => '124'];

    private const SAMPLES = 20;

    public readonly string $socket;
    public readonly TemporaryDirectory $directory;

    private readonly Directory $home;
    private readonly PhpFpmServer $fpm;
    private ?string $log = null;

    /**
     * @param int                             $children  workers, a fixed number
     * @param string                          $apcuSize  apc.shm_size, as "32M"
     * @param array<string, string|int|float> $ini       further settings, also those that only count when PHP starts
     * @param int                             $grace     seconds that requests under way have at a reload before they are
     *                                                   ended; an idle kept connection too delays a reload by this time
     * @param list<string>                    $pool      further lines of the pool's configuration
     */
    public function __construct(int $children = 2, string $apcuSize = '32M', array $ini = [], int $grace = 1, array $pool = [])
    {
        $this->directory = new TemporaryDirectory('larder-fpm');
        $this->home = Directory::temporary();
        $this->fpm = new PhpFpmServer($this->home, Account::own(), \max(1, $children), $ini + ['apc.enabled' => 1, 'apc.shm_size' => $apcuSize], $grace, pool: $pool);
        $this->fpm->start();
        $this->fpm->awaitOthers([]);
        $this->socket = $this->fpm->socket();
    }

    public function __destruct()
    {
        $this->stop();
    }

    /** Whether this machine has php-fpm of the running PHP's version. */
    public static function isAvailable(): bool
    {
        return Need::find([\sprintf('php-fpm%d.%d', \PHP_MAJOR_VERSION, \PHP_MINOR_VERSION), 'php-fpm']) !== null;
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
        return $this->fpm->pid();
    }

    /** @return list<int> the workers' process ids */
    public function workers(): array
    {
        return $this->fpm->workers();
    }

    /** kill -9 of all workers at once; returns when the master has started new ones. */
    public function killWorkers(): void
    {
        $this->fpm->awaitOthers($this->killed());
    }

    /**
     * Whether it hangs in php-fpm's own lock, of its table of workers: where the death of a worker leaves that locked, the
     * others and the master try for ever, with sched_yield(2) in between (fpm_spinlock() of fpm_atomic.h).
     */
    public function hangs(): bool
    {
        $tries = 0;
        for ($sample = 0; $sample < self::SAMPLES; $sample++) {
            $tries += (int) (Process::where($this->pid())[0] === (self::SCHED_YIELD[\php_uname('m')] ?? ''));
        }

        return $tries > self::SAMPLES / 2;
    }

    /** What `systemctl reload php-fpm` does: the master starts itself anew, with new workers and an empty APCu. */
    public function reload(): void
    {
        $this->fpm->reload();
    }

    /** What fpm and PHP complained of so far. */
    public function log(): string
    {
        return $this->log ?? $this->fpm->log();
    }

    /** Ends the master with its workers at once, whatever they are doing. */
    public function stop(): void
    {
        if ($this->log === null && $this->home->isOwned()) {
            $this->log = $this->fpm->log();
            // The master that ends starts no new workers; it is left alive to reap those that are killed.
            $this->fpm->isAlive() && \posix_kill($this->pid(), \SIGTERM) && $this->killed();
            $this->fpm->stop();
            $this->home->remove();
        }
    }

    /** @return list<int> */
    private function killed(): array
    {
        $workers = $this->workers();
        foreach ($workers as $pid) {
            \posix_kill($pid, \SIGKILL);
        }

        return $workers;
    }
}
