<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Console\Support\Text;
use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:dead', 'Show the dead messages of a queue and their errors, or remove them')]
final class QueueDeadCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('id', InputArgument::OPTIONAL | InputArgument::IS_ARRAY, 'Ids of the dead messages to remove')
            ->addOption('limit', 'l', InputOption::VALUE_REQUIRED, 'How many to show', '100')
            ->addOption('older-than', null, InputOption::VALUE_REQUIRED, 'Only those that died so long ago: seconds, or with m, h or d for minutes, hours or days')
            ->addOption('delete', null, InputOption::VALUE_NONE, 'Remove them for good instead')
            ->addOption('all', null, InputOption::VALUE_NONE, 'With --delete: all dead messages')
            ->setHelp(<<<'HELP'
                Prints the messages that failed at their last attempt, the oldest first, with the error of that attempt.

                  <info>%command.full_name% mail</info>
                  <info>%command.full_name% mail --limit=10 --json</info>
                  <info>%command.full_name% mail --delete --older-than=30d</info>
                  <info>%command.full_name% mail 0660e7be… --delete</info>
                HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $age = self::age(self::text($input, 'older-than') ?? '0');
        $ids = self::ids($input);
        if ($input->getOption('delete') === true) {
            if (\count(\array_filter([$ids !== [], $input->getOption('all') === true, $age > 0])) !== 1) {
                throw new InvalidArgumentException('Name the messages, or say --older-than=30d, or --all.');
            }
            $count = $queue->removeDead($age, ...$ids);
            self::say($input, $output, $name, ['removed' => $count], "$count removed");

            return $ids !== [] && $count === 0 ? Application::NOT_DONE : Application::OK;
        }
        if ($ids !== []) {
            throw new InvalidArgumentException('What is to become of these messages? Say --delete, or use queue:retry.');
        }
        $before = \time() - $age;
        $dead = \array_values(\array_filter($queue->dead(self::number($input, 'limit', 1)), static fn(array $message): bool => $message['at'] <= $before));
        if (self::isJson($input)) {
            self::list($output, $dead);

            return Application::OK;
        }
        foreach ($dead as $message) {
            $output->writeln(Text::shown(\sprintf('%s  %s  attempt %d  %s', $message['id'], \date('Y-m-d H:i:s', $message['at']), $message['attempts'], Text::line(Text::printed($message['body'])))));
            foreach (\explode("\n", $message['error']) as $line) {
                $output->writeln('    ' . Text::shown($line, 1_000));
            }
        }

        return Application::OK;
    }

    private static function age(string $text): int
    {
        if (\preg_match('/^(\d{1,8})([smhd]?)$/D', $text, $found) !== 1) {
            throw new InvalidArgumentException('The age "' . $text . '" must be a whole number of seconds, or of m, h or d. Write for example --older-than=30d.');
        }

        return (int) $found[1] * ['' => 1, 's' => 1, 'm' => 60, 'h' => 3_600, 'd' => 86_400][$found[2]];
    }
}
