<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Doctor\Finding;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\WordPress\Health;
use Larder\WordPress\Quietly;
use Larder\WordPress\Site;

/** `wp larder doctor`. */
final class Doctor
{
    /**
     * Checks this machine, the directory and the servers behind the cache, and says what is wrong and how to fix it.
     *
     * The findings about PHP are about the command line's PHP. The web may use another one: see Site Health in wp-admin
     * for that. The exit status is 1 if a check fails.
     *
     * ## OPTIONS
     *
     * [--format=<format>]
     * : How to print it.
     * ---
     * default: table
     * options:
     *   - table
     *   - json
     *   - csv
     * ---
     *
     * ## EXAMPLES
     *
     *     $ wp larder doctor
     *
     * @param list<string>          $args
     * @param array{format: string} $options
     */
    public function __invoke(array $args, array $options): void
    {
        $findings = \array_map(static fn(Finding $finding): array => $finding->document(), [self::user(), ...Health::findings()]);
        \WP_CLI\Utils\format_items($options['format'], $findings, ['level', 'subject', 'text', 'fix']);
        if (\in_array('fail', \array_column($findings, 'level'), true)) {
            \WP_CLI::halt(1);
        }
    }

    /** Who this is, whose the cache is, and who the web server seems to be. */
    private static function user(): Finding
    {
        $me = Ownership::user();
        $directory = Site::current()->directory() ?? '';
        if (!Quietly::call(static fn(): bool => \is_dir($directory))) {
            return Finding::ok('user', Ownership::name($me));
        }
        $owner = PrivateDirectory::owner($directory);
        $uploads = Quietly::call(static fn(): int|false => \fileowner(\WP_CONTENT_DIR . '/uploads'));
        if ($uploads !== false && $uploads !== $owner) {
            return Finding::warn(
                'user',
                \sprintf('the cache belongs to %s, but the files that the web has uploaded belong to %s', Ownership::name($owner), Ownership::name($uploads)),
                'If the web server works as ' . Ownership::name($uploads) . ', remove ' . $directory . ': the next page creates it again.',
            );
        }

        return $me === $owner
            ? Finding::ok('user', Ownership::name($me) . ', who owns the cache')
            : Finding::warn('user', Ownership::name($me) . ', but the cache belongs to ' . Ownership::name($owner), 'Run this command as that user, or as root.');
    }
}
