<?php

declare(strict_types=1);

namespace Larder\Console\Support;

use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;

/**
 * For a framework's command that runs a command of bin/larder: passes on what it was given, and signals, which symfony/console
 * asks each command for from 7.4 on.
 */
trait PassesOn
{
    private readonly Command $inner;

    /** @return array<string, mixed> for an ArrayInput: all arguments, and the options that are not as usual */
    private function given(InputInterface $input): array
    {
        $given = [];
        foreach ($this->inner->getDefinition()->getArguments() as $name => $_) {
            $given[(string) $name] = $input->getArgument((string) $name);
        }
        foreach ($this->inner->getDefinition()->getOptions() as $name => $option) {
            $value = $input->getOption($name);
            $value === $option->getDefault() || $given["--$name"] = $value;
        }

        return $given;
    }

    /** @return array<mixed> */
    public function getSubscribedSignals(): array
    {
        return $this->inner->getSubscribedSignals();
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        return $this->inner->handleSignal($signal, $previousExitCode);
    }
}
