<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * Stands for a network: passes on what comes in by a port of the loopback, later and no faster than a line would.
 *
 * One loop for all connections. Whatever is read goes on one of two lines, one a direction, and is written when the
 * line says that it has arrived. A connection begins with a round trip, as TCP's does (RFC 9293, section 3.5): what a
 * new client sends is read only after it.
 *
 * A reader that is slow stops its own connection alone, which is not read from while it holds WINDOW bytes. What
 * comes later than the end of one direction still arrives in the other.
 */
final class Proxy
{
    /** Of one direction of one connection, under way; as TCP without scaled windows has (RFC 9293, section 3.1). Bytes. */
    private const WINDOW = 1 << 16;

    /** Read at once, so that connections take turns. Bytes. */
    private const PIECE = 8192;

    /** Streams that are open at once; select(2) takes no number from 1024 on. */
    private const MOST = 1000;

    private readonly Line $there;
    private readonly Line $back;

    /** @var resource */
    private $listener;

    /** @var array<int, resource> that are read from, by their number; the listener is 0 */
    private array $sources = [];

    /** @var array<int, resource> whose readers have not taken all yet */
    private array $drains = [];

    /** @var array<int, Pipe> by the number of what it is read from */
    private array $bySource = [];

    /** @var array<int, Pipe> by the number of what it is written to */
    private array $byDrain = [];

    /** @var \SplQueue<array{int, Pipe}> connections whose first round trip is not over, and when it is (hrtime) */
    private \SplQueue $new;

    /**
     * @param string $target "tcp://127.0.0.1:6379"
     * @param int    $delay  of each direction, nanoseconds
     * @param int    $rate   of each direction, bits a second
     */
    public function __construct(
        private readonly string $target,
        private readonly int $delay,
        int $rate,
    ) {
        $this->there = new Line($delay, $rate);
        $this->back = new Line($delay, $rate);
        $this->new = new \SplQueue();
    }

    /** @return int the port of 127.0.0.1 that it is reached by */
    public function listen(): int
    {
        // What the listener is told holds for what it accepts.
        $context = \stream_context_create(['socket' => ['tcp_nodelay' => true, 'backlog' => 511]]);
        $code = 0;
        $message = null;
        $listener = \stream_socket_server('tcp://127.0.0.1:0', $code, $message, \STREAM_SERVER_BIND | \STREAM_SERVER_LISTEN, $context);
        if ($listener === false) {
            throw new \RuntimeException("$message");
        }
        \stream_set_blocking($listener, false);
        $this->listener = $this->sources[0] = $listener;
        $name = (string) \stream_socket_get_name($listener, false);

        return (int) \substr($name, (int) \strrpos($name, ':') + 1);
    }

    /** Never returns. */
    public function run(): never
    {
        // Peers that go away in mid-write are a matter of course.
        \set_error_handler(static fn(): bool => true);
        while (true) {
            $read = $this->sources;
            $write = $this->drains;
            $none = null;
            $wait = $this->wait();
            $ready = \stream_select($read, $write, $none, $wait === null ? null : 0, $wait);
            if ($ready !== false && $ready > 0) {
                foreach ($write as $number => $stream) {
                    // The connection may have been dropped a moment ago, in this loop.
                    isset($this->drains[$number]) && $this->write($this->byDrain[$number]);
                }
                foreach ($read as $number => $stream) {
                    if ($number === 0) {
                        $this->accept();
                    } elseif (isset($this->sources[$number])) {
                        $this->read($this->bySource[$number], $number);
                    }
                }
            }
            $this->arrive();
        }
    }

    /** Microseconds until something arrives; null if nothing is under way. */
    private function wait(): ?int
    {
        $next = $this->new->isEmpty() ? \PHP_INT_MAX : $this->new->bottom()[0];
        $next = \min($next, $this->there->due() ?? \PHP_INT_MAX, $this->back->due() ?? \PHP_INT_MAX);

        return $next === \PHP_INT_MAX ? null : \max(0, \intdiv($next - \hrtime(true) + 999, 1000));
    }

