<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:purge', 'Remove all waiting messages of a queue')]
final class QueuePurgeCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Removes all messages that wait, due or delayed. Those being handled and the dead stay.

              <info>%command.full_name% mail</info>
            HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $count = $queue->purge();
        self::say($input, $output, $name, ['removed' => $count], "$count removed");

        return Application::OK;
    }
}
