<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

use Larder\Console\Page\Visit;
use Larder\System\Quiet;

/** One HTTP request over a stream that does not block, up to the end of its answer. */
final class Transfer
{
    private const CHUNK = 65_536;
    private const LONGEST_HEADER = 65_536;

    public int $status = 0;

    /** @var array<string, string> of the answer, by name in small letters; lines of one name are joined by commas */
    public array $fields = [];

    /** Of the answer, where it is kept. */
    public string $body = '';

    /** Why there is no whole answer; '': there is one, or it is under way. */
    public string $failure = '';

    /** How long it took, in seconds. */
    public float $seconds = 0.0;

    /** @var ?resource null: it has ended */
    private $stream;

    private bool $isConnected = false;
    private string $header = '';
    private bool $hasHeader = false;
    private int $received = 0;
    private readonly float $began;

    /** @param string $request what is still to be sent */
    private function __construct(public readonly Visit $visit, private string $request, private bool $isTls, private readonly bool $keeps, private readonly float $timeout)
    {
        $this->began = \hrtime(true) / 1e9;
    }

    /**
     * @param ?string $address host and port that are asked in the place of the URL's
     * @param bool    $keeps   whether the answer's body is wanted
     * @param float   $timeout seconds for all of it
     */
    public static function begin(Visit $visit, ?string $address, bool $keeps, float $timeout): self
    {
        [$origin, $target] = $visit->parts();
        [$scheme, $host] = \explode('://', $origin, 2);
        $lines = $visit->lines() + ['Host' => $host, 'User-Agent' => 'Larder page:warm', 'Accept' => 'text/html,*/*;q=0.8', 'Accept-Encoding' => $keeps ? 'gzip' : 'gzip, deflate, br, zstd'];
        $request = "$visit->method $target HTTP/1.1\r\n";
        foreach ($lines as $name => $value) {
            $request .= "$name: $value\r\n";
        }
        $self = new self($visit, "{$request}Connection: close\r\n\r\n", $scheme === 'https', $keeps, $timeout);
        $address ??= \preg_match('/:\d+$/D', $host) === 1 ? $host : $host . ($scheme === 'https' ? ':443' : ':80');
        $name = (string) \preg_replace('/:\d+$/D', '', $host);
        $context = \stream_context_create(['ssl' => ['peer_name' => $name, 'SNI_enabled' => true]]);
        $stream = Quiet::call(static fn(): mixed => \stream_socket_client("tcp://$address", $code, $message, $timeout, \STREAM_CLIENT_CONNECT | \STREAM_CLIENT_ASYNC_CONNECT, $context));
        if (!\is_resource($stream)) {
            $self->end("no connection to $address");

            return $self;
        }
        \stream_set_blocking($stream, false);
        $self->stream = $stream;

        return $self;
    }

    /**
     * Waits until one of them can go on, or until the time is over, and lets them go on.
     *
     * @param list<self> $transfers
     * @param float      $seconds   at most
     *
     * @return list<self> those that have ended
     */
    public static function advance(array $transfers, float $seconds): array
    {
        $read = $write = $none = [];
        foreach ($transfers as $i => $transfer) {
            if ($transfer->stream !== null) {
                $transfer->isConnected && $transfer->request === '' || ($transfer->isConnected && $transfer->isTls) ? $read[$i] = $transfer->stream : $write[$i] = $transfer->stream;
            }
        }
        if ($read === [] && $write === []) {
            $transfers === [] && \usleep((int) ($seconds * 1e6));
        } else {
            // A signal interrupts it, which is a warning.
            Quiet::call(static function () use (&$read, &$write, &$none, $seconds): void {
                \stream_select($read, $write, $none, (int) $seconds, (int) (\fmod($seconds, 1.0) * 1e6));
            });
        }
        foreach ($transfers as $i => $transfer) {
            if (isset($read[$i]) || isset($write[$i])) {
                Quiet::call($transfer->go(...));
            }
            if ($transfer->stream !== null && \hrtime(true) / 1e9 > $transfer->began + $transfer->timeout) {
                $transfer->end('no whole answer within ' . $transfer->timeout . ' s');
            }
        }

        return \array_values(\array_filter($transfers, static fn(self $transfer): bool => $transfer->stream === null));
    }

