<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Cache;
use Larder\System\PrivateDirectory;
use Larder\System\WrongUser;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Site;

/** To the cache of the site, which is the web's too, or else to the end of the command. */
final class Door
{
    public const ABSENT = 'Larder is not the object cache of this site. Type: wp larder enable';

    /** Root works as the owner of the cache, also where the drop-in is not there to see to that. */
    public static function become(): void
    {
        $directory = Site::current()->directory() ?? '';
        try {
            $directory === '' || PrivateDirectory::become($directory);
        } catch (WrongUser $wrong) {
            \WP_CLI::error($wrong->getMessage());
        }
    }

    /** Larder, where it is what WordPress uses in this process; also when it is not persistent now. */
    public static function installed(): ?ObjectCache
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;

        return $cache instanceof ObjectCache ? $cache : null;
    }

    /** The site's persistent cache. Ends the command with the advice where there is none. */
    public static function open(): ObjectCache
    {
        $cache = self::installed() ?? \WP_CLI::error(self::ABSENT);
        if ($cache->larder() === null) {
            \WP_CLI::error($cache->problem());
        }

        return $cache;
    }

    /** The front door below it, of all of this site's. */
    public static function cache(): Cache
    {
        return self::open()->larder() ?? \WP_CLI::error(self::ABSENT);
    }

    /** @param array<string, mixed> $options */
    public static function flag(array $options, string $name): bool
    {
        // --no-name is false.
        return ($options[$name] ?? false) !== false;
    }

    /**
     * A whole number that was given on the command line, or the end of the command.
     *
     * @param array<string, mixed> $options
     */
    public static function number(array $options, string $name, int $default, int $least, int $most): int
    {
        $number = \filter_var($options[$name] ?? $default, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => $most]]);

        return \is_int($number) ? $number : \WP_CLI::error(\sprintf('--%s must be a whole number from %d to %d.', $name, $least, $most));
    }
}
