<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\System\Quiet;
use Symfony\Component\Console\Output\ConsoleOutput;

/** Standard output that knows whether it has taken everything: a disk may be full, the reader of a pipe gone. Symfony's does not say so. */
final class Output extends ConsoleOutput
{
    /** Of a write to a pipe without a reader (EPIPE). */
    private const CLOSED = 'errno=32 ';

    private ?string $failure = null;

    /** Why something is missing; null: nothing is. */
    public function failure(): ?string
    {
        return $this->failure;
    }

    /** Whether its reader has gone, as `| head` does. That is no mistake. */
    public function isClosed(): bool
    {
        return $this->failure !== null && \str_contains($this->failure, self::CLOSED);
    }

    protected function doWrite(string $message, bool $newline): void
    {
        $message .= $newline ? \PHP_EOL : '';
        $stream = $this->getStream();
        $isWritten = Quiet::call(static function () use ($stream, $message): bool {
            Quiet::$reason = '';

            return \fwrite($stream, $message) === \strlen($message) && \fflush($stream);
        });
        if (!$isWritten) {
            $this->failure ??= Quiet::$reason === '' ? 'it has not taken everything' : Quiet::$reason;
        }
    }
}
