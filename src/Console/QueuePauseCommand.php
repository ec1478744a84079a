<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:pause', 'Hand out no message of a queue, to any worker')]
final class QueuePauseCommand extends QueueCommand
{
    protected const MAKES = true;

    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Workers get nothing more until queue:resume. Messages may still be pushed, and those being handled are finished.

              <info>%command.full_name% mail</info>
            HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $queue->pause();
        self::say($input, $output, $name, ['paused' => true], 'paused');

        return Application::OK;
    }
}
