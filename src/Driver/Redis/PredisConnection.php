<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\Driver\Disconnected;
use Predis\Connection\Parameters;
use Predis\Connection\ParametersInterface;
use Predis\Connection\Resource\StreamFactory;
use Predis\Connection\StreamConnection;
use Predis\PredisException;
use Predis\Response\ErrorInterface;

/**
 * A connection by Predis 3, in plain PHP. Uses Predis's connection without its client, which would send HELLO and CLIENT
 * SETINFO and retry by itself.
 */
final class PredisConnection extends RedisConnection
{
    private ?StreamConnection $stream = null;

    /** What $stream reads from and writes to. */
    private ?PredisStream $bytes = null;

    protected function open(): bool
    {
        $e = $this->endpoint;
        $parameters = Parameters::create([
            'scheme' => $e->socket !== null ? 'unix' : ($e->tls ? 'tls' : 'tcp'),
            'path' => $e->socket,
            'host' => $e->host,
            'port' => $e->port,
            'timeout' => $this->left(),
            'read_write_timeout' => $e->timeout,
            // Without it, the last packet of a command that takes several waits for the server's delayed
            // acknowledgement of those before it, up to 40 ms on Linux (RFC 896, RFC 1122 section 4.2.3.2).
            'tcp_nodelay' => true,
            'ssl' => $e->security(),
        ]);
        $streams = new class ($e->timeout) extends StreamFactory {
            public ?PredisStream $made = null;

            public function __construct(private readonly float $timeout) {}

            public function createStream(ParametersInterface $parameters): PredisStream
            {
                $stream = parent::createStream($parameters)->detach() ?? throw new Disconnected('no stream');

                return $this->made = new PredisStream($stream, $this->timeout);
            }
        };
        $stream = new class ($parameters, $streams) extends StreamConnection {
            /** At the end of a script Predis's would close it before destructors of what was made later, which may still write. */
            public function __destruct() {}
        };
        $stream->connect();
        $this->stream = $stream;
        $this->bytes = $streams->made;

        return false;
    }

    protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array
    {
        $stream = $this->stream;
        if ($stream === null || $this->bytes === null) {
            throw $this->failure('not connected');
        }
        $this->bytes->end = $this->until;
        $buffer = '';
        foreach ($commands as $command) {
            $buffer .= '*' . \count($command) . "\r\n";
            foreach ($command as $argument) {
                $buffer .= '$' . \strlen($argument) . "\r\n" . $argument . "\r\n";
            }
        }
        $stream->write($buffer);
        $replies = [];
        $refusal = null;
        foreach ($commands as $i => $_) {
            $reply = $stream->read();
            if ($reply instanceof ErrorInterface) {
                $error = $reply->getMessage();
                if ($i >= $attempts && !\str_starts_with($error, 'NOSCRIPT')) {
                    $refusal ??= $error;
                }
                $reply = null;
            }
            $replies[] = $reply;
        }
        // Only after all replies are read: a server drops the remaining commands when the client closes the connection.
        if ($refusal !== null) {
            throw $this->refusal($refusal);
        }

        return $replies;
    }

    protected function release(): ?object
    {
        $stream = $this->stream;
        $this->stream = $this->bytes = null;

        return $stream;
    }

    protected function shut(object $handle): void
    {
        $handle instanceof StreamConnection && $handle->disconnect();
    }

    protected function isFailure(\Throwable $e): bool
    {
        // Predis's streams also throw plain RuntimeExceptions, as a signal handler may.
        return $e instanceof PredisException || $e instanceof Disconnected || ($e::class === \RuntimeException::class
            && \str_starts_with($e->getFile(), \dirname((string) (new \ReflectionClass(PredisException::class))->getFileName())));
    }
}
