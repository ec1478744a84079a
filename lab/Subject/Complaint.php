<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/** What PHP last had to warn of: why a function of its file system returned false. */
final class Complaint
{
    public string $text = '';

    /** Takes PHP's warnings until the caller restores the error handler. */
    public function listen(): void
    {
        \set_error_handler($this);
    }

    public function __invoke(int $level, string $message): bool
    {
        $this->text = $message;

        return true;
    }
}
