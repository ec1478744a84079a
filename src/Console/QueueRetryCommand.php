<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:retry', 'Let dead messages wait again')]
final class QueueRetryCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('id', InputArgument::OPTIONAL | InputArgument::IS_ARRAY, 'Ids of dead messages (queue:dead)')
            ->addOption('all', null, InputOption::VALUE_NONE, 'All dead messages')
            ->setHelp(<<<'HELP'
                Lets dead messages wait again, with all their attempts: those of these ids, or all.

                  <info>%command.full_name% mail 17 23</info>
                  <info>%command.full_name% mail --all</info>
                HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $ids = self::ids($input);
        if (($ids === []) !== ($input->getOption('all') === true)) {
            throw new InvalidArgumentException('Name the messages, or say --all.');
        }
        $count = $queue->retryDead(...$ids);
        self::say($input, $output, $name, ['retried' => $count], "$count wait again");

        return $ids !== [] && $count === 0 ? Application::NOT_DONE : Application::OK;
    }
}
