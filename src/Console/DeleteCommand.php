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

#[AsCommand('delete', 'Remove keys from every tier')]
final class DeleteCommand extends CacheCommand
{
    protected const MAKES = true;

    protected function configure(): void
    {
        parent::configure();
        $this
            ->addArgument('key', InputArgument::REQUIRED | InputArgument::IS_ARRAY, 'One or more keys')
            ->setHelp(<<<'HELP'
                Removes keys. The next web request sees that. Fills that other processes computed before are not stored.
                A missing key is no error: it counts as deleted all the same.

                  <info>%command.full_name% greeting</info>
                  <info>%command.full_name% --group=users 41 42 43</info>
                HELP);
    }

    protected function work(Cache $cache, Place $place, InputInterface $input, OutputInterface $output): int
    {
        $keys = self::words($input->getArgument('key'));
        $found = \count(\array_filter($keys, $cache->has(...)));
        $done = $cache->deleteMultiple($keys);
        $document = ['keys' => \array_map(Text::key(...), $keys), 'found' => $found];

        return self::say($input, $output, $document, $done, match (true) {
            !$done, $found === \count($keys) => 'deleted',
            $found === 0 => 'nothing was there',
            default => "deleted; $found of " . \count($keys) . ' were there',
        });
    }
}
