<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('stats', 'Show what each tier holds')]
final class StatsCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Prints the engine, entries, bytes and budget of each tier. Each process counts its own hits and misses, so this
            command cannot show those of the web: the application reads its own by Cache::stats().

              <info>%command.full_name%</info>
              <info>%command.full_name% --json</info>
            HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $stats = $cache->stats();
        if ($input->getOption('json') === true) {
            Text::json($output, $stats);

            return Application::OK;
        }
        $table = (new Table($output))->setHeaders(['tier', 'engine', 'entries', 'bytes', 'budget', 'errors']);
        foreach ($stats as $tier => $row) {
            if (!isset($row['engine'])) {
                continue;
            }
            $budget = (int) ($row['budget'] ?? 0);
            $table->addRow([
                $tier,
                $row['engine'],
                $row['entries'] ?? '',
                Text::bytes((int) ($row['bytes'] ?? 0)),
                $budget === 0 ? 'its own' : Text::bytes($budget),
                $row['errors'] ?? 0,
            ]);
        }
        $table->render();

        return Application::OK;
    }
}
