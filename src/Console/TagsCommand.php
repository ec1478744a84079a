<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Support\Place;
use Larder\Console\Support\Text;
use Symfony\Component\Console\Attribute\AsCommand;
use Symfony\Component\Console\Input\InputArgument;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Output\OutputInterface;

#[AsCommand('tags', 'Invalidate all entries that carry a tag')]
final class TagsCommand extends CacheCommand
{
    protected const MAKES = true;

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('tag', InputArgument::REQUIRED | InputArgument::IS_ARRAY, 'One or more tags')
            ->setHelp(<<<'HELP'
                Invalidates every entry that carries one of the tags. A group has tags of its own.

                  <info>%command.full_name% theme</info>
                  <info>%command.full_name% --group=products category:7 brand:3</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $tags = self::words($input->getArgument('tag'));

        return self::say($input, $output, ['tags' => \array_map(Text::key(...), $tags)], $cache->invalidateTags(...$tags), 'invalidated');
    }
}
