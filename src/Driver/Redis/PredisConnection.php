<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Predis\Connection\Parameters;
use Predis\Connection\StreamConnection;
use Predis\PredisException;
use Predis\Response\ErrorInterface;

/**
 * By Predis 3, in plain PHP. Its connection is used without its client, which would greet (HELLO, CLIENT SETINFO)
 * and retry by itself.
 */
final class PredisConnection extends Connection
{
    private ?StreamConnection $stream = null;

    protected function open(): void
    {
        $e = $this->endpoint;
        $stream = new StreamConnection(Parameters::create([
            'scheme' => $e->socket !== null ? 'unix' : ($e->tls ? 'tls' : 'tcp'),
            'path' => $e->socket,
            'host' => $e->host,
            'port' => $e->port,
            'timeout' => $e->timeout,
            'read_write_timeout' => $e->timeout,
            // Without it, the last packet of a command that takes several waits for the server's delayed
            // acknowledgement of those before it, up to 40 ms on Linux (RFC 896, RFC 1122 section 4.2.3.2).
            'tcp_nodelay' => true,
            'ssl' => ['peer_name' => $e->host],
        ]));
        $stream->connect();
        $this->stream = $stream;
    }

    protected function exchange(#[\SensitiveParameter] array $commands, int $attempts): array
    {
        $stream = $this->stream;
        if ($stream === null) {
            throw $this->failure('not connected');
        }
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
        // Not before all is read: a server that finds nobody at the other end drops the commands that are left.
        if ($refusal !== null) {
            throw $this->refusal($refusal);
        }

        return $replies;
    }

    protected function release(): ?object
    {
        $stream = $this->stream;
        $this->stream = null;

        return $stream;
    }

    protected function shut(object $handle): void
    {
        $handle instanceof StreamConnection && $handle->disconnect();
    }

    protected function isFailure(\Throwable $e): bool
    {
        // Its streams throw plain RuntimeExceptions beside the exceptions of its own; and so may a signal's handler.
        return $e instanceof PredisException || ($e::class === \RuntimeException::class
            && \str_starts_with($e->getFile(), \dirname((string) (new \ReflectionClass(PredisException::class))->getFileName())));
    }
}
