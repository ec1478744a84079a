<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('why', 'Show which tier holds a key, and since when')]
final class WhyCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('key', InputArgument::OPTIONAL, 'The key')
            ->addOption('flush', null, InputOption::VALUE_NONE, 'Show who has flushed the cache or a group of it, the last one first')
            ->setHelp(<<<'HELP'
                Prints for each tier whether it has the key, and if not, why: age, size, time to live, tags, and the position in the
                journal. The exit status is 1 if no tier has it.

                  <info>%command.full_name% page:/about</info>
                  <info>%command.full_name% --group=users 42 --json</info>

                With --flush and without a key, prints the last 200 flushes that were asked for on this server.

                  <info>%command.full_name% --flush</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        if ($input->getOption('flush') === true) {
            return self::flushes($cache, $input, $output);
        }
        $key = self::argument($input, 'key');
        if ($key === '') {
            throw new InvalidArgumentException('Name a key, or type --flush.');
        }
        $rows = $cache->inspect($key);
        $found = \in_array(true, \array_column($rows, 'found'), true);
        if ($input->getOption('json') === true) {
            Text::json($output, ['key' => Text::key($key), 'found' => $found, 'reason' => $found ? null : self::reason($rows), 'tiers' => $rows]);

            return $found ? Application::OK : Application::NOT_DONE;
        }
        $table = (new Table($output))->setHeaders(['tier', 'has', 'age', 'size', 'expires in', 'tags', 'position']);
        foreach ($rows as $row) {
            $table->addRow([
                $row['tier'],
                Text::shown($row['kind']),
                $row['age'] === null ? '' : Text::duration($row['age']),
                $row['size'] === null ? '' : Text::bytes($row['size']),
                $row['found'] && $row['size'] !== null ? Text::duration($row['ttl']) : '',
                Text::shown(\implode(' ', $row['tags']), 60),
                $row['position'] ?? '',
            ]);
        }
        $table->render();
        $found || $output->writeln(self::reason($rows));

        return $found ? Application::OK : Application::NOT_DONE;
    }

    private static function flushes(Cache $cache, InputInterface $input, OutputInterface $output): int
    {
        $flushes = $cache->internals()->flushes()?->last() ?? [];
        if ($input->getOption('json') === true) {
            Text::json($output, $flushes);

            return Application::OK;
        }
        $table = (new Table($output))->setHeaders(['time', 'flushed', 'by', 'in', 'as']);
        foreach ($flushes as $flush) {
            $table->addRow(\array_map(static fn(string $text): string => Text::shown($text, 100), [
                \date('Y-m-d H:i:s', $flush['time']),
                ($flush['group'] === '' ? 'everything' : $flush['group']) . ($flush['done'] ? '' : ' (kept until it can be done)'),
                $flush['caller'],
                $flush['request'],
                $flush['user'],
            ]));
        }
        $table->render();

        return Application::OK;
    }

    /** @param list<array{kind: string, position: ?int, ...}> $rows none of which has it; the last one is the truth's */
    private static function reason(array $rows): string
    {
        $truth = \end($rows);
        $kind = $truth['kind'] ?? '';
        $at = isset($truth['position']) ? ' (position ' . $truth['position'] . ' in the journal)' : '';

        return match ($kind) {
            'absent' => 'It is not there: it has not been stored since it was last deleted, swept after its end, or evicted for want of room, or since the cache last began empty.',
            'deleted' => "It was deleted$at, and has not been stored since.",
            'dropped by a conflict' => "It was dropped$at: its writer had read an older state than another writer. The next reader computes it.",
            'an intent stands' => "A request has announced$at that what it is computed from changes, and no process may store it until that has ended.",
            'expired' => 'Its time to live has ended.',
            'flushed or invalidated' => "It was stored$at, and afterwards its group was flushed or one of its tags invalidated.",
            'not readable' => 'What is stored cannot be read here: it was signed with another secret, needs a class or an extension that is missing, or is damaged.',
            default => 'The truth tier cannot be reached.',
        };
    }
}
