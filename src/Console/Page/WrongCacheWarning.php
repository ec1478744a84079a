<?php

declare(strict_types=1);

namespace Larder\Console\Page;

use Larder\Cache;
use Larder\Config\Environment;
use Larder\Console\Support\Place;
use Larder\Page\Pages;
use Symfony\Component\Console\Exception\InvalidArgumentException;
use Symfony\Component\Console\Input\InputInterface;

/** Whether a command of the page cache may have got another cache than the site's: a purge there would look like one that worked. */
final class WrongCacheWarning
{
    /** @return ?string null: the user has named the cache, or a site has made a page with it */
    public static function about(Cache $cache, Place $place, InputInterface $input): ?string
    {
        return $input->getOption('dsn') !== null || Environment::dsn() !== null || (new Pages($cache))->notes()->isUsed() ? null
            : 'No site has stored a page here (' . $place->describe() . '). Name the cache that it opens: --dsn=sqlite:///var/cache/app, or LARDER_DSN in the environment.';
    }

    /** @throws InvalidArgumentException */
    public static function refuse(Cache $cache, Place $place, InputInterface $input): void
    {
        $doubt = self::about($cache, $place, $input);
        $doubt === null || throw new InvalidArgumentException($doubt);
    }
}
