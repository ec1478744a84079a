<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Psr\Log\AbstractLogger;

/** A logger that keeps what it was told last. */
final class LastLine extends AbstractLogger
{
    public string $text = '';

    /** @param array<mixed> $context */
    public function log($level, string|\Stringable $message, array $context = []): void
    {
        $this->text = (string) $message;
    }
}
