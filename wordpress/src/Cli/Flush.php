<?php

declare(strict_types=1);

namespace Larder\WordPress\Cli;

/** `wp larder flush`. */
final class Flush
{
    /**
     * Empties the cache of this site, or a part of it, for the web too.
     *
     * This takes the same time however much the cache holds. On a network, --url says which site.
     *
     * ## OPTIONS
     *
     * [--group=<group>]
     * : Empty only this group, for example `options`. A group that the sites of a network share is emptied for all of them.
     *
     * [--network]
     * : Empty the cache of all sites of the network.
     *
     * ## EXAMPLES
     *
     *     $ wp larder flush
     *     Success: Emptied the cache of https://example.com.
     *
     *     $ wp larder flush --group=transient
     *     Success: Emptied the group "transient" of https://example.com.
     *
     * @param list<string>         $args
     * @param array<string, mixed> $options
     */
    public function __invoke(array $args, array $options): void
    {
        $cache = Door::open();
        $group = $options['group'] ?? null;
        $network = Door::flag($options, 'network');
        if ($group !== null && $network) {
            \WP_CLI::error('Give either --group or --network: a group is emptied for one site.');
        }
        if ($network && !\is_multisite()) {
            \WP_CLI::error('This site is not part of a network. Type: wp larder flush');
        }
        if (\is_string($group)) {
            if ($cache->space($group) === null) {
                \WP_CLI::error('The group "' . $group . '" is not persistent: each request has its own.');
            }
            $done = $cache->flush_group($group);
            $what = 'the group "' . $group . '" of ' . \home_url();
        } else {
            $done = $network ? $cache->flush_network() : $cache->flush();
            $what = 'the cache of ' . ($network ? 'all sites of the network' : \home_url());
        }
        $done ? \WP_CLI::success('Emptied ' . $what . '.') : \WP_CLI::error('Could not empty ' . $what . '. Type: wp larder doctor');
    }
}
