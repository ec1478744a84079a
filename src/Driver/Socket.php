<?php

declare(strict_types=1);

namespace Larder\Driver;

/**
 * A stream to a server, for calls that end by one deadline, in however many packets the server answers.
 *
 * PHP's own time-out of a stream counts anew for each packet (main/streams/xp_socket.c), so a server that sends a byte now and
 * then could hold a request for hours. Here each further packet gets only what is left.
 *
 * Its callers keep PHP quiet (Quiet) around every call, and close it after a failure.
 */
final class Socket
{
    /** Bytes that one read takes. */
    private const CHUNK = 65536;

    /** Bytes that no line of an answer reaches. */
    private const LINE = 65536;

    /** Bytes that the kernel takes at once, where the server reads at all. */
    private const SHORT = 16384;

    /** Seconds. A stream whose time-out is zero would not wait at all. */
    private const LEAST = 0.001;

    private string $buffer = '';
    private int $at = 0;

    /** hrtime() at which the call ends. */
    private int $end = 0;

    /** Whether the stream's own time-out is what was left of an earlier call's time. */
    private bool $isShort = false;

    /** @param resource $stream */
    public function __construct(private readonly mixed $stream, private readonly float $timeout)
    {
        \stream_set_chunk_size($stream, self::CHUNK);
        // What has been read lies here, and a second buffer would only copy it.
        \stream_set_read_buffer($stream, 0);
        $this->limit($timeout);
    }

    /**
     * @param string $address as stream_socket_client() takes it
     * @param int    $end     hrtime() at which it must be open
     * @param float  $timeout seconds for a call
     *
     * @throws Disconnected
     */
    public static function open(string $address, int $end, float $timeout): self
    {
        // Small packets must not wait for each other's acknowledgement (RFC 1122, section 4.2.3.4).
        $context = \stream_context_create(['socket' => ['tcp_nodelay' => true]]);
        $seconds = \max(self::LEAST, ($end - \hrtime(true)) / 1e9);
        $stream = \stream_socket_client($address, $code, $message, $seconds, \STREAM_CLIENT_CONNECT, $context);
        if ($stream === false) {
            throw new Disconnected((string) $message);
        }

        return new self($stream, $timeout);
    }

    /**
     * Begins a call: sends what it asks. What was left of the answers to an earlier call is forgotten.
     *
     * @param int $end hrtime() at which the call ends
     *
     * @throws Disconnected the server has got a part of it, or nothing
     */
    public function send(string $bytes, int $end): void
    {
        $this->buffer = '';
        $this->at = 0;
        $this->end = $end;
        if ($this->isShort) {
            $this->limit($this->timeout);
            $this->isShort = false;
        }
        $length = \strlen($bytes);
        for ($sent = 0; $sent < $length; $sent += $some) {
            if ($sent > 0) {
                $this->shorten();
            }
            $some = (int) \fwrite($this->stream, $length <= self::SHORT ? $bytes : \substr($bytes, $sent, self::SHORT));
            if ($some === 0 || $some < \min($length - $sent, self::SHORT)) {
                throw $this->failure('does not listen');
            }
        }
    }

    /** Gives the call more time, for an answer that goes on and on. */
    public function extend(int $end): void
    {
        $this->end = $end;
    }

    /**
     * @return string the next line, without its end
     *
     * @throws Disconnected
     */
    public function line(): string
    {
        while (($end = \strpos($this->buffer, "\n", $this->at)) === false) {
            if (isset($this->buffer[$this->at + self::LINE])) {
                throw new Disconnected('answers with a line without an end');
            }
            $this->fill();
        }
        // Memcached ends the lines of some answers by an LF alone.
        $line = \substr($this->buffer, $this->at, $end - $this->at - (int) ($end > $this->at && $this->buffer[$end - 1] === "\r"));
        $this->at = $end + 1;

        return $line;
    }

    /**
     * @return string at least one byte, and at most so many
     *
     * @throws Disconnected
     */
    public function some(int $most): string
    {
        if ($this->at === \strlen($this->buffer)) {
            $this->fill();
        }
        $bytes = \substr($this->buffer, $this->at, $most);
        $this->at += \strlen($bytes);

        return $bytes;
    }

    /**
     * @return string so many bytes, without the line's end that follows them
     *
     * @throws Disconnected
     */
    public function bytes(int $length): string
    {
        if (\strlen($this->buffer) < $this->at + $length + 2) {
            // In one piece: to add to a text of many megabytes again and again would copy it again and again.
            $parts = [\substr($this->buffer, $this->at)];
            for ($have = \strlen($parts[0]); $have < $length + 2; $have += \strlen($this->buffer)) {
                $this->buffer = '';
                $this->at = 0;
                $this->fill();
                $parts[] = $this->buffer;
            }
            $this->buffer = \implode('', $parts);
            $this->at = 0;
        }
        $bytes = \substr($this->buffer, $this->at, $length);
        $this->at += $length + 2;

        return $bytes;
    }

    /** Closes the connection. */
    public function close(): void
    {
        \is_resource($this->stream) && \fclose($this->stream);
    }

    /** Reads what has come, or waits for it. */
    private function fill(): void
    {
        // As long as little of the call's time has passed, the stream's own time-out will do: most answers are one packet.
        if ($this->isShort || \hrtime(true) > $this->end - (int) ($this->timeout * 9e8)) {
            $this->shorten();
        }
        $bytes = \fread($this->stream, self::CHUNK);
        if ($bytes === false || $bytes === '') {
            throw $this->failure('has closed the connection');
        }
        $this->buffer = $this->at === \strlen($this->buffer) ? $bytes : \substr($this->buffer, $this->at) . $bytes;
        $this->at = 0;
    }

    private function failure(string $what): Disconnected
    {
        return \stream_get_meta_data($this->stream)['timed_out'] ? $this->late() : new Disconnected($what);
    }

    private function late(): Disconnected
    {
        return new Disconnected('no answer within ' . $this->timeout . ' s', true);
    }

    /** Leaves the stream only what is left of the call's time. */
    private function shorten(): void
    {
        $left = ($this->end - \hrtime(true)) / 1e9;
        if ($left < self::LEAST) {
            throw $this->late();
        }
        $this->limit($left);
        $this->isShort = true;
    }

    private function limit(float $seconds): void
    {
        \stream_set_timeout($this->stream, (int) $seconds, (int) (\fmod($seconds, 1.0) * 1e6));
    }
}