    private function accept(): void
    {
        while (isset($this->sources[0]) && ($client = \stream_socket_accept($this->listener, 0)) !== false) {
            $code = 0;
            $message = '';
            $context = \stream_context_create(['socket' => ['tcp_nodelay' => true]]);
            $server = \stream_socket_client($this->target, $code, $message, 5.0, \STREAM_CLIENT_CONNECT, $context);
            if ($server === false) {
                \fclose($client);
                continue;
            }
            foreach ([$client, $server] as $stream) {
                \stream_set_blocking($stream, false);
                \stream_set_read_buffer($stream, 0);
                \stream_set_write_buffer($stream, 0);
            }
            $up = new Pipe($this->there, $client, $server);
            $down = new Pipe($this->back, $server, $client);
            $up->back = $down;
            $down->back = $up;
            $this->bySource[(int) $client] = $this->byDrain[(int) $server] = $up;
            $this->bySource[(int) $server] = $this->byDrain[(int) $client] = $down;
            $this->sources[(int) $server] = $server;
            $this->new->enqueue([\hrtime(true) + 2 * $this->delay, $up]);
            if (\count($this->bySource) >= self::MOST) {
                unset($this->sources[0]);
            }
        }
    }

    private function read(Pipe $pipe, int $number): void
    {
        $bytes = \fread($pipe->from, self::PIECE);
        // Taken after the bytes were, never before: nothing may arrive too early.
        $now = \hrtime(true);
        if ($bytes === false || $bytes === '') {
            if ($bytes === false || \feof($pipe->from)) {
                $pipe->ended = true;
                unset($this->sources[$number]);
                $pipe->line->send($pipe, '', $now);
            }

            return;
        }
        $pipe->held += \strlen($bytes);
        if ($pipe->held >= self::WINDOW) {
            unset($this->sources[$number]);
        }
        $pipe->line->send($pipe, $bytes, $now);
    }

    private function arrive(): void
    {
        $now = \hrtime(true);
        while (!$this->new->isEmpty() && $this->new->bottom()[0] <= $now) {
            $pipe = $this->new->dequeue()[1];
            if (!$this->isDropped($pipe)) {
                $this->sources[(int) $pipe->from] = $pipe->from;
            }
        }
        foreach ([$this->there, $this->back] as $line) {
            while (($piece = $line->arrived($now)) !== null) {
                [, $pipe, $bytes] = $piece;
                if ($this->isDropped($pipe)) {
                    continue;
                }
                $pipe->over = $bytes === '';
                $pipe->arrived .= $bytes;
                $this->write($pipe);
            }
        }
    }

    private function write(Pipe $pipe): void
    {
        if ($pipe->arrived !== '') {
            $length = \fwrite($pipe->to, $pipe->arrived);
            if ($length === false) {
                $this->drop($pipe);

                return;
            }
            $pipe->arrived = \substr($pipe->arrived, $length);
            $pipe->held -= $length;
            if (!$pipe->ended && $pipe->held < self::WINDOW) {
                $this->sources[(int) $pipe->from] = $pipe->from;
            }
        }
        if ($pipe->arrived !== '') {
            $this->drains[(int) $pipe->to] = $pipe->to;

            return;
        }
        unset($this->drains[(int) $pipe->to]);
        if ($pipe->over) {
            if ($pipe->back === null || $pipe->back->over && $pipe->back->arrived === '') {
                $this->drop($pipe);
            } else {
                \stream_socket_shutdown($pipe->to, \STREAM_SHUT_WR);
            }
        }
    }

    private function isDropped(Pipe $pipe): bool
    {
        return $pipe->back === null;
    }

    /** Closes both directions. */
    private function drop(Pipe $pipe): void
    {
        foreach ([$pipe->from, $pipe->to] as $stream) {
            $number = (int) $stream;
            unset($this->sources[$number], $this->drains[$number], $this->bySource[$number], $this->byDrain[$number]);
            \fclose($stream);
        }
        if ($pipe->back !== null) {
            $pipe->back->back = null;
            $pipe->back = null;
        }
        $this->sources[0] = $this->listener;
    }
}
