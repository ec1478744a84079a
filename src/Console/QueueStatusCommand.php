<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Console\Support\Text;
use Larder\Queue\Queue;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('queue:status', 'Show what waits in a queue')]
final class QueueStatusCommand extends QueueCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Prints how many messages are ready, delayed, being handled and dead, and how long the next one has been due. A queue
            whose next message is late has too few workers.

              <info>%command.full_name% mail</info>
              <info>%command.full_name% mail --json</info>
            HELP);
    }

    protected function work(Queue $queue, string $name, InputInterface $input, OutputInterface $output): int
    {
        $stats = $queue->stats();
        if (self::isJson($input)) {
            Text::json($output, ['queue' => $name] + $stats);

            return Application::OK;
        }
        $table = new Table($output);
        $table->setHeaders(['queue', 'ready', 'delayed', 'being handled', 'dead', 'late', 'state']);
        $table->addRow([Text::shown($name), $stats['ready'], $stats['delayed'], $stats['claimed'], $stats['dead'], $stats['late'] === null ? '' : Text::duration($stats['late']), $stats['paused'] ? 'paused' : 'open']);
        $table->render();

        return Application::OK;
    }
}
