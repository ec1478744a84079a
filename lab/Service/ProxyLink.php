<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** A process that passes everything on with a network's delay and rate (Proxy), both ends on the loopback. */
final class ProxyLink
{
    /** Of a packet, in each direction. Nanoseconds; half the round trip. */
    public const DELAY = 250_000;

    /** In each direction, shared by all connections. Bits a second. */
    public const RATE = 100_000_000;

    private ?Program $program = null;
    private ?Directory $home = null;

    /** @param Directory $directory the lab's; the proxy gets one of its own in it */
    public function __construct(private readonly Directory $directory) {}

    /**
     * @param array<string, string|int> $server "host" and "port" of the server
     *
     * @return array{host: string, port: int} by which it is reached over the network
     *
     * @throws ServiceFailure
     */
    public function reach(array $server): array
    {
        $this->close();
        $home = $this->home = $this->directory->sub('proxy');
        $file = $home->file('port');
        // Without php.ini: whatever extensions it loads, a debugger among them, would only cost time here.
        $this->program = $program = new Program('the delaying proxy', [
            \PHP_BINARY, '-n', __DIR__ . '/proxy.php', "tcp://{$server['host']}:{$server['port']}", (string) self::DELAY, (string) self::RATE, $file,
        ], $home->path);
        try {
            $program->start();
            $program->await(static fn(): bool => \file_exists($file));
        } catch (ServiceFailure $failure) {
            $this->close();

            throw $failure;
        }

        return ['host' => '127.0.0.1', 'port' => (int) \file_get_contents($file)];
    }

    public function close(): void
    {
        if ($this->directory->isOwned()) {
            $this->program?->stop();
            $this->program = null;
            $this->home?->remove();
        }
    }

    public function isOpen(): bool
    {
        return $this->program !== null && $this->program->isAlive();
    }

    /** @return list<int> of its process */
    public function pids(): array
    {
        return $this->program === null ? [] : [$this->program->pid()];
    }

    /** Of one that has ended by itself: why, " (signal 9: …)"; else ''. */
    public function lastWords(): string
    {
        return $this->program?->lastWords() ?? '';
    }
}
