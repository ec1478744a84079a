<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Page\FastDoor;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('flush', 'Empty the cache, or one group')]
final class FlushCommand extends CacheCommand
{
    protected const MAKES = true;

    protected function configure(): void
    {
        parent::configure();
        $this->setHelp(<<<'HELP'
            Empties this cache and no other cache on the same server: caches with another prefix stay. With --group, empties
            only that group. This takes the same time however much the cache holds.

              <info>%command.full_name%</info>
              <info>%command.full_name% --group=users</info>
            HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $done = $cache->flush();
        FastDoor::doubtOthers($cache->group('page'));

        return self::say($input, $output, ['group' => self::text($input, 'group')], $done, 'flushed');
    }
}
