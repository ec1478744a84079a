<?php

declare(strict_types=1);

namespace Larder\Console;

use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

/** Stands where the laboratory's commands are if its package is installed. */
final class LaboratoryCommand extends Command
{
    protected function configure(): void
    {
        $this->setDescription('Compare engines on this machine (not installed: composer require --dev larder/lab)');
        // Whatever was typed, the answer is the same.
        $this->ignoreValidationErrors();
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        $errors->writeln('<error>The laboratory is a package of its own, which is not installed here. Type: composer require --dev larder/lab</error>', OutputInterface::VERBOSITY_QUIET);

        return Application::NOT_DONE;
    }
}
