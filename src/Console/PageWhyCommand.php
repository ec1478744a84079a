<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\Dependencies;
use Larder\Console\Page\ExplanationText;
use Larder\Console\Page\Visit;
use Larder\Console\Page\WrongCacheWarning;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\Page\Exchange;
use Larder\Page\Listing;
use Larder\Page\Pages;
use Larder\Page\Settings;
use Larder\Page\Tags;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('page:why', 'Say what happens to a request for a page, and which rule decides')]
final class PageWhyCommand extends PageCommand
{
    /** Pages of the same path that are shown where the request's own is missing. */
    private const OTHERS = 5;

    protected function configure(): void
    {
        parent::configure();
        $this->addVisit();
        $this
            ->addArgument('url', InputArgument::REQUIRED, 'The URL as the web server sees it')
            ->addOption('method', 'X', InputOption::VALUE_REQUIRED, 'The request\'s method', 'GET')
            ->setHelp(<<<'HELP'
                Asks the page cache itself what it does with a request: whether the stored page answers, since when and until when;
                if not, which rule forbids it, and what would make the page cacheable. It sends no request and changes nothing.
                The exit status is 1 if the store does not answer.

                  <info>%command.full_name% https://shop.example/about</info>
                  <info>%command.full_name% https://shop.example/ -H "Accept-Language: de" --cookie "_ga=1"</info>
                  <info>%command.full_name% http://shop.example/ -H "X-Forwarded-Proto: https"</info>    behind a proxy that speaks TLS
                  <info>%command.full_name% https://shop.example/?utm_source=x --options=page-options.php --json</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        WrongCacheWarning::refuse($cache, $place, $input);
        $visit = Visit::of(self::argument($input, 'url'), self::words($input->getOption('header')), self::words($input->getOption('cookie')), self::text($input, 'method') ?? '');
        $owners = self::owners($cache, $input);
        $settings = Settings::from($owners->for($visit->url));
        $pages = new Pages($cache, $settings);
        $explanation = (Exchange::of($pages, $settings, $visit->variables($pages->notes()->server(Tags::origin($visit->url)))))->explain();
        $stored = $explanation->stored;
        $story = $stored === null ? new ExplanationText($explanation, []) : new ExplanationText($explanation, $pages->tags($stored['name']), $pages->elsewhere((string) $explanation->key, $stored['name'], $stored['page']));
        $others = $explanation->stored === null ? self::others(self::truth($place, $input), self::text($input, 'group') ?? '', $visit->url) : [];
        $status = $story->isServed() ? Application::OK : Application::NOT_DONE;
        if ($input->getOption('json') === true) {
            Text::json($output, $story->document() + ['stored_for_this_path' => $others, 'options' => $owners->for($visit->url)]);

            return $status;
        }
        $output->writeln(Text::shown($visit->method . ' ' . $visit->url, 500));
        foreach ([...$story->lines(), ['options', $owners->origin($visit->url)]] as [$word, $text]) {
            $output->writeln(\sprintf('  <info>%-10s</info> ', $word) . Text::shown($text, 1_000));
        }
        foreach ($others as $i => $other) {
            $output->writeln(\sprintf('  <info>%-10s</info> ', $i === 0 ? 'but stored' : '') . Text::shown($other, 500));
        }

        return $status;
    }

    /** @return list<string> pages of this path that other requests get: with another scheme, query, field or cookie */
    private static function others(Cache $truth, string $group, string $url): array
    {
        $path = self::path($url);
        $others = [];
        foreach (Listing::of($truth, $group, static fn(string $name): bool => self::path(Dependencies::url($name)) === $path) as $row) {
            $others[] = \implode('; ', [Dependencies::url($row['name']), ...Dependencies::words($row['name'])]);
            if (\count($others) === self::OTHERS) {
                break;
            }
        }

        return $others;
    }

    /** Host and path. */
    private static function path(string $url): string
    {
        return (string) \preg_replace('~^\w+://([^/:]*)(?::\d+)?~', '$1', \explode('?', $url, 2)[0]);
    }
}
