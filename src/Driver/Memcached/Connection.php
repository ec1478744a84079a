<?php

declare(strict_types=1);

namespace Larder\Driver\Memcached;

use Larder\System\Failure;
use Larder\System\Process;

/**
 * One socket to one server, speaking memcached's classic text protocol (memcached: doc/protocol.txt).
 *
 * Why not ext-memcached: libmemcached sends "quit" over every open socket when its handle is freed, so a forked
 * child that merely exits ends its parent's connection (libmemcached: src/libmemcached/quit.cc), and it cannot
 * send several commands in one packet, of which a write here needs a dozen. A PHP stream is closed without a word.
 *
 * Every call may throw Failure; the socket is closed then, and the next call opens another.
 */
final class Connection
{
    /** Bytes that no line of an answer reaches: the longest names a key, percent-encoded. */
    private const LINE = 4096;

    /** Bytes of the largest item that a server can be told to take (memcached: -I). */
    private const LARGEST = 1 << 30;

    /** @var ?resource */
    private $stream = null;

    private int $pid = 0;

    /** True from a command until all its answers were read. If a later call finds it true, an exception has left the earlier one. */
    private bool $busy = false;

    /** Commands to send again on another socket if this one turns out to be closed; '': they must not be repeated. */
    private string $again = '';

    /** @param float $timeout seconds, for connecting and for each wait */
    public function __construct(
        private readonly string $host,
        private readonly int $port,
        private readonly float $timeout,
    ) {}

    public function __clone()
    {
        $this->stream = null;
    }

    /** @param bool $repeatable the bytes may be sent twice: then a restarted server, or one that closes idle sockets, is no failure */
    public function send(string $bytes, bool $repeatable): void
    {
        if ($this->busy || $this->pid !== Process::id()) {
            $this->drop();
        }
        $this->again = '';
        if ($this->stream === null) {
            $this->open();
        } elseif ($repeatable) {
            $this->again = $bytes;
        }
        $this->put($bytes);
    }

    /** Notes that all answers have been read. */
    public function answered(): void
    {
        $this->busy = false;
    }

    /** One line of an answer, without its end. */
    public function line(): string
    {
        $line = $this->stream === null ? false : \fgets($this->stream, self::LINE);
        if ($line === false && $this->again !== '' && $this->closed()) {
            $bytes = $this->again;
            $this->again = '';
            $this->open();
            $this->put($bytes);
            $line = \fgets($this->stream ?? throw $this->failure('closed'), self::LINE);
        }
        $this->again = '';
        if ($line === false || !\str_ends_with($line, "\n")) {
            throw $this->failure('no answer');
        }

        return \rtrim($line, "\r\n");
    }

    /**
     * The answer to one "gets", added to $items.
     *
     * @param array<string, array{string, string}> $items key to value and CAS token
     */
    public function items(array &$items): void
    {
        while (($line = $this->line()) !== 'END') {
            $word = \explode(' ', $line);
            if ($line === 'EN') {
                // Memcached before 1.6 sends this after its answer to "mg".
                continue;
            }
            $size = (int) ($word[3] ?? -1);
            if ($word[0] !== 'VALUE' || !isset($word[4]) || $size < 0 || $size > self::LARGEST || $this->stream === null) {
                throw $this->failure('answered "' . \substr($line, 0, 80) . '"');
            }
            $value = \stream_get_contents($this->stream, $size + 2);
            if ($value === false || \strlen($value) !== $size + 2) {
                throw $this->failure('broke off');
            }
            $items[$word[1]] = [\substr($value, 0, $size), $word[4]];
        }
    }

    /** @return array<string, string> the answer to "stats" */
    public function stats(): array
    {
        $found = [];
        while (($line = $this->line()) !== 'END') {
            $words = \explode(' ', $line, 3);
            if ($words[0] !== 'STAT' || !isset($words[2])) {
                throw $this->failure('answered "' . \substr($line, 0, 80) . '"');
            }
            $found[$words[1]] = $words[2];
        }

        return $found;
    }

    /** Closes the socket without sending anything to the server: the socket may be the parent's. */
    public function drop(): void
    {
        $this->busy = false;
        if ($this->stream !== null) {
            \fclose($this->stream);
            $this->stream = null;
        }
    }

    public function failure(string $what): Failure
    {
        if ($this->stream !== null && \stream_get_meta_data($this->stream)['timed_out']) {
            $what = 'no answer within ' . $this->timeout . ' s';
        }
        $this->drop();

        return Failure::because('memcached', $this->host . ($this->port === 0 ? '' : ':' . $this->port) . ' ' . $what);
    }

    private function open(): void
    {
        $this->drop();
        $this->pid = Process::id();
        $stream = \stream_socket_client(
            $this->port === 0 ? 'unix://' . $this->host : 'tcp://' . $this->host . ':' . $this->port,
            $code,
            $message,
            $this->timeout,
            \STREAM_CLIENT_CONNECT,
            // Small packets must not wait for each other's acknowledgement (RFC 1122, section 4.2.3.4).
            \stream_context_create(['socket' => ['tcp_nodelay' => true]]),
        );
        if ($stream === false) {
            throw $this->failure('cannot be reached: ' . $message);
        }
        \stream_set_timeout($stream, (int) $this->timeout, (int) (\fmod($this->timeout, 1.0) * 1e6));
        \stream_set_chunk_size($stream, 65536);
        $this->stream = $stream;
    }

    private function put(string $bytes): void
    {
        $this->busy = true;
        $stream = $this->stream ?? throw $this->failure('closed');
        $sent = \fwrite($stream, $bytes);
        if ($sent === \strlen($bytes)) {
            return;
        }
        if ($this->again === '' || !$this->closed()) {
            throw $this->failure('does not listen');
        }
        $this->again = '';
        $this->open();
        $stream = $this->stream;
        if ($stream === null || \fwrite($stream, $bytes) !== \strlen($bytes)) {
            throw $this->failure('does not listen');
        }
    }

    /** Whether the server has closed the socket, or the socket is broken; a mere time-out does not count. */
    private function closed(): bool
    {
        return $this->stream !== null && !\stream_get_meta_data($this->stream)['timed_out'];
    }
}