    /** Ends it where it is. */
    public function abandon(): void
    {
        $this->stream === null || $this->end('stopped');
    }

    private function go(): void
    {
        $stream = $this->stream;
        if ($stream === null) {
            return;
        }
        if (!$this->isConnected) {
            if (\stream_socket_get_name($stream, true) === false) {
                $this->end('connection refused');

                return;
            }
            $this->isConnected = true;
        }
        if ($this->isTls) {
            $done = \stream_socket_enable_crypto($stream, true, \STREAM_CRYPTO_METHOD_TLS_CLIENT);
            if ($done === false) {
                $this->end('no TLS: ' . Quiet::$reason);
            }
            if ($done !== true) {
                return;
            }
            $this->isTls = false;
        }
        if ($this->request !== '') {
            $sent = \fwrite($stream, $this->request);
            if ($sent === false) {
                $this->end('connection lost');

                return;
            }
            $this->request = \substr($this->request, $sent);

            return;
        }
        // A TLS stream may hold more than select() knows of.
        do {
            $bytes = \fread($stream, self::CHUNK);
            $bytes === false || $bytes === '' || $this->receive($bytes);
        } while ($bytes !== false && $bytes !== '' && $this->failure === '');
        if ($this->failure === '' && \feof($stream)) {
            $this->end($this->hasHeader ? $this->missing() : 'no answer');
        }
    }

    private function receive(string $bytes): void
    {
        if (!$this->hasHeader) {
            $this->header .= $bytes;
            $end = \strpos($this->header, "\r\n\r\n");
            if ($end === false) {
                \strlen($this->header) > self::LONGEST_HEADER && $this->end('no HTTP');

                return;
            }
            $bytes = \substr($this->header, $end + 4);
            $this->understand(\substr($this->header, 0, $end));
            if ($this->status >= 100 && $this->status < 200) {
                // 103 comes before the answer.
                $this->header = '';
                $this->fields = [];
                $bytes === '' || $this->receive($bytes);

                return;
            }
            $this->hasHeader = true;
        }
        $this->received += \strlen($bytes);
        if ($this->keeps) {
            $this->body .= $bytes;
            \strlen($this->body) > Sitemap::LONGEST && $this->end('longer than ' . Sitemap::LONGEST . ' bytes');
        }
    }

    private function understand(string $header): void
    {
        $lines = \explode("\r\n", $header);
        if (\preg_match('~^HTTP/1\.[01] ([1-5]\d\d)\b~', $lines[0], $status) !== 1) {
            $this->end('no HTTP');

            return;
        }
        $this->status = (int) $status[1];
        foreach (\array_slice($lines, 1) as $line) {
            [$name, $value] = \explode(':', $line, 2) + [1 => ''];
            $name = \strtolower($name);
            $this->fields[$name] = isset($this->fields[$name]) ? $this->fields[$name] . ', ' . \trim($value) : \trim($value);
        }
    }

    private function missing(): string
    {
        $length = $this->fields['content-length'] ?? null;
        if ($length !== null && (int) $length !== $this->received && $this->visit->method !== 'HEAD' && $this->status !== 304) {
            return "only $this->received of $length bytes came";
        }
        if ($this->keeps) {
            return $this->decode();
        }

        return '';
    }

    private function decode(): string
    {
        if (\strcasecmp($this->fields['transfer-encoding'] ?? '', 'chunked') === 0) {
            $file = \fopen('php://temp', 'r+');
            if ($file === false) {
                return 'no memory';
            }
            \fwrite($file, $this->body);
            \rewind($file);
            \stream_filter_append($file, 'dechunk', \STREAM_FILTER_READ);
            $this->body = (string) \stream_get_contents($file);
            \fclose($file);
        }

        return '';
    }

    private function end(string $failure): void
    {
        $this->failure = $failure;
        $this->seconds = \hrtime(true) / 1e9 - $this->began;
        if ($this->stream !== null) {
            \fclose($this->stream);
            $this->stream = null;
        }
    }
}
