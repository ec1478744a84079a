<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Support\Text;
use Larder\WordPress\Admin\Contents;

/** `wp larder top`. */
final class Top
{
    private const MOST = 100_000;

    /**
     * Lists the groups or the keys that take the most room, largest first.
     *
     * Goes through all entries, at most 100,000 of them.
     *
     * ## OPTIONS
     *
     * [--keys]
     * : List the keys instead of the groups.
     *
     * [--limit=<limit>]
     * : Number of rows, from 1 to 20.
     * ---
     * default: 10
     * ---
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
     *     $ wp larder top
     *     $ wp larder top --keys --limit=5
     *
     * @param list<string>                                      $args
     * @param array{limit: string, format: string, keys?: bool} $options
     */
    public function __invoke(array $args, array $options): void
    {
        $limit = Door::number($options, 'limit', 10, 1, 20);
        $contents = Contents::look(Door::cache()->entries(), most: self::MOST, seconds: 60.0);
        $table = $options['format'] === 'table';
        $site = \is_multisite() ? ['site'] : [];
        if (Door::flag($options, 'keys')) {
            $rows = \array_map(static fn(array $row): array => [
                'key' => Text::line($row['key']),
                'group' => Text::line($row['group']),
                'size' => $table ? Text::bytes($row['size']) : $row['size'],
                'age' => $table ? Text::duration($row['age']) : $row['age'],
                'ttl' => $table ? Text::duration($row['ttl']) : $row['ttl'],
            ] + $row, $contents->keys);
            $fields = [...$site, 'group', 'key', 'size', 'age', 'ttl'];
        } else {
            $rows = \array_map(static fn(array $row): array => [
                'group' => Text::line($row['group']),
                'bytes' => $table ? Text::bytes($row['bytes']) : $row['bytes'],
            ] + $row, $contents->groups);
            $fields = [...$site, 'group', 'entries', 'bytes'];
        }
        \WP_CLI\Utils\format_items($options['format'], \array_slice($rows, 0, $limit), $fields);
        if (!$contents->complete) {
            \WP_CLI::warning('The cache has more entries than the ' . self::MOST . ' that this command looked at.');
        }
    }
}
