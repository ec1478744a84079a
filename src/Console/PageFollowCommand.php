<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\WrongCacheWarning;
use Larder\Console\Support\Place;
use Larder\Page\Files\Tree;
use Larder\System\Clock;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Command\SignalableCommandInterface;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('page:follow', 'Remove this server\'s files of pages that another server purges, within milliseconds')]
final class PageFollowCommand extends CacheCommand implements SignalableCommandInterface
{
    protected const MAKES = true;

    /** Microseconds between two looks into the journal, and after one that failed. */
    private const PAUSE = 10_000;
    private const AFTER_FAILURE = 250_000;

    /** Looks after which it asks which directories there are. */
    private const ROUNDS = 100;

    private bool $isStopped = false;

    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Needed where several servers share a cache, and the web server of each sends pages by itself (the page cache's
            option "static"). What one server purges, PHP on every other server knows at once; but its web server would go on
            sending its own files, up to "staticLife" seconds. This command takes them out as soon as the journal names them.

              <info>%command.full_name% --dsn=redis://10.0.0.5</info>

            It runs until it is stopped: as a service of systemd, with Restart=always, and as PHP's user.
            HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        WrongCacheWarning::refuse($cache, $place, $input);
        $trees = [];
        for ($round = 0; !$this->isStopped; $round++) {
            $trees = $round % self::ROUNDS === 0 ? Tree::noted($cache) : $trees;
            $isDone = !\in_array(false, \array_map(static fn(Tree $tree): bool => $tree->follow(), $trees), true);
            // What has failed is in the log, and is made up for: a position that is not applied stays.
            $place->complaints->take();
            Clock::pause($isDone ? self::PAUSE : self::AFTER_FAILURE);
        }

        return Application::OK;
    }

    /** @return list<int> */
    public function getSubscribedSignals(): array
    {
        return \defined('SIGTERM') ? [\SIGTERM, \SIGINT] : [];
    }

    public function handleSignal(int $signal, int|false $previousExitCode = 0): int|false
    {
        $this->isStopped = true;

        return false;
    }
}
