<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Census;
use Larder\Console\Text;

/** `wp larder top`. */
final class Top
{
    /**
     * Lists what takes the room: the groups, or the keys, largest first.
     *
     * Goes through all entries, at most 100,000 of them.
     *
     * ## OPTIONS
     *
     * [--keys]
     * : The keys instead of the groups.
     *
     * [--limit=<limit>]
     * : How many, from 1 to 1000.
     * ---
     * default: 20
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
        $limit = Door::number($options, 'limit', 20, 1, 1000);
        $census = Census::take(Door::cache(), null, 'size', $limit);
        $table = $options['format'] === 'table';
        $rows = [];
        if (Door::flag($options, 'keys')) {
            foreach ($census->keys as $row) {
                $rows[] = [
                    'group' => Text::line($row['group']),
                    'key' => Text::line($row['key']),
                    'bytes' => $table ? Text::bytes($row['size']) : $row['size'],
                    'age' => $table ? Text::duration($row['age']) : $row['age'],
                    'ttl' => $table ? Text::duration($row['ttl']) : $row['ttl'],
                ];
            }
        } else {
            foreach (\array_slice($census->groups, 0, $limit, true) as $name => [$entries, $bytes]) {
                $rows[] = ['group' => Text::line((string) $name), 'entries' => $entries, 'bytes' => $table ? Text::bytes($bytes) : $bytes];
            }
        }
        \WP_CLI\Utils\format_items($options['format'], $rows, Door::flag($options, 'keys') ? ['group', 'key', 'bytes', 'age', 'ttl'] : ['group', 'entries', 'bytes']);
        if (!$census->complete) {
            \WP_CLI::warning('There are more entries than the ' . $census->entries . ' that were looked at.');
        }
    }
}
