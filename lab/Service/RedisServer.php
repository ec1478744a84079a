<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Redis or Valkey, on a unix socket and on TCP at once; it keeps nothing on the disk. */
final class RedisServer extends Server
{
    public const REDIS = 'redis';

    /**
     * @param string           $kind  REDIS or "valkey"
     * @param ?\Closure(): int $ports as Server takes it
     */
    public function __construct(Directory $directory, string $kind = self::REDIS, ?\Closure $ports = null)
    {
        parent::__construct($directory, $kind, "$kind-server", ports: $ports);
    }

    protected function arguments(int $port): array
    {
        return [
            '--bind', '127.0.0.1',
            '--port', (string) $port,
            '--unixsocket', $this->home->socket('socket'),
            '--unixsocketperm', '700',
            '--dir', $this->home->path,
            '--daemonize', 'no',
            '--save', '',
            '--appendonly', 'no',
        ];
    }

    protected function reachedBy(int $port): array
    {
        return ['socket' => $this->home->socket('socket'), 'host' => '127.0.0.1', 'port' => $port];
    }

    protected function question(): string
    {
        return "INFO server\r\nQUIT\r\n";
    }

    protected function understand(string $answer): ?array
    {
        // Valkey has both versions; its redis_version is the one that it is compatible with.
        return \preg_match('/^process_id:(\d+)\r$/m', $answer, $pid) === 1
            && \preg_match('/^(redis|valkey)_version:([^\r]+)\r$/m', (string) \preg_replace('/^redis_version(?=.*^valkey_version)/ms', 'compatible', $answer), $version) === 1
            ? [(int) $pid[1], \ucfirst($version[1]) . " $version[2]"]
            : null;
    }
}
