<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

/** The server did not answer: it is gone, it was killed in the middle of the request, or it took too long. */
final class FastCgiFailure extends \RuntimeException
{
    public static function cannotConnect(string $socket, string $why): self
    {
        return new self('Cannot connect to ' . $socket . ': ' . $why . '. Is the server running?');
    }

    public static function lost(string $socket): self
    {
        return new self('The connection to ' . $socket . ' was closed before the answer was complete.');
    }

    public static function tooLate(string $socket, float $seconds): self
    {
        return new self('No complete answer from ' . $socket . ' in ' . $seconds . ' s.');
    }

    public static function badAnswer(string $socket, string $what): self
    {
        return new self('No FastCGI from ' . $socket . ': ' . $what);
    }
}
