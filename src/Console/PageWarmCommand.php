<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\OwnersOptions;
use Larder\Console\Page\Visit;
use Larder\Console\Page\WrongCacheWarning;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Larder\Console\Warm\NoSitemap;
use Larder\Console\Warm\Pace;
use Larder\Console\Warm\Sitemaps;
use Larder\Console\Warm\Transfer;
use Larder\Console\Warm\Warmer;
use Larder\Console\Warm\WarmResult;
use Larder\Page\Exchange;
use Larder\Page\Explanation;
use Larder\Page\PageOutcome;
use Larder\Page\Pages;
use Larder\Page\Settings;
use Larder\Page\Tags;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Console\Helper\ProgressBar;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('page:warm', 'Ask for the pages of a sitemap that are not stored or not fresh')]
final class PageWarmCommand extends PageCommand implements SignalableCommandInterface
{
    private bool $isStopped = false;
    private ?Warmer $warmer = null;

    /** @var array<string, int> by what became of the pages */
    private array $counts = [];

    protected function configure(): void
    {
        parent::configure();
        $this->addVisit();
        $this
            ->addArgument('sitemap', InputArgument::REQUIRED, 'A sitemap\'s URL or file: XML, an index of sitemaps, or a URL a line; also compressed (.gz)')
            ->addOption('concurrency', 'c', InputOption::VALUE_REQUIRED, 'Most requests at the same time', '4')
            ->addOption('connect', null, InputOption::VALUE_REQUIRED, 'Ask this HOST:PORT, whatever host a URL names: one of several servers, or past a CDN')
            ->addOption('timeout', null, InputOption::VALUE_REQUIRED, 'Seconds to wait for a page', '60')
            ->addOption('tries', null, InputOption::VALUE_REQUIRED, 'How often a page is asked for that fails', '3')
            ->addOption('dry-run', null, InputOption::VALUE_NONE, 'Read the sitemap, say what would be done, and ask for no page')
            ->setHelp(<<<'HELP'
                Asks the site for each page of a sitemap, unless the store has it fresh. It begins with one request at a time. It slows
                down when answers take longer, and pauses when the site fails or asks to wait (503, Retry-After). A page that fails is
                asked for again later. Ctrl-C ends it after the requests under way; a second one ends those too.

                Standard output is a log, a line for each page: time, what became of the page, status, duration, URL. With --json each
                line is a JSON document. The exit status is 1 if a page failed, or not all were asked for.

                  <info>%command.full_name% https://shop.example/sitemap.xml</info>
                  <info>%command.full_name% sitemap.xml.gz --concurrency=8 >> warm.log</info>
                  <info>%command.full_name% https://shop.example/sitemap.xml --connect=10.0.0.5:443 --cookie "language=de"</info>
                  <info>%command.full_name% https://shop.example/sitemap.xml --dry-run</info>
                HELP);
    }

