<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Queue\QueueFailure;
use Larder\Queue\ZmqAddress;
use Larder\Queue\ZmqBroker;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:serve', 'Serve queues by ZeroMQ, in memory')]
final class QueueServeCommand extends Command implements SignalableCommandInterface
{
    private ?ZmqBroker $broker = null;

    protected function configure(): void
    {
        $this
            ->addArgument('dsn', InputArgument::REQUIRED, 'Where to listen: zmq+ipc:///run/q.sock or zmq+tcp://127.0.0.1:5555')
            ->addOption('memory', null, InputOption::VALUE_REQUIRED, 'Take no further message when it holds so many MiB', '256')
            ->addOption('public', null, InputOption::VALUE_NONE, 'Let other machines reach it: there is neither a password nor encryption')
            ->setHelp(<<<'HELP'
                Receives messages of any number of queues and hands them to workers, until it is ended. The messages are in its memory and
                go with it: use SQLite or Redis for what must not be lost.

                  <info>%command.full_name% zmq+ipc:///run/app/q.sock</info>

                The socket is this user's alone.
                HELP);
    }

    /** @return list<int> */
    public function getSubscribedSignals(): array
    {
        return \extension_loaded('pcntl') ? [\SIGINT, \SIGTERM] : [];
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        $this->broker?->end();

        return false;
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        $dsn = $input->getArgument('dsn');
        $memory = \filter_var($input->getOption('memory'), \FILTER_VALIDATE_INT, ['options' => ['min_range' => 16, 'max_range' => 1_048_576]]);
        if (!\is_int($memory)) {
            throw new InvalidArgumentException('--memory must be a whole number of MiB from 16 on.');
        }
        // The limit of PHP's would end this process and with it all messages.
        \ini_set('memory_limit', '-1');
        try {
            $address = ZmqAddress::parse(\is_string($dsn) ? $dsn : '');
            $this->broker = new ZmqBroker($address, $memory << 20, $input->getOption('public') === true);
            $errors->writeln('<comment>larder: serving ' . OutputFormatter::escape($address->toString()) . '</comment>');
            $this->broker->serve();
        } catch (QueueFailure $failure) {
            $errors->writeln('<error>' . OutputFormatter::escape($failure->getMessage()) . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::UNREACHABLE;
        }
        $left = $this->broker->count();
        $left === 0 || $errors->writeln("<error>larder: $left messages were in memory and are lost</error>", OutputInterface::VERBOSITY_QUIET);

        return $left === 0 ? Application::OK : Application::NOT_DONE;
    }
}
