<?php

declare(strict_types=1);

namespace Larder\Console;

use Larder\Cache;
use Larder\Console\Page\OwnersOptions;
use Larder\Page\Pages;
use Symfony\Component\Console\Input\InputInterface;
use Symfony\Component\Console\Input\InputOption;

/** Shared by the commands of the page cache: they need its options, and describe requests alike. */
abstract class PageCommand extends CacheCommand
{
    protected const MAKES = true;

    protected function configure(): void
    {
        parent::configure();
        $this->addOption('options', 'o', InputOption::VALUE_REQUIRED, 'The page cache\'s options as JSON, or a file with them (.json, or .php that returns an array; default: those that the web used last for the same host)');
    }

    final protected function addVisit(): void
    {
        $this
            ->addOption('header', 'H', InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'A field of the request: "Name: value"')
            ->addOption('cookie', 'b', InputOption::VALUE_REQUIRED | InputOption::VALUE_IS_ARRAY, 'A cookie of the request: "name=value"');
    }

    final protected static function owners(Cache $cache, InputInterface $input): OwnersOptions
    {
        return OwnersOptions::choose(self::text($input, 'options'), new Pages($cache));
    }
}