    /** @return list<int> */
    public function getSubscribedSignals(): array
    {
        return \extension_loaded('pcntl') ? [\SIGINT, \SIGTERM] : [];
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        $this->isStopped = true;
        $this->warmer?->stop();

        return false;
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $concurrency = (int) self::number($input, 'concurrency', 1);
        $timeout = self::number($input, 'timeout', 0.1);
        $to = self::text($input, 'connect');
        $visit = Visit::of('http://any/', self::words($input->getOption('header')), self::words($input->getOption('cookie')));
        $owners = self::owners($cache, $input);
        $json = $input->getOption('json') === true;
        $errors = $output instanceof ConsoleOutputInterface ? $output->getErrorOutput() : $output;
        $doubt = WrongCacheWarning::about($cache, $place, $input);
        $doubt === null || $errors->writeln('<comment>' . Text::shown($doubt) . '</comment>');
        $sitemaps = new Sitemaps($visit, $to, $timeout);
        $begin = \hrtime(true);
        try {
            $urls = $sitemaps->pages(self::argument($input, 'sitemap'), fn(): bool => $this->isStopped);
        } catch (NoSitemap $none) {
            $errors->writeln('<error>' . Text::shown('No sitemap: ' . self::argument($input, 'sitemap') . ': ' . $none->getMessage()) . '</error>');

            return Application::NOT_DONE;
        }
        foreach ($sitemaps->complaints as $complaint) {
            $errors->writeln('<comment>' . Text::shown("left out: $complaint", 310) . '</comment>');
        }
        $bar = $errors !== $output && $errors->isDecorated() ? new ProgressBar($errors, \count($urls)) : null;
        $bar?->start();
        $pages = new Pages($cache);
        $isDry = $input->getOption('dry-run') === true;
        $pace = new Pace($concurrency);
        $log = function (WarmResult $deed, string $url, ?Transfer $transfer, string $detail) use ($output, $bar, $json): void {
            $this->counts[$deed->value] = ($this->counts[$deed->value] ?? 0) + 1;
            $bar?->clear();
            self::log($output, $json, $deed, $url, $transfer, $detail);
            $bar?->advance();
            $bar?->display();
        };
        $this->warmer = new Warmer(
            $visit,
            $pace,
            $to,
            $timeout,
            (int) self::number($input, 'tries', 1),
            static function (Visit $visit) use ($pages, $owners, $isDry, $log): bool {
                $explanation = self::explain($pages, $owners, $visit);
                if ($explanation->outcome === PageOutcome::Hit) {
                    $log(WarmResult::Skipped, $visit->url, null, '');
                } elseif ($isDry) {
                    $log(WarmResult::Wanted, $visit->url, null, $explanation->detail !== '' ? $explanation->detail : $explanation->forward);
                }

                return $isDry || $explanation->outcome === PageOutcome::Hit;
            },
            static function (Transfer $transfer) use ($log): void {
                $deed = WarmResult::of($transfer, $detail);
                $log($deed, $transfer->visit->url, $transfer, $detail);
            },
        );
        $this->isStopped && $this->warmer->stop();
        $left = $this->warmer->warm($urls);
        $bar?->clear();
        $summary = ['pages' => \count($urls)] + $this->counts + ['not asked for' => \count($left), 'slowed down' => $pace->slowed(), 'seconds' => \round((\hrtime(true) - $begin) / 1e9, 1)];
        if ($json) {
            Text::json($output, ['summary' => $summary], false);
        } else {
            $output->writeln(\implode(', ', \array_map(static fn(string $word, int|float $number): string => "$number $word", \array_keys($summary), $summary)));
        }

        return $left === [] && !isset($this->counts[WarmResult::Failed->value]) ? Application::OK : Application::NOT_DONE;
    }

    /** What becomes of a visitor's request now. */
    private static function explain(Pages $pages, OwnersOptions $owners, Visit $visit): Explanation
    {
        return (Exchange::of($pages, Settings::from($owners->for($visit->url)), $visit->variables($pages->notes()->server(Tags::origin($visit->url)))))->explain();
    }

    private static function log(OutputInterface $output, bool $json, WarmResult $deed, string $url, ?Transfer $transfer, string $detail): void
    {
        if ($json) {
            Text::json($output, ['time' => \time(), 'did' => $deed->value, 'url' => $url, 'status' => $transfer?->status, 'seconds' => $transfer === null ? null : \round($transfer->seconds, 4), 'detail' => $detail], false);

            return;
        }
        $output->writeln(Text::shown(\sprintf(
            '%s  %-10s  %-3s  %8s  %s%s',
            \date('H:i:s'),
            $deed->value,
            $transfer === null || $transfer->status === 0 ? '' : $transfer->status,
            $transfer === null ? '' : Text::duration($transfer->seconds),
            Text::line($url, 300),
            $detail === '' ? '' : ' (' . Text::line($detail, 200) . ')',
        )));
    }
}
