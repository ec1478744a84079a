<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('why', 'Show which tier holds a key, and since when')]
final class WhyCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('key', InputArgument::REQUIRED, 'The key')
            ->setHelp(<<<'HELP'
                Prints for each tier whether it has the key, and if not, why: age, size, time to live, tags, and the position in the
                journal. The exit status is 1 if no tier has it.

                  <info>%command.full_name% page:/about</info>
                  <info>%command.full_name% --group=users 42 --json</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $key = self::argument($input, 'key');
        $rows = $cache->inspect($key);
        $found = \in_array(true, \array_column($rows, 'found'), true);
        if ($input->getOption('json') === true) {
            Text::json($output, ['key' => Text::document($key)['value'], 'found' => $found, 'tiers' => $rows]);

            return $found ? Application::OK : Application::NOT_DONE;
        }
        $table = new Table($output);
        $table->setHeaders(['tier', 'has', 'age', 'size', 'expires in', 'tags', 'position']);
        foreach ($rows as $row) {
            $table->addRow([
                $row['tier'],
                OutputFormatter::escape($row['kind']),
                $row['age'] === null ? '' : Text::duration($row['age']),
                $row['size'] === null ? '' : Text::bytes($row['size']),
                $row['found'] && $row['size'] !== null ? Text::duration($row['ttl']) : '',
                OutputFormatter::escape(Text::line(\implode(' ', $row['tags']))),
                $row['position'] ?? '',
            ]);
        }
        $table->render();

        return $found ? Application::OK : Application::NOT_DONE;
    }
}
