<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use Larder\Store\Record;
use Larder\Store\Store;

/** A memcached of the test's own, on a unix socket in a directory of its own or on a free port of 127.0.0.1. */
final class MemcachedServer
{
    private ?Program $program = null;

    private readonly TemporaryDirectory $directory;

    /** @var array{string, int} host and port, or the socket's path and 0, as Larder's store takes it */
    public readonly array $address;

    /**
     * @param int          $megabytes of memory
     * @param list<string> $options   for its command line
     */
    public function __construct(private readonly int $megabytes = 64, bool $tcp = false, private readonly array $options = [])
    {
        $this->directory = new TemporaryDirectory('larder-mc');
        $this->address = $tcp ? ['127.0.0.1', Place::freePort()] : [$this->directory->file('socket'), 0];
        $this->start();
    }

    public static function installed(): bool
    {
        return Need::find(['memcached']) !== null;
    }

    public function start(): void
    {
        [$host, $port] = $this->address;
        // Root may not run it without saying so; anybody else may not say so.
        $user = \posix_geteuid() === 0 ? ['-u', 'root'] : [];
        $listen = $port === 0 ? ['-s', $host] : ['-l', $host, '-p', (string) $port, '-U', '0'];
        $this->program = new Program('memcached', ['memcached', ...$user, ...$listen, '-m', (string) $this->megabytes, '-t', '2', ...$this->options], $this->directory->path);
        $this->program->start();
        $this->program->await(fn(): bool => $this->talk('version') !== '');
    }

    /** One command in the text protocol; the first line of the answer, '' without a server. */
    public function talk(string $command): string
    {
        [$host, $port] = $this->address;
        \set_error_handler(static fn(): bool => true);
        try {
            $socket = \stream_socket_client($port === 0 ? "unix://$host" : "tcp://$host:$port", $code, $message, 1.0);
            if ($socket === false) {
                return '';
            }
            \stream_set_timeout($socket, 1);
            \fwrite($socket, $command . "\r\n");
            $line = \trim((string) \fgets($socket));
            \fclose($socket);

            return $line;
        } finally {
            \restore_error_handler();
        }
    }

    /**
     * What each() gives, as soon as it gives that many records. The server leaves out an item of which one of its threads
     * still holds a reference: for a moment after a get, and until the next round of the thread that orders the items by use.
     *
     * @return array<array-key, Record>
     */
    public static function all(Store $store, int $count): array
    {
        $end = \hrtime(true) + 10_000_000_000;
        while (true) {
            $all = \iterator_to_array($store->each());
            if (\count($all) >= $count || \hrtime(true) > $end) {
                return $all;
            }
            \usleep(2_000);
        }
    }

    /** What it has said so far (much with the option -vv). */
    public function log(): string
    {
        return $this->program?->log() ?? '';
    }

    public function pid(): int
    {
        return $this->program?->pid() ?? 0;
    }

    public function pause(): void
    {
        Halt::process($this->pid());
    }

    public function resume(): void
    {
        \posix_kill($this->pid(), \SIGCONT);
    }

    public function stop(): void
    {
        $this->program?->kill();
        $this->program = null;
    }

    /** All that it held is gone. */
    public function restart(): void
    {
        $this->stop();
        \is_file($this->address[0]) && \unlink($this->address[0]);
        $this->start();
    }

    /** Stops it and removes its directory. */
    public function end(): void
    {
        $this->stop();
        $this->directory->remove();
    }
}
