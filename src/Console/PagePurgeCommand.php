<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\WrongCacheWarning;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\Page\PageCache;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('page:purge', 'Remove or expire stored pages')]
final class PagePurgeCommand extends PageCommand
{
    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('url', InputArgument::OPTIONAL | InputArgument::IS_ARRAY, 'URLs; a path (/about) means every host')
            ->addOption('tag', 't', InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'All pages with this tag')
            ->addOption('expire', 'e', InputOption::VALUE_NONE, 'Do not remove: visitors get the stale page until one request has renewed it')
            ->addOption('all', 'a', InputOption::VALUE_NONE, 'All pages of this cache')
            ->setHelp(<<<'HELP'
                Removes what is stored for these URLs and tags: each variant, and what visitors with different cookies get. Every
                request that begins afterwards sees that, on every server that shares the cache. A missing page is no error.

                  <info>%command.full_name% https://shop.example/about /blog/</info>
                  <info>%command.full_name% --tag=product-7 --tag=menu</info>
                  <info>%command.full_name% --expire --tag=menu</info>
                  <info>%command.full_name% --all</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        WrongCacheWarning::refuse($cache, $place, $input);
        $urls = self::words($input->getArgument('url'));
        $tags = self::words($input->getOption('tag'));
        if (\preg_grep('/^\s*$/D', $tags) !== []) {
            throw new InvalidArgumentException('A tag is empty. Name the tag, as in --tag=menu, or leave --tag out.');
        }
        $isExpired = $input->getOption('expire') === true;
        $isAll = $input->getOption('all') === true;
        if ($isAll ? $urls !== [] || $tags !== [] || $isExpired : $urls === [] && $tags === []) {
            throw new InvalidArgumentException($isAll ? 'With --all, name no URL and no tag, and not --expire.' : 'Name URLs or tags, or write --all.');
        }
        $done = self::purge($cache, $input, $urls, $tags, $isExpired, $isAll);
        if ($input->getOption('json') === true) {
            Text::json($output, ['urls' => $urls, 'tags' => $tags, 'all' => $isAll, 'expired' => $isExpired, 'done' => $done]);
        } else {
            $output->writeln(($done ? '' : 'not ') . ($isExpired ? 'expired' : 'purged'));
        }

        return $done ? Application::OK : Application::NOT_DONE;
    }

    /**
     * @param list<string> $urls
     * @param list<string> $tags
     */
    private static function purge(Cache $cache, InputInterface $input, array $urls, array $tags, bool $isExpired, bool $isAll): bool
    {
        $owners = self::owners($cache, $input);
        $isEverywhere = $isAll || $tags !== [] || \preg_grep('~^/(?!/)~', $urls) !== [];
        $all = $isEverywhere ? new PageCache($cache, $owners->everywhere()) : null;
        $done = true;
        if ($all !== null && ($isAll || $tags !== [])) {
            $done = match (true) {
                $isAll => $all->purgeAll(),
                $isExpired => $all->expireTags(...$tags),
                default => $all->purgeTags(...$tags),
            };
        }
        foreach ($urls as $url) {
            $pages = $all !== null && \str_starts_with($url, '/') ? $all : new PageCache($cache, $owners->for($url));
            $done = ($isExpired ? $pages->expire($url) : $pages->purge($url)) && $done;
        }

        return $done;
    }
}
