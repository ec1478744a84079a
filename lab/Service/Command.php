<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use Symfony\Component\Process\Process;

/** A short command that was run to its end. */
final readonly class Command
{
    private function __construct(
        public bool $succeeded,
        public string $output,
        public string $errors,
    ) {}

    /**
     * @param non-empty-list<string> $words   program and arguments; no shell is involved
     * @param float                  $timeout seconds
     */
    public static function run(array $words, float $timeout = 60.0): self
    {
        // Signal handlers wait: a command that makes something must not be left half known.
        return Signals::held(static function () use ($words, $timeout): self {
            $process = new Process($words, timeout: $timeout);
            $process->run();

            return new self($process->isSuccessful(), $process->getOutput(), \trim($process->getErrorOutput()));
        });
    }
}
