<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** Memcached, on a unix socket or on TCP: it does not listen on both. */
final class MemcachedServer extends Server
{
    /** Enough that the lab's values are never evicted. Megabytes. */
    private const MEMORY = '1024';

    /** Its 1 MB by default would refuse large values that the other engines take. */
    private const ITEM = '8m';

    /** @param ?\Closure(): int $ports as Server takes it */
    public function __construct(Directory $directory, private readonly bool $socket, ?\Closure $ports = null)
    {
        parent::__construct($directory, 'memcached', 'memcached', ports: $ports);
    }

    protected function arguments(int $port): array
    {
        return [
            // Root may not run it without saying so; other users may not say so.
            ...(\posix_geteuid() === 0 ? ['-u', 'root'] : []),
            ...($this->socket ? ['-s', $this->home->socket('socket'), '-a', '700'] : ['-l', '127.0.0.1', '-p', (string) $port, '-U', '0']),
            '-m', self::MEMORY,
            '-I', self::ITEM,
        ];
    }

    protected function reachedBy(int $port): array
    {
        return $this->socket ? ['socket' => $this->home->socket('socket')] : ['host' => '127.0.0.1', 'port' => $port];
    }

    protected function question(): string
    {
        return "stats\r\nquit\r\n";
    }

    protected function understand(string $answer): ?array
    {
        return \preg_match('/^STAT pid (\d+)\r$/m', $answer, $pid) === 1 && \preg_match('/^STAT version (\S+)\r$/m', $answer, $version) === 1
            ? [(int) $pid[1], "Memcached $version[1]"]
            : null;
    }
}
