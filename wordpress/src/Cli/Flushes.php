<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\Console\Support\Text;
use Larder\WordPress\Flushes as Log;

/** `wp larder flushes`. */
final class Flushes
{
    /**
     * Lists the last flushes that were asked for on this server, the last one first, and who asked for each.
     *
     * Of a URL it names the path, of a command line the words and the names of options.
     *
     * ## OPTIONS
     *
     * [--limit=<limit>]
     * : Number of rows, from 1 to 200.
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
     *     $ wp larder flushes
     *     $ wp larder flushes --limit=200 --format=csv
     *
     * @param list<string>                         $args
     * @param array{limit: string, format: string} $options
     */
    public function __invoke(array $args, array $options): void
    {
        $rows = \array_map(static fn(array $flush): array => [
            'time' => \gmdate('Y-m-d\TH:i:s\Z', $flush['time']),
            'site' => $flush['site'],
            'group' => $flush['group'] === '' ? '(all)' : Text::line($flush['group']),
            'done' => $flush['done'] ? 'yes' : 'no',
            'caller' => Text::line($flush['caller'], 300),
            'request' => Text::line($flush['request'], 300),
            'user' => Text::line($flush['user']),
        ], \array_slice(Log::last(Door::cache()), 0, Door::number($options, 'limit', 20, 1, 200)));
        \WP_CLI\Utils\format_items($options['format'], $rows, ['time', ...(\is_multisite() ? ['site'] : []), 'group', 'done', 'caller', 'request', 'user']);
    }
}
