<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Psr\Log\AbstractLogger;

/** A logger that keeps its lines. */
final class Lines extends AbstractLogger
{
    /** @var list<string> each with its level before it */
    public array $lines = [];

    public function log($level, string|\Stringable $message, array $context = []): void
    {
        $this->lines[] = (\is_string($level) ? $level : '') . ': ' . $message;
    }
}
