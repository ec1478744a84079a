<?php

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use Larder\Tests\Coherence\Engine;
use Larder\Tests\Coherence\Incidents;
use Larder\Tests\Coherence\Outcome;
use Larder\Tests\Coherence\Settings;
use Larder\Tests\Support\ShiftedClock;
use Larder\Tests\Support\TemporaryDirectory;

/**
 * Random requests by the processes of two servers over one truth tier, amid everything that can happen to processes,
 * servers and clocks; what they saw is held against the promises by the coherence test's checker.
 *
 * This folder holds that test and nothing that others use. run.php is its command; what a request does is
 * Coherence\Program's, and what is right Coherence\Checker's.
 */
final class Fuzz
{
    /** Near tiers, by truth; the first is the usual one. */
    public const TIERS = [
        'sqlite' => ['', 'apcu', 'segment'],
        'file' => ['', 'apcu'],
        'redis' => ['', 'apcu', 'segment', 'sqlite'],
        'redis-small' => ['apcu', 'sqlite'],
        'redis-full' => ['', 'apcu'],
        'predis' => [''],
        'memcached' => ['', 'apcu', 'segment', 'sqlite'],
        'memcached-small' => ['apcu'],
        'sentinel' => ['', 'apcu', 'segment'],
        'cluster' => ['', 'apcu', 'segment'],
    ];

    private const SECOND = 1_000_000_000;

    /** Seconds that the second server's clock is ahead. */
    private const AHEAD = 90;

    /** Seconds for which a process is stopped at most, and then some. */
    private const STOPPED = 10;

    /** Seconds after which all bounded lives are over, also if they are renewed meanwhile. */
    private const REST = 4.1;

    /** Bytes of a segment: so few that it evicts. */
    private const FEW = 1_048_576;

    /** @var list<Server> */
    private array $servers = [];

    /** @var array<string, int> hrtime() at which each is due */
    private array $due = [];

    /** hrtime() at which the engine goes on; 0: it runs. */
    private int $paused = 0;

    /** hrtime() until which the engine is slow: most of the time it stands still. */
    private int $slow = 0;

    /** @var array<string, Logs> by the server's directory */
    private array $logs = [];

    /** Whether other programs damage logs in this run: what was counted then may be lost. */
    private bool $damages = false;

    private readonly Incidents $incidents;
    private readonly string $engine;
    private readonly string $near;

    /**
     * @param string $dsn       truth tier and near tier: `redis`, `redis apcu`; see all()
     * @param int    $processes of all servers
     * @param bool   $look      at all keys in the end, when nobody writes any more
     * @param bool   $nested    destructors call the cache in the middle of calls
     * @param bool   $clocks    one server's is ahead, where it can be
     */
    public function __construct(
        private readonly string $dsn,
        private readonly float $seconds,
        public readonly int $seed,
        private readonly int $processes = 8,
        private readonly bool $chaos = true,
        private readonly bool $look = true,
        private readonly bool $nested = true,
        private readonly bool $clocks = true,
    ) {
        $words = \explode(' ', $dsn);
        $this->engine = $words[0];
        $this->near = $words[1] ?? '';
    }

    /** @return list<string> */
    public static function all(): array
    {
        $all = [];
        foreach (self::TIERS as $engine => $tiers) {
            foreach ($tiers as $tier) {
                $all[] = \trim("$engine $tier");
            }
        }

        return $all;
    }

    /** What it lacks here; null: nothing. */
    public static function lacks(string $dsn): ?string
    {
        foreach (['apcu' => 'apcu', 'segment' => 'larder', 'sqlite' => 'pdo_sqlite'] as $word => $extension) {
            if (\str_contains($dsn, $word) && !\extension_loaded($extension)) {
                return "the extension $extension";
            }
        }

        return Engine::isAvailable(\explode(' ', $dsn)[0]) ? null : 'an engine: ' . \explode(' ', $dsn)[0];
    }

    /** @param ?\Closure(string): void $tell hears what goes on */
    public function run(?\Closure $tell = null): Outcome
    {
        \mt_srand($this->seed);
        $this->damages = $this->chaos && \mt_rand(0, 1) === 1;
        $start = \hrtime(true);
        $until = $start + (int) ($this->seconds * self::SECOND);
        $directory = new TemporaryDirectory('larder-f');
        $engine = new Engine($this->engine, $directory->path);
        // A far engine's clock is another's, and what it answers may have been on its way while its reader was stopped.
        $late = $this->clocks && ShiftedClock::isThere() ? self::AHEAD : 0;
        $this->incidents = new Incidents($engine->forgets(), ahead: $engine->isServer() ? $late + self::STOPPED : $late);
        $complaints = '';
        try {
            for ($i = 0; $i < 2; $i++) {
                $count = (int) \ceil(($this->processes - $i) / 2);
                $ahead = $i === 1 && $this->clocks && ShiftedClock::isThere() ? self::AHEAD : 0;
                $this->servers[] = new Server($this->settings($engine, $directory, $i), $this->seed + ($i + 1) * 100_000_000, $until, $count, $this->incidents, $ahead);
            }
            $this->accompany($engine, $until, $tell);
            if ($this->look) {
                \usleep((int) (self::REST * 1e6));
                foreach ($this->servers as $server) {
                    $server->look();
                }
            }
        } finally {
            foreach ($this->servers as $server) {
                $complaints .= $server->errors();
                $server->end();
            }
            $engine->stop();
        }

        return Outcome::of($directory->path, $this->incidents, 0, $complaints, (\hrtime(true) - $start) / 1e9);
    }

