<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\Dependencies;
use Larder\Console\Page\WrongCacheWarning;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\Page\Listing;
use Larder\Page\Url;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

/** @phpstan-import-type Row from Listing */
#[AsCommand('page:list', 'List the stored pages')]
final class PageListCommand extends CacheCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addOption('tag', 't', InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'Only pages with this tag, or with one of these')
            ->addOption('url', 'u', InputOption::VALUE_REQUIRED, 'Only pages whose URL begins with this; a path means every host')
            ->setHelp(<<<'HELP'
                Lists the pages of the truth tier: URL and what else each depends on, status, age, how long it is still fresh, its
                size in all codings together, its codings and tags. It reads all entries of the cache. Larder does not count the hits of a
                page, because that would cost each of them a write. With --json, prints a line for each page.

                  <info>%command.full_name%</info>
                  <info>%command.full_name% --url=https://shop.example/blog/</info>
                  <info>%command.full_name% --tag=product-7 --json</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        WrongCacheWarning::refuse($cache, $place, $input);
        $rows = Listing::of(self::truth($place, $input), self::text($input, 'group') ?? '', self::wanted(self::text($input, 'url') ?? ''), self::words($input->getOption('tag')));
        if ($input->getOption('json') === true) {
            foreach ($rows as $row) {
                Text::json($output, self::document($row), false);
            }

            return Application::OK;
        }
        $table = new Table($output);
        $table->setHeaders(['url', 'status', 'age', 'fresh for', 'size', 'codings', 'tags']);
        $count = $bytes = 0;
        foreach ($rows as $row) {
            $left = self::left($row);
            $table->addRow([
                Text::shown(\implode('; ', [Dependencies::url($row['name']), ...Dependencies::words($row['name'])]), 80),
                $row['page']['status'],
                Text::seconds(\time() - $row['page']['made'] + $row['page']['age']),
                $row['isExpired'] ? 'expired' : ($left > 0 ? Text::seconds($left) : 'stale'),
                Text::bytes($row['size']),
                \implode(' ', \array_filter(\array_keys($row['page']['forms']))),
                Text::shown(\implode(' ', $row['tags']), 40),
            ]);
            $count++;
            $bytes += $row['size'];
        }
        if ($count > 0) {
            $table->render();
        }
        $output->writeln($count . ($count === 1 ? ' page, ' : ' pages, ') . Text::bytes($bytes));

        return Application::OK;
    }

    /** @return \Closure(string): bool */
    private static function wanted(string $prefix): \Closure
    {
        if ($prefix === '' || $prefix[0] === '/') {
            return static fn(string $name): bool => \str_starts_with((string) \preg_replace('~^\w+://[^/]*~', '', $name), $prefix);
        }
        $prefix = Url::normal($prefix) ?? $prefix;

        return static fn(string $name): bool => \str_starts_with($name, $prefix);
    }

    /**
     * @param Row $row
     *
     * @return array<string, mixed>
     */
    private static function document(array $row): array
    {
        $page = $row['page'];

        return [
            'url' => Dependencies::url($row['name']), 'depends_on' => Dependencies::words($row['name']), 'status' => $page['status'], 'made' => $page['made'],
            'age' => \time() - $page['made'] + $page['age'], 'life' => $page['life'], 'fresh_for' => $row['isExpired'] ? 0 : \max(0, self::left($row)), 'expired' => $row['isExpired'],
            'stale_while_revalidate' => $page['stale'], 'stale_if_error' => $page['broken'],
            'size' => $row['size'], 'forms' => $page['forms'], 'tags' => $row['tags'],
        ];
    }

    /** @param Row $row */
    private static function left(array $row): int
    {
        return $row['page']['made'] - $row['page']['age'] + $row['page']['life'] - \time();
    }
}
