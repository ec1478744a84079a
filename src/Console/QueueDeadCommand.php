<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Console\Support\Text;
use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:dead', 'Show the dead messages of a queue and their errors')]
final class QueueDeadCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addOption('limit', 'l', InputOption::VALUE_REQUIRED, 'How many to show', '100')
            ->setHelp(<<<'HELP'
                Prints the messages that failed at their last attempt, the oldest first, with the error of that attempt.

                  <info>%command.full_name% mail</info>
                  <info>%command.full_name% mail --limit=10 --json</info>
                HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $dead = $queue->dead(self::number($input, 'limit', 1));
        if (self::isJson($input)) {
            Text::json($output, \array_map(static fn(array $message): array => ['body' => Text::document($message['body'])] + $message, $dead));

            return Application::OK;
        }
        foreach ($dead as $message) {
            $output->writeln(OutputFormatter::escape(\sprintf('%s  %s  attempt %d  %s', $message['id'], \date('Y-m-d H:i:s', $message['at']), $message['attempts'], Text::line(Text::printed($message['body'])))));
            foreach (\explode("\n", $message['error']) as $line) {
                $output->writeln('    ' . OutputFormatter::escape(Text::line($line, 1_000)));
            }
        }

        return Application::OK;
    }
}
