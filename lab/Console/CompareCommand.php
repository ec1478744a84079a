<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Console\Application;
use Larder\Lab\Compare\Account;
use Larder\Lab\Compare\Comparison;
use Larder\Lab\Compare\NotComparable;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\ReportUnreadable;
use Larder\Lab\Report\Terminal;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\Command;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('bench:compare', 'Compare two reports of the laboratory')]
final class CompareCommand extends Command
{
    protected function configure(): void
    {
        $this
            ->addArgument('old', InputArgument::REQUIRED, 'The older report, written with --json')
            ->addArgument('new', InputArgument::REQUIRED, 'The newer report')
            ->addOption('limit', null, InputOption::VALUE_REQUIRED, 'The change that does not matter: 5%, 5 or 0.05', '10%')
            ->setHelp(<<<'HELP'
                Compares two reports: each cell, each subject with all its cells, and everything together. Shows the ratio of
                new to old with its 95 % interval, and one of four verdicts:

                  slower, faster     chance does not explain it, given how much was looked at (5 %, Benjamini and Hochberg)
                  no change larger than the limit
                                     the whole interval lies within it
                  cannot tell        too few rounds, or too wide; it says how many rounds it takes

                Sizes are exact: any change beyond the limit counts.

                The exit status is 1 if something is slower, larger, or wrong now. It is 2 if no single time can be told,
                also where all of them together can.

                  <info>bin/larder bench compare old.json new.json</info>
                  <info>bin/larder bench compare old.json new.json --limit=5% -v</info>
                HELP);
    }

    protected function execute(InputInterface $input, OutputInterface $output): int
    {
        try {
            return $this->compare($input, $output);
        } catch (NotComparable|ReportUnreadable $e) {
            $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
            $errors->writeln('<error>' . OutputFormatter::escape($e->getMessage()) . '</error>', OutputInterface::VERBOSITY_QUIET);

            return Application::USAGE;
        }
    }

    private function compare(InputInterface $input, OutputInterface $output): int
    {
        [$old, $new] = [self::text($input->getArgument('old')), self::text($input->getArgument('new'))];
        $limit = self::limit(self::text($input->getOption('limit')));
        $reader = new JsonReader();
        $comparison = new Comparison($reader->read($old), $reader->read($new), $limit);
        $account = new Account($comparison);
        $terminal = new Terminal($output);
        foreach ($account->warnings() as $line) {
            $terminal->say($line, 'fg=yellow');
        }
        foreach ($account->tables($output->isVerbose()) as $table) {
            $terminal->table($table, 'fg=red');
        }
        $output->writeln('');
        foreach ($account->verdict() as $line) {
            $terminal->say($line, 'options=bold');
        }

        return match (true) {
            $comparison->fails() => Application::NOT_DONE,
            !$comparison->tells() => Application::USAGE,
            default => Application::OK,
        };
    }

    /** "5%", "5" and "0.05" are the same: a bare number below 1 is a part, from 1 on it is percent. */
    private static function limit(string $text): float
    {
        if (\preg_match('/^(\d{1,4}(?:\.\d{1,6})?)(%?)$/D', $text, $match) !== 1) {
            throw new NotComparable(\sprintf('Cannot read the limit "%s". Give a percentage, as in --limit=5%%, or a part of 1, as in --limit=0.05.', $text));
        }

        return $match[2] === '%' || (float) $match[1] >= 1.0 ? (float) $match[1] / 100 : (float) $match[1];
    }

    private static function text(mixed $value): string
    {
        return \is_string($value) ? $value : '';
    }
}
