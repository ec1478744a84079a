<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:resume', 'Hand out messages again after queue:pause')]
final class QueueResumeCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Workers get messages again.

              <info>%command.full_name% mail</info>
            HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $queue->resume();
        self::say($input, $output, $name, ['paused' => false], 'resumed');

        return Application::OK;
    }
}
