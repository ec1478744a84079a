<?php

declare(strict_types=1);

namespace Larder\Driver\Memcached;

use Larder\Driver\Disconnected;
use Larder\Driver\Socket;
use Larder\System\Failure;
use Larder\System\Fork;

/**
 * One socket to one server, speaking memcached's classic text protocol (memcached: doc/protocol.txt).
 *
 * Why not ext-memcached: libmemcached sends "quit" over every open socket when its handle is freed, so a forked
 * child that merely exits ends its parent's connection (libmemcached: src/libmemcached/quit.cc), and it cannot
 * send several commands in one packet, of which a write here needs a dozen. A PHP stream is closed without a word.
 *
 * Every call may throw Failure; the socket is closed then, and the next call opens another.
 */
final class MemcachedConnection
{
    /** Bytes of the largest item that a server can be told to take (memcached: -I). */
    private const LARGEST = 1 << 30;

    private ?Socket $socket = null;

    private int $pid = 0;

    /** True from a command until all its answers were read. If a later call finds it true, an exception has left the earlier one. */
    private bool $busy = false;

    /** Commands to send again on another socket if this one turns out to be closed; '': they must not be repeated. */
    private string $again = '';

    /** hrtime() at which the call ends. */
    private int $end = 0;

    /** @param float $timeout seconds for a call */
    public function __construct(
        private readonly string $host,
        private readonly int $port,
        private readonly float $timeout,
    ) {}

    public function __clone()
    {
        $this->socket = null;
    }

    /**
     * @param bool $repeatable the bytes may be sent twice: then a restarted server, or one that closes idle sockets, is no failure
     * @param int  $end        hrtime() at which all answers must be there
     */
    public function send(string $bytes, bool $repeatable, int $end): void
    {
        if ($this->busy || $this->pid !== Fork::pid()) {
            $this->drop();
        }
        $this->end = $end;
        $this->again = $this->socket !== null && $repeatable ? $bytes : '';
        try {
            $socket = $this->socket ?? $this->open();
            $this->busy = true;
            $socket->send($bytes, $this->end);
        } catch (Disconnected $e) {
            $this->repeat($e);
        }
    }

    /** Gives the call more time, for an answer that goes on and on. */
    public function extend(int $end): void
    {
        $this->socket?->extend($this->end = $end);
    }

    /** Notes that all answers have been read. */
    public function answered(): void
    {
        $this->busy = false;
    }

    /** One line of an answer, without its end. */
    public function line(): string
    {
        try {
            try {
                $line = $this->socket()->line();
            } catch (Disconnected $e) {
                $line = $this->repeat($e)->line();
            }
        } catch (Disconnected $e) {
            throw $this->failure($e->getMessage());
        }
        $this->again = '';

        return $line;
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
            if ($word[0] !== 'VALUE' || !isset($word[4]) || $size < 0 || $size > self::LARGEST) {
                throw $this->failure('answered "' . \substr($line, 0, 80) . '"');
            }
            try {
                $items[$word[1]] = [$this->socket()->bytes($size), $word[4]];
            } catch (Disconnected $e) {
                throw $this->failure($e->getMessage());
            }
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
        $this->socket?->close();
        $this->socket = null;
    }

    public function failure(string $what): Failure
    {
        $this->drop();

        return Failure::because('memcached', $this->host . ($this->port === 0 ? '' : ':' . $this->port) . ' ' . $what);
    }

    private function socket(): Socket
    {
        return $this->socket ?? throw $this->failure('closed');
    }

    /** @throws Disconnected */
    private function open(): Socket
    {
        $this->drop();
        $this->pid = Fork::pid();

        $this->socket = Socket::open($this->port === 0 ? 'unix://' . $this->host : 'tcp://' . $this->host . ':' . $this->port, $this->end, $this->timeout);
        $now = \hrtime(true);
        if ($now >= $this->end) {
            // Nothing limits the look-up of a name, so the call may be over its time.
            $this->end = $now + (int) ($this->timeout * 1e9);
        }

        return $this->socket;
    }

    /** Sends the commands again on another socket, if they may be and the server has closed this one. A late server may still answer. */
    private function repeat(Disconnected $cause): Socket
    {
        $bytes = $this->again;
        $this->again = '';
        if ($bytes === '' || $cause->isLate) {
            throw $this->failure($cause->getMessage());
        }
        try {
            $socket = $this->open();
            $this->busy = true;
            $socket->send($bytes, $this->end);

            return $socket;
        } catch (Disconnected $e) {
            throw $this->failure($e->getMessage());
        }
    }
}
