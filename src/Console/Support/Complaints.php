<?php

declare(strict_types=1);

namespace Larder\Console\Support;

use Psr\Log\AbstractLogger;

/** Keeps the lines that the cache would log, so that a command can show them and tell "missing" from "unreachable". */
final class Complaints extends AbstractLogger
{
    /** @var list<string> */
    private array $lines = [];

    /**
     * The message has no type, as in the interface's first version: WordPress uses the first copy of a library that any plugin
     * loads, which may be that one.
     *
     * @param mixed              $level
     * @param string|\Stringable $message
     * @param array<mixed>       $context
     */
    public function log($level, $message, array $context = []): void
    {
        $this->lines[] = (string) $message;
    }

    /** @return list<string> the lines logged since the last call */
    public function take(): array
    {
        $lines = $this->lines;
        $this->lines = [];

        return $lines;
    }
}
