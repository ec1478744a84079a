<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/**
 * One connection to a FastCGI server such as php-fpm, kept open from request to request.
 *
 * Sections are those of the FastCGI Specification, version 1.0. Of it, this is the web server's side of the responder
 * role, one request at a time on a connection (php-fpm does not multiplex).
 *
 * An open connection occupies one php-fpm worker until it is closed: hold no more of them than the pool has workers,
 * or the requests of the others wait. Requests are never sent twice: when a worker dies in the middle of one, nobody
 * knows how far it came, and the caller gets a FastCgiFailure. Only a connection found closed before anything was sent
 * is opened again silently.
 */
final class FastCgi
{
    // Section 8, types of records and values of their fields.
    private const BEGIN_REQUEST = 1;
    private const END_REQUEST = 3;
    private const PARAMS = 4;
    private const STDIN = 5;
    private const STDOUT = 6;
    private const STDERR = 7;
    private const RESPONDER = 1;
    private const KEEP_CONNECTION = 1;
    private const REQUEST_COMPLETE = 0;

    /** A record's content has at most 65,535 bytes (section 3.3); a multiple of 8 needs no padding. */
    private const LARGEST = 65_528;

    /** @var ?resource */
    private $stream;

    private bool $waiting = false;
    private int $end = 0;
    private string $input = '';
    private string $output = '';
    private string $errors = '';

    /**
     * @param string $socket   path of a Unix socket, or host:port
     * @param float  $timeout  seconds for a whole request
     */
    public function __construct(
        private readonly string $socket,
        private readonly float $timeout = 10.0,
    ) {}