    /** @param ?\Closure(string): void $tell */
    private function accompany(Engine $engine, int $until, ?\Closure $tell): void
    {
        $looked = \hrtime(true);
        do {
            \usleep(5000);
            $ended = true;
            $over = \hrtime(true) >= $until;
            foreach ($this->servers as $server) {
                $server->goOn($over);
                $ended = $server->ended() && $ended;
            }
            if ($this->paused !== 0 && ($over || \hrtime(true) > $this->paused)) {
                $engine->resume($this->incidents);
                $this->paused = 0;
            }
            if ($this->chaos && !$over) {
                $this->disturb($engine);
            }
            if (\hrtime(true) - $looked > 5 * self::SECOND) {
                $looked = \hrtime(true);
                foreach ($this->servers as $server) {
                    foreach ($server->stuck() as $pid) {
                        $this->incidents->count(ShiftedClock::hangs($pid) ? 'hangs in libfaketime' : Outcome::OTHER_HANGS);
                        $tell === null || $tell("$pid hangs: " . \trim((string) \file_get_contents("/proc/$pid/wchan")) . ' ' . \trim((string) \file_get_contents("/proc/$pid/syscall")));
                        $server->restart();
                        break;
                    }
                }
            }
        } while (!$ended);
    }

    private function disturb(Engine $engine): void
    {
        $server = $this->servers[\array_rand($this->servers)];
        $hasApcu = $this->near === 'apcu';
        // APCu does not survive a kill in its own code: those that share it go together.
        if (!$hasApcu && $this->isDue('process killed', 0.3, 1.2)) {
            $server->kill();
        }
        if ($this->isDue('process stopped for a moment', 0.2, 0.8)) {
            $server->stop(\mt_rand(1, 300) / 1000);
        }
        if ($this->isDue('process stopped for long', 4.0, 9.0)) {
            $server->stop(\mt_rand(1000, 7000) / 1000);
        }
        if ($this->isDue('server killed', 4.0, 9.0)) {
            $server->restart($this->punch(...));
        }
        if ($hasApcu && $this->isDue('APCu emptied', 1.0, 4.0)) {
            $server->clearApcu();
        }
        $logs = $this->logs[$server->settings->directory] ??= new Logs($server->settings);
        if ($this->isDue('append torn', 0.02, 0.2)) {
            $logs->tear();
        }
        if ($this->isDue('values remembered', 0.5, 2.0)) {
            $logs->remember();
        }
        if ($this->damages && $this->isDue('log damaged', 0.3, 2.0)) {
            $engine->isServer() ? $logs->damage() : $this->incidents->lose($logs->damage(...));
        }
        if (!$engine->isServer() || $this->paused !== 0) {
            return;
        }
        if ($this->isDue('engine emptied', 2.0, 5.0)) {
            $this->incidents->lose($engine->empty(...));
        }
        if ($this->isDue('scripts forgotten', 0.5, 2.0)) {
            $engine->forgetScripts();
        }
        if ($this->isDue('engine slow', 4.0, 9.0)) {
            $this->slow = \hrtime(true) + \mt_rand(500, 2000) * 1_000_000;
        }
        if (\hrtime(true) < $this->slow) {
            // Some answers arrive just before the time-out and some just after it; what timed out is executed all the same.
            $engine->pause();
            $this->paused = \hrtime(true) + \mt_rand(1, 270) * 1_000_000;
        } elseif ($this->isDue('engine paused', 3.0, 8.0)) {
            $engine->pause();
            $this->paused = \hrtime(true) + \mt_rand(1, 2000) * 1_000_000;
        } elseif ($this->isDue('snapshot', 2.0, 3.0)) {
            $engine->keep();
        } elseif ($this->isDue('engine restarted', 4.0, 9.0)) {
            $ways = $engine->restarts();
            $this->incidents->lose(static fn() => $engine->restart($ways[\array_rand($ways)]));
        }
    }

    /** Punches a hole in the segment that the killed processes of a server have left, as other programs may. */
    private function punch(Server $server): void
    {
        $file = $server->settings->directory . '/segment/segment';
        if ($this->damages && \is_file($file)) {
            \chmod($file, 0o600);
            $from = \mt_rand(0, self::FEW);
            \exec(\sprintf('fallocate --punch-hole --offset %d --length %d %s 2>&1', $from, \mt_rand(1, self::FEW - $from + 1), \escapeshellarg($file)), $said, $status);
            $this->incidents->count($status === 0 ? 'hole in a segment' : 'file system without holes');
        }
    }

    /** Whether it is time for this; if so, the next time is this many seconds away. */
    private function isDue(string $what, float $least, float $most): bool
    {
        $now = \hrtime(true);
        $first = !isset($this->due[$what]);
        if (!$first && $now < $this->due[$what]) {
            return false;
        }
        $this->due[$what] = $now + (int) (($least + ($most - $least) * \mt_rand() / \mt_getrandmax()) * self::SECOND);
        $first || $this->incidents->count($what);

        return !$first;
    }

    private function settings(Engine $engine, TemporaryDirectory $directory, int $server): Settings
    {
        $own = $directory->file("server-$server");
        \mkdir($own, 0o700);
        $near = match ($this->near) {
            'apcu' => 'apcu',
            'segment' => "segment://$own/segment/segment?bytes=" . self::FEW,
            'sqlite' => "sqlite://$own/near",
            default => 'none',
        };

        return new Settings(
            $engine->dsn(),
            $own,
            $directory->path,
            $near,
            true,
            $this->chaos ? 0.25 : 2.0,
            $this->nested,
        );
    }
}
