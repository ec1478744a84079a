<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\Metrics\OpenMetrics;
use Larder\System\Failure;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('metrics', 'Print what all processes have done, and what each tier holds, for Prometheus')]
final class MetricsCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this->addOption('plain', null, InputOption::VALUE_NONE, 'Print Prometheus\'s older text format, which node_exporter reads')->setHelp(<<<'HELP'
            Prints OpenMetrics text, with --json the same as JSON. What processes have done is counted where the application
            opens its cache with the option metrics=1; without it this shows only what the tiers hold. A group counts in the
            cache that it lies in, so --group changes nothing.

              <info>%command.full_name%</info>
              <info>%command.full_name% --plain > /var/lib/prometheus/node-exporter/larder.prom</info>
            HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        try {
            $metrics = new OpenMetrics($cache);
            if ($input->getOption('json') === true) {
                $input->getOption('plain') !== true || throw new InvalidArgumentException('Write --json or --plain, not both.');
                Text::json($output, $metrics->document());

                return Application::OK;
            }
            $text = $input->getOption('plain') === true ? $metrics->plain() : $metrics->text();
        } catch (Failure $failure) {
            ($output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output)->writeln(Text::shown($failure->getMessage()), OutputInterface::VERBOSITY_QUIET);

            return Application::UNREACHABLE;
        }
        if ($output->isDecorated()) {
            // A terminal: names of groups are whatever the application took from its visitors.
            $text = \implode("\n", \array_map(static fn(string $line): string => Text::line($line, 4 * \strlen($line)), \explode("\n", $text)));
        }
        $output->write($text, false, OutputInterface::OUTPUT_RAW);

        return Application::OK;
    }
}
