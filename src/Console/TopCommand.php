<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\BufferedOutput;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\ConsoleSectionOutput;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('top', 'Show what is in the cache, live')]
final class TopCommand extends CacheCommand implements SignalableCommandInterface
{
    private bool $stopped = false;

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addOption('once', '1', InputOption::VALUE_NONE, 'Print once and exit, as without a terminal')
            ->addOption('interval', 'i', InputOption::VALUE_REQUIRED, 'Seconds between two updates', '2')
            ->addOption('limit', 'l', InputOption::VALUE_REQUIRED, 'How many keys to show', '10')
            ->addOption('sort', 's', InputOption::VALUE_REQUIRED, 'Sort by: ' . \implode(', ', Census::ORDERS), 'size')
            ->setHelp(<<<'HELP'
                Shows the groups and the keys of the truth tier until Ctrl-C. Each update reads all entries, at most 100,000 of
                them, so choose a longer interval for a large cache. With --json, prints a line for each update.

                  <info>%command.full_name%</info>
                  <info>%command.full_name% --sort=age --limit=20 --interval=5</info>
                  <info>%command.full_name% --once --group=users</info>
                HELP);
    }

    /** @return list<int> */
    public function getSubscribedSignals(): array
    {
        return \extension_loaded('pcntl') ? [\SIGINT, \SIGTERM] : [];
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        $this->stopped = true;

        return false;
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $interval = self::number($input, 'interval', 0.1);
        $limit = (int) self::number($input, 'limit', 0);
        $order = self::text($input, 'sort') ?? '';
        if (!\in_array($order, Census::ORDERS, true)) {
            throw new InvalidArgumentException('Unknown order "' . $order . '". Choose one of: ' . \implode(', ', Census::ORDERS) . '.');
        }
        $group = self::text($input, 'group');
        $json = $input->getOption('json') === true;
        $section = $output instanceof ConsoleOutputInterface && $output->isDecorated() && !$json ? $output->section() : null;
        $once = $input->getOption('once') === true || $section === null && !$json;

        for ($before = null; ; $before = $census) {
            $census = Census::take($cache, $group, $order, $limit);
            if ($json) {
                Text::json($output, $census->document(), false);
            } else {
                self::show($census, $before, $section ?? $output);
            }
            if ($once || $output instanceof Output && $output->failure() !== null || !$this->pause($interval)) {
                return Application::OK;
            }
            $cache->refresh();
        }
    }

    /** @return bool false: a signal asks the command to end */
    private function pause(float $seconds): bool
    {
        $end = \hrtime(true) + (int) ($seconds * 1e9);
        while (!$this->stopped && \hrtime(true) < $end) {
            // A signal interrupts the sleep; its handler runs before the next turn.
            \usleep((int) \max(1, \min(100_000, ($end - \hrtime(true)) / 1000)));
        }

        return !$this->stopped;
    }

    private static function show(Census $census, ?Census $before, OutputInterface $output): void
    {
        $page = new BufferedOutput($output->getVerbosity(), $output->isDecorated(), $output->getFormatter());
        $page->writeln(\sprintf(
            '<info>%s</info>  %s%d entries, %s%s',
            \date('H:i:s'),
            $census->complete ? '' : 'first ',
            $census->entries,
            Text::bytes($census->bytes),
            $before === null ? '' : \sprintf(' (%+d entries, %+d bytes)', $census->entries - $before->entries, $census->bytes - $before->bytes),
        ));
        $table = (new Table($page))->setHeaders(['group', 'entries', 'bytes']);
        foreach ($census->groups as $name => [$entries, $bytes]) {
            $table->addRow([(string) $name === '' ? '(none)' : Text::shown((string) $name, 40), $entries, Text::bytes($bytes)]);
        }
        $table->render();
        if ($census->keys !== []) {
            $table = (new Table($page))->setHeaders(['key', 'group', 'size', 'age', 'expires in']);
            foreach ($census->keys as $row) {
                $table->addRow([
                    Text::shown($row['key'], 60),
                    Text::shown($row['group'], 20),
                    Text::bytes($row['size']),
                    Text::duration($row['age']),
                    Text::duration($row['ttl']),
                ]);
            }
            $table->render();
        }
        $text = $page->fetch();
        if ($output instanceof ConsoleSectionOutput) {
            // It formats what it gets, which is formatted already.
            $output->overwrite(Text::escaped($text));
        } else {
            $output->write($text, false, OutputInterface::OUTPUT_RAW);
        }
    }
}
