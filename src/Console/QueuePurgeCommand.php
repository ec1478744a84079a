<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:purge', 'Remove the messages that wait in a queue, or some of them')]
final class QueuePurgeCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('id', InputArgument::OPTIONAL | InputArgument::IS_ARRAY, 'Ids of waiting messages (queue:waiting); without any, all')
            ->setHelp(<<<'HELP'
                Removes all messages that wait, due or delayed, or only those of these ids. Those being handled and the dead stay.

                  <info>%command.full_name% mail</info>
                  <info>%command.full_name% mail 0660e7be…</info>
                HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $ids = self::ids($input);
        $count = $ids === [] ? $queue->purge() : $queue->remove(...$ids);
        self::say($input, $output, $name, ['removed' => $count], "$count removed");

        return $ids !== [] && $count === 0 ? Application::NOT_DONE : Application::OK;
    }
}
