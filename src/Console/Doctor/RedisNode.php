<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Config\StoreFactory;
use Larder\Console\Support\Text;
use Larder\System\Failure;

/** What one Redis, Valkey or sentinel says of itself. */
final readonly class RedisNode
{
    private const PINGS = 5;

    /**
     * @param string                $name    host and port, or the socket
     * @param string                $failure why it says nothing; '': it does
     * @param float                 $latency seconds of a round trip, the median of a few
     * @param array<string, string> $info    what INFO says
     * @param ?float                $ahead   seconds that its clock is ahead of this machine's; null: it does not tell
     */
    private function __construct(
        public string $name,
        public string $failure,
        public float $latency = 0.0,
        public array $info = [],
        public ?float $ahead = null,
    ) {}

    /** @param ?\Closure(): mixed $credentials see Options */
    public static function ask(Dsn $address, float $timeout, ?\Closure $credentials): self
    {
        $name = $address->path === '' ? "$address->host:$address->port" : $address->path;
        $connection = StoreFactory::redis($address, $timeout, credentials: $credentials);
        $times = [];
        try {
            $info = $connection->info('default');
            for ($i = 0; $i < self::PINGS; $i++) {
                $start = \hrtime(true);
                $connection->call([['PING']]);
                $times[] = (\hrtime(true) - $start) / 1e9;
            }
        } catch (Failure $failure) {
            return new self($name, $failure->getMessage());
        } finally {
            $connection->close();
        }
        $ahead = null;
        try {
            $before = \microtime(true);
            $time = $connection->call([['TIME']])[0];
            $after = \microtime(true);
            if (\is_array($time) && \is_numeric($time[0] ?? null) && \is_numeric($time[1] ?? null)) {
                $there = (float) $time[0] + $time[1] / 1e6;
                // It was asked at some moment between the two.
                $ahead = $there < $before ? $there - $before : \max(0.0, $there - $after);
            }
        } catch (Failure) {
            // A user for locks alone may not ask.
        } finally {
            $connection->close();
        }

        return new self($name, '', Timing::median($times), $info, $ahead);
    }

    /** '': it does not say. */
    public function says(string $field): string
    {
        return $this->info[$field] ?? '';
    }

    public function isPrimary(): bool
    {
        return $this->says('role') === 'master';
    }

    public function isReplica(): bool
    {
        return $this->says('role') === 'slave';
    }

    public function version(): string
    {
        return $this->says('valkey_version') === '' ? 'Redis ' . ($this->says('redis_version') ?: '?') : 'Valkey ' . $this->says('valkey_version');
    }

    /** @return list<array{host: string, port: int, state: string, bytes: int, seconds: int}> its replicas: how many bytes and seconds each is behind */
    public function replicas(): array
    {
        $replicas = [];
        foreach ($this->info as $field => $text) {
            if (\preg_match('/^slave\d+$/D', $field) === 1) {
                \preg_match_all('/(\w+)=([^,]*)/', $text, $found);
                $told = \array_combine($found[1], $found[2]);
                $replicas[] = [
                    'host' => $told['ip'] ?? '?',
                    'port' => (int) ($told['port'] ?? 0),
                    'state' => $told['state'] ?? '?',
                    'bytes' => \max(0, (int) $this->says('master_repl_offset') - (int) ($told['offset'] ?? 0)),
                    'seconds' => (int) ($told['lag'] ?? 0),
                ];
            }
        }

        return $replicas;
    }

    /** Whether a limit of memory and a policy let it forget. */
    public function evicts(): bool
    {
        return !\in_array($this->says('maxmemory'), ['', '0'], true) && !\in_array($this->says('maxmemory_policy'), ['', 'noeviction'], true);
    }

    public function hasLog(): bool
    {
        return $this->says('aof_enabled') === '1';
    }

    /** What it has after a restart, for people; '': it does not say. */
    public function persistence(): string
    {
        if ($this->says('aof_enabled') === '') {
            return '';
        }
        $now = \intdiv((int) $this->says('server_time_usec'), 1_000_000);
        $age = $now - (int) $this->says('rdb_last_save_time');

        // At its start a server sets that time too.
        return $this->hasLog() ? 'AOF' : ($age < (int) $this->says('uptime_in_seconds') - 1 ? 'no AOF, a snapshot of ' . Text::seconds($age) . ' ago' : 'no AOF, no snapshot since its start');
    }
}