    /** What a script answers to a GET of http://example.org/, by a connection of its own. */
    public static function visit(string $socket, string $script): FastCgiResponse
    {
        $connection = new self($socket, 60.0);
        try {
            return $connection->request($script, parameters: ['HTTP_HOST' => 'example.org', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/']);
        } finally {
            $connection->close();
        }
    }

    /**
     * Runs a script and returns its answer.
     *
     * @param string                           $script      absolute path
     * @param array<string, string|int|float>  $query       becomes $_GET
     * @param string                           $body        becomes php://input; the method is POST if there is one
     * @param array<string, string>            $parameters  further ones, as HTTP_COOKIE, or those that replace the usual
     */
    public function request(string $script, array $query = [], string $body = '', array $parameters = []): FastCgiResponse
    {
        $this->send($script, $query, $body, $parameters);

        return $this->receive();
    }

    /**
     * Sends a request and returns at once; receive() waits for its answer.
     *
     * @param array<string, string|int|float> $query
     * @param array<string, string>           $parameters
     */
    public function send(string $script, array $query = [], string $body = '', array $parameters = []): void
    {
        if ($this->waiting) {
            throw new \LogicException('The answer to the last request has not been received: call receive(), or close().');
        }
        $search = \http_build_query($query);
        $parameters += [
            'GATEWAY_INTERFACE' => 'CGI/1.1',
            'REQUEST_METHOD' => $body === '' ? 'GET' : 'POST',
            'SCRIPT_FILENAME' => $script,
            'SCRIPT_NAME' => '/' . \basename($script),
            'DOCUMENT_ROOT' => \dirname($script),
            'REQUEST_URI' => '/' . \basename($script) . ($search === '' ? '' : '?' . $search),
            'QUERY_STRING' => $search,
            'CONTENT_LENGTH' => (string) \strlen($body),
            'CONTENT_TYPE' => $body === '' ? '' : 'application/octet-stream',
            'REMOTE_ADDR' => '127.0.0.1',
            'SERVER_NAME' => 'localhost',
            'SERVER_PORT' => '80',
            'SERVER_PROTOCOL' => 'HTTP/1.1',
            'SERVER_SOFTWARE' => 'larder-tests',
        ];
        $pairs = '';
        foreach ($parameters as $name => $value) {
            $pairs .= self::length(\strlen($name)) . self::length(\strlen($value)) . $name . $value;
        }
        // Section 5.1: role, flags, five reserved bytes. A stream ends with an empty record (section 3.3).
        $request = self::record(self::BEGIN_REQUEST, \pack('nCx5', self::RESPONDER, self::KEEP_CONNECTION))
            . self::stream(self::PARAMS, $pairs)
            . self::stream(self::STDIN, $body);

        $this->end = \hrtime(true) + (int) ($this->timeout * 1e9);
        $this->input = $this->output = $this->errors = '';
        $stream = $this->open();
        $this->waiting = true;
        for ($sent = 0, $size = \strlen($request); $sent < $size;) {
            $this->await($stream, true);
            $count = self::quietly(static fn(): int|false => \fwrite($stream, $sent === 0 ? $request : \substr($request, $sent)));
            if ($count === false || $count === 0) {
                throw $this->failed(FastCgiFailure::lost($this->socket));
            }
            $sent += $count;
        }
    }

    /** Waits for the answer to what send() sent. */
    public function receive(): FastCgiResponse
    {
        $stream = $this->stream;
        if (!$this->waiting || $stream === null) {
            throw new \LogicException('There is no request to receive an answer to: call send() first.');
        }
        while (!$this->take()) {
            $this->await($stream, false);
            $bytes = self::quietly(static fn(): string|false => \fread($stream, 1 << 16));
            if ($bytes === false || $bytes === '') {
                throw $this->failed(FastCgiFailure::lost($this->socket));
            }
            $this->input .= $bytes;
        }
        $this->waiting = false;

        return FastCgiResponse::parse($this->output, $this->errors);
    }

    /**
     * For stream_select() over several connections: readable when an answer begins, or the connection is lost.
     *
     * @return ?resource
     */
    public function readable()
    {
        return $this->stream;
    }

    /** Gives the worker free; the next request connects again. */
    public function close(): void
    {
        if ($this->stream !== null) {
            \fclose($this->stream);
            $this->stream = null;
        }
        $this->waiting = false;
    }

    /**
     * Takes complete records from what came in; true at the end of the request.
     *
     * A record (section 3.3): version, type, request id (2 bytes), content length (2), padding length, reserved.
     */
    private function take(): bool
    {
        for ($at = 0, $size = \strlen($this->input); $size - $at >= 8; $at += 8 + $length + $padding) {
            $type = \ord($this->input[$at + 1]);
            $length = \ord($this->input[$at + 4]) << 8 | \ord($this->input[$at + 5]);
            $padding = \ord($this->input[$at + 6]);
            if ($this->input[$at] !== "\x01") {
                throw $this->failed(FastCgiFailure::badAnswer($this->socket, 'version ' . \ord($this->input[$at])));
            }
            if ($size - $at < 8 + $length + $padding) {
                break;
            }
            if ($type === self::STDOUT) {
                $this->output .= \substr($this->input, $at + 8, $length);
            } elseif ($type === self::STDERR) {
                $this->errors .= \substr($this->input, $at + 8, $length);
            } elseif ($type === self::END_REQUEST) {
                // Section 5.5: the script's exit status (4 bytes), then the protocol's.
                $status = \ord($this->input[$at + 12]);
                if ($status !== self::REQUEST_COMPLETE) {
                    throw $this->failed(FastCgiFailure::badAnswer($this->socket, 'request refused, protocol status ' . $status));
                }

                return true;
            }
        }
        $this->input = $at === 0 ? $this->input : \substr($this->input, $at);

        return false;
    }

    /** @return resource */
    private function open()
    {
        if ($this->stream !== null) {
            // Between requests only the end of the connection can be readable: the worker is gone.
            $read = [$this->stream];
            $none = null;
            if (\stream_select($read, $none, $none, 0) === 0) {
                return $this->stream;
            }
            $this->close();
        }
        $address = \str_starts_with($this->socket, '/') ? 'unix://' . $this->socket : 'tcp://' . $this->socket;
        $why = '';
        $stream = self::quietly(function () use ($address, &$why): mixed {
            return \stream_socket_client($address, $number, $why, $this->timeout);
        });
        if (!\is_resource($stream)) {
            throw FastCgiFailure::cannotConnect($this->socket, \is_string($why) ? $why : 'refused');
        }
        \stream_set_blocking($stream, false);
        \stream_set_read_buffer($stream, 0);

        return $this->stream = $stream;
    }

    /** @param resource $stream */
    private function await($stream, bool $write): void
    {
        $none = null;
        do {
            $left = \intdiv($this->end - \hrtime(true), 1000);
            if ($left <= 0) {
                throw $this->failed(FastCgiFailure::tooLate($this->socket, $this->timeout));
            }
            $wanted = [$stream];
            $ready = self::quietly(static function () use (&$wanted, &$none, $write, $left): int|false {
                return $write
                    ? \stream_select($none, $wanted, $none, \intdiv($left, 1_000_000), $left % 1_000_000)
                    : \stream_select($wanted, $none, $none, \intdiv($left, 1_000_000), $left % 1_000_000);
            });
        } while ($ready !== 1);
    }

    private function failed(FastCgiFailure $failure): FastCgiFailure
    {
        $this->close();

        return $failure;
    }

    /** Section 3.4: lengths below 128 take one byte, others four with the highest bit set. */
    private static function length(int $length): string
    {
        return $length < 128 ? \chr($length) : \pack('N', $length | 0x8000_0000);
    }

    private static function stream(int $type, string $content): string
    {
        $records = '';
        foreach ($content === '' ? [] : \str_split($content, self::LARGEST) as $part) {
            $records .= self::record($type, $part);
        }

        return $records . self::record($type, '');
    }

    /** One record of request number 1, without padding. */
    private static function record(int $type, string $content): string
    {
        return \pack('CCnnxx', 1, $type, 1, \strlen($content)) . $content;
    }

    /**
     * A broken pipe or an interrupted select() is a warning in PHP; here it is an ordinary event.
     *
     * @template T
     *
     * @param \Closure(): T $call
     *
     * @return T
     */
    private static function quietly(\Closure $call): mixed
    {
        \set_error_handler(static fn(): bool => true);
        try {
            return $call();
        } finally {
            \restore_error_handler();
        }
    }
}
