<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Psr\Log\AbstractLogger;

/** A log in memory. */
final class Lines extends AbstractLogger
{
    /** @var list<string> */
    public array $lines = [];

    public function log(mixed $level, string|\Stringable $message, array $context = []): void
    {
        $this->lines[] = (string) $message;
    }
}
