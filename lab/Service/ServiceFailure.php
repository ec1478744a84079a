<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/** A server that does not start or has died, or a site that does not do what it was asked for. The message says what to do. */
final class ServiceFailure extends \RuntimeException
{
    public static function notStarted(string $server, string $log): self
    {
        $log = \trim($log);

        return new self("$server does not start" . ($log === '' ? '.' : ': ' . \substr($log, -400)));
    }
}
