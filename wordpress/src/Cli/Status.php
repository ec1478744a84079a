<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

use Larder\System\Ownership;
use Larder\WordPress\DropIn;
use Larder\WordPress\DropInState;
use Larder\WordPress\SelfCheck;
use Larder\WordPress\Site;

/** `wp larder status`. */
final class Status
{
    /**
     * Says whether Larder works as the object cache of this site, and with which engine.
     *
     * The exit status is 1 if it does not work.
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
     *     $ wp larder status
     *     $ wp larder status --format=json
     *
     * @param list<string>          $args
     * @param array{format: string} $options
     */
    public function __invoke(array $args, array $options): void
    {
        $cache = Door::installed();
        $larder = $cache?->larder();
        $dropIn = DropIn::here();
        $state = $dropIn->state();
        $tiers = [];
        foreach ($larder?->stats() ?? [] as $tier => $row) {
            if (isset($row['engine'])) {
                $tiers[] = $tier . ' (' . $row['engine'] . ')';
            }
        }
        $problem = match (true) {
            // It is also tried: a cache whose directory or server is lost goes on without.
            $larder !== null => self::tried(),
            Site::current()->isDisabled() => 'LARDER_DISABLED switches it off.',
            $cache !== null => $cache->problem(),
            $state->isOurs() => 'The drop-in fell back to WordPress\'s own cache. Type: wp larder doctor',
            default => Door::ABSENT,
        };
        $row = [
            'works' => $problem === '' ? 'yes' : 'no',
            'drop-in' => match ($state) {
                DropInState::Ours => 'in place',
                DropInState::Outdated => 'in place, with another version',
                DropInState::Foreign => 'that of ' . $dropIn->foreignName(),
                DropInState::Missing, DropInState::Unwritable => 'none',
            },
            'tiers' => \implode(', ', $tiers),
            'directory' => Site::current()->directory() ?? '',
            'user' => Ownership::name(Ownership::user()),
            'problem' => $problem,
        ];
        if ($options['format'] === 'json') {
            \WP_CLI::line((string) \wp_json_encode(['works' => $problem === ''] + $row, \JSON_UNESCAPED_SLASHES));
        } else {
            $items = [];
            foreach ($row as $field => $value) {
                $items[] = ['field' => $field, 'value' => $value];
            }
            \WP_CLI\Utils\format_items($options['format'], $items, ['field', 'value']);
        }
        if ($problem !== '') {
            \WP_CLI::halt(1);
        }
    }

    private static function tried(): string
    {
        $problem = SelfCheck::problem();

        return $problem === '' ? '' : $problem . ' Type: wp larder doctor';
    }
}
