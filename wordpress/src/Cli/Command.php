<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use WP_CLI\Dispatcher\CommandNamespace;

/**
 * Looks after Larder, the object cache of this site.
 *
 * Root works as the user to whom the cache's directory belongs; any other user is told what to type.
 *
 * ## EXAMPLES
 *
 *     # Does it work, and with what?
 *     $ wp larder status
 *
 *     # Why is an option as it is?
 *     $ wp larder why options alloptions
 */
final class Command extends CommandNamespace
{
    private const COMMANDS = [
        'status' => Status::class,
        'enable' => Enable::class,
        'disable' => Disable::class,
        'doctor' => Doctor::class,
        'flush' => Flush::class,
        'flushes' => Flushes::class,
        'stats' => Stats::class,
        'top' => Top::class,
        'why' => Why::class,
        'queue' => Queue::class,
        'bench' => Bench::class,
    ];

    /** To be called where WP_CLI is defined: this class is one of WP-CLI's. */
    public static function register(): void
    {
        \WP_CLI::add_command('larder', self::class);
        foreach (self::COMMANDS as $name => $class) {
            \WP_CLI::add_command('larder ' . $name, $class, ['before_invoke' => Door::become(...)]);
        }
    }
}
