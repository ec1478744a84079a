<?php

declare(strict_types=1);

namespace Larder\Driver\Redis;

use Larder\Driver\Disconnected;
use Larder\Driver\Socket;
use Predis\Connection\Resource\Stream;

/**
 * The bytes under a connection of Predis, which end at one deadline: Predis's own stream gives each packet the time-out anew.
 */
final class PredisStream extends Stream
{
    /** hrtime() at which the replies to what is written next must be there. */
    public int $end = 0;

    private readonly Socket $socket;

    /** @param resource $stream */
    public function __construct($stream, float $timeout)
    {
        parent::__construct($stream);
        $this->socket = new Socket($stream, $timeout);
    }

    /** @throws Disconnected */
    public function write(string $string): int
    {
        $this->socket->send($string, $this->end);

        return \strlen($string);
    }

    /**
     * @param int $length bytes at most; -1: a line
     *
     * @throws Disconnected
     */
    public function read(int $length): string
    {
        return $length === -1 ? $this->socket->line() . "\r\n" : $this->socket->some($length);
    }

    /** Predis asks before each reply. What the server sent before it closed the connection may lie here; else read() tells. */
    public function eof(): bool
    {
        return false;
    }
}
