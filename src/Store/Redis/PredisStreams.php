<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

use Predis\Connection\ParametersInterface;
use Predis\Connection\Resource\Exception\StreamInitException;
use Predis\Connection\Resource\Stream;
use Predis\Connection\Resource\StreamFactory;
use Psr\Http\Message\StreamInterface;

/**
 * Predis' streams, made to keep the time-out within a reply.
 *
 * After a time-out fread() returns '' and is not at the end, which Predis takes for "nothing yet" and asks again,
 * for ever (Predis 3.7.1, StreamConnection::readByChunks): a server that hangs after half a value would hang its
 * callers with it. After half a line fgets() gives the half.
 */
final class PredisStreams extends StreamFactory
{
    public function createStream(ParametersInterface $parameters): StreamInterface
    {
        $socket = parent::createStream($parameters)->detach();
        if ($socket === null) {
            throw new StreamInitException('Predis gave no socket');
        }

        return new class ($socket) extends Stream {
            public function read(int $length): string
            {
                $bytes = parent::read($length);
                if (($bytes === '' || ($length === -1 && $bytes[-1] !== "\n")) && $this->getMetadata('timed_out') === true) {
                    throw new \RuntimeException('The server did not answer in time', 2);
                }

                return $bytes;
            }
        };
    }
}
