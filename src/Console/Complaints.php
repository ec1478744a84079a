<?php

declare(strict_types=1);

namespace Larder\Console;

use Psr\Log\AbstractLogger;

/** Keeps what the cache would write into the log, so that a command can say it and tell "not there" from "not reachable". */
final class Complaints extends AbstractLogger
{
    /** @var list<string> */
    private array $lines = [];

    /**
     * @param mixed        $level
     * @param array<mixed> $context
     */
    public function log($level, string|\Stringable $message, array $context = []): void
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
