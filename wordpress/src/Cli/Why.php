<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Support\Text;
use Larder\Request\InvalidKey;

/** `wp larder why`. */
final class Why
{
    /**
     * Says which tier holds a key, and since when; or why none does.
     *
     * The exit status is 1 if no tier has it.
     *
     * ## OPTIONS
     *
     * <group>
     * : The group, by its name in WordPress: `options`, `posts`, `transient`, ...
     *
     * <key>
     * : The key in that group. On a network, --url says which site.
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
     *     $ wp larder why options alloptions
     *     $ wp larder why transient feed_mod_d117b5738fbd35bd8c0391cda1f2b5d9
     *     $ wp larder why posts 42 --format=json
     *
     * @param array{string, string}  $args
     * @param array{format: string} $options
     */
    public function __invoke(array $args, array $options): void
    {
        [$group, $key] = $args;
        $space = Door::open()->space($group)
            ?? \WP_CLI::error('The group "' . $group . '" is not persistent: each request has its own.');
        try {
            $rows = $space->inspect($key);
        } catch (InvalidKey $e) {
            \WP_CLI::error($e->getMessage());
        }
        $found = \in_array(true, \array_column($rows, 'found'), true);
        if ($options['format'] === 'table') {
            foreach ($rows as &$row) {
                $row = [
                    'age' => $row['age'] === null ? '' : Text::duration($row['age']),
                    'size' => $row['size'] === null ? '' : Text::bytes($row['size']),
                    'ttl' => $row['found'] && $row['size'] !== null ? Text::duration($row['ttl']) : '',
                    'tags' => Text::line(\implode(' ', $row['tags'])),
                ] + $row;
            }
            unset($row);
        }
        \WP_CLI\Utils\format_items($options['format'], $rows, ['tier', 'kind', 'age', 'size', 'ttl', 'position']);
        if (!$found) {
            \WP_CLI::halt(1);
        }
    }
}
