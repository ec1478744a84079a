<?php

declare(strict_types=1);

namespace Larder\Console\Support;

use Psr\Log\AbstractLogger;

/** Keeps what the cache would write into the log, so that a command can say it and tell "not there" from "not reachable". */
final class Complaints extends AbstractLogger
{
    /** @var list<string> */
    private array $lines = [];

    /**
     * Without a type for the message, as the interface was in its first version: a plugin may meet that in WordPress, where
     * the first copy of a library that is loaded is everybody's.
     *
     * @param mixed              $level
     * @param string|\Stringable $message
     * @param array<mixed>       $context
     */
    public function log($level, $message, array $context = []): void
    {
        $this->lines[] = (string) $message;
    }

    /** @return list<string> what came since the last call */
    public function take(): array
    {
        $lines = $this->lines;
        $this->lines = [];

        return $lines;
    }
}
