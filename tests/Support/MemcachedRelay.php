<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/**
 * A socket between one client and a memcached, that stops where a test says so: for a process that is killed or
 * stopped between two steps of a write.
 */
final class MemcachedRelay
{
    /** @var array{string, int} as Larder's store takes it */
    public readonly array $address;

    /** @var resource */
    private $listener;

    /** @var ?resource */
    private $client = null;

    /** @var resource */
    private $server;

    /** What the client has sent and the server has not got. */
    private string $kept = '';

    private readonly string $path;

    /**
     * @param array{string, int}         $server a unix socket
     * @param ?\Closure(string): string $alter  what the client says, on its way
     */
    public function __construct(array $server, private readonly ?\Closure $alter = null)
    {
        $this->path = \sys_get_temp_dir() . '/larder-relay-' . \bin2hex(\random_bytes(6));
        $this->address = [$this->path, 0];
        $listener = \stream_socket_server('unix://' . $this->path);
        $connection = \stream_socket_client('unix://' . $server[0]);
        if ($listener === false || $connection === false) {
            throw new \RuntimeException('no relay');
        }
        $this->listener = $listener;
        $this->server = $connection;
        \stream_set_blocking($connection, false);
    }

    /**
     * Passes everything on until the client sends $needle, which is kept back with all that follows it, also of the same packet.
     * The server has then done all that was passed on.
     * Called again, it goes on from there to the next one.
     */
    public function until(string $needle): void
    {
        $this->run($needle) || throw new \RuntimeException("The client never sent \"$needle\".");
    }

    /** Passes everything on until the client closes. */
    public function finish(): void
    {
        $this->run(null);
    }

    public function end(): void
    {
        \fclose($this->listener);
        \fclose($this->server);
        $this->client !== null && \fclose($this->client);
        \is_file($this->path) || \file_exists($this->path) ? \unlink($this->path) : null;
    }

    private function run(?string $needle): bool
    {
        if ($this->client === null) {
            $client = \stream_socket_accept($this->listener, 60);
            $this->client = $client === false ? throw new \RuntimeException('no client') : $client;
            \stream_set_blocking($client, false);
        }
        $from = $this->kept === '' ? 0 : 1;
        for ($deadline = \microtime(true) + 60; \microtime(true) < $deadline;) {
            if ($this->kept !== '') {
                $at = $needle === null ? false : \strpos($this->kept, $needle, $from);
                $this->send($at === false ? $this->kept : \substr($this->kept, 0, $at));
                $this->kept = $at === false ? '' : \substr($this->kept, $at);
                if ($at !== false) {
                    $this->await();

                    return true;
                }
                $from = 0;
            }
            $ready = [$this->client, $this->server];
            $none = null;
            if (\stream_select($ready, $none, $none, 0, 200_000) < 1) {
                continue;
            }
            if (\in_array($this->server, $ready, true)) {
                \fwrite($this->client, (string) \fread($this->server, 1 << 20));
            }
            if (\in_array($this->client, $ready, true)) {
                $this->kept .= (string) \fread($this->client, 1 << 20);
                if ($this->kept === '' && \feof($this->client)) {
                    return false;
                }
            }
        }

        return false;
    }

    private function send(string $bytes): void
    {
        $bytes = $this->alter === null ? $bytes : ($this->alter)($bytes);
        \stream_set_blocking($this->server, true);
        \fwrite($this->server, $bytes);
        \stream_set_blocking($this->server, false);
    }

    /** Else what a test does next over another connection may come first. The server answers a connection's commands in their order. */
    private function await(): void
    {
        \stream_set_blocking($this->server, true);
        \fwrite($this->server, "version\r\n");
        for ($replies = ''; \preg_match('/^VERSION [^\r]*\r\n\z/m', $replies, $match, \PREG_OFFSET_CAPTURE) !== 1;) {
            $read = \fread($this->server, 1 << 20);
            $replies .= $read === false || $read === '' ? throw new \RuntimeException('memcached does not answer') : $read;
        }
        \stream_set_blocking($this->server, false);
        $this->client === null || \fwrite($this->client, \substr($replies, 0, $match[0][1]));
    }
}
