<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Console\Support\Text;
use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:waiting', 'Show the messages that wait in a queue')]
final class QueueWaitingCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addOption('limit', 'l', InputOption::VALUE_REQUIRED, 'How many to show', '100')
            ->setHelp(<<<'HELP'
                Prints the messages that wait, without handing them out: those that are due in the order in which workers get them, then the delayed ones.

                  <info>%command.full_name% mail</info>
                  <info>%command.full_name% mail --limit=10 --json</info>
                HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $waiting = $queue->waiting(self::number($input, 'limit', 1));
        if (self::isJson($input)) {
            self::list($output, $waiting);

            return Application::OK;
        }
        foreach ($waiting as $message) {
            $output->writeln(Text::shown(\sprintf('%s  %d attempts  %s', $message['id'], $message['attempts'], $message['error'] === '' ? Text::line(Text::printed($message['body'])) : $message['error'])));
        }

        return Application::OK;
    }
}
