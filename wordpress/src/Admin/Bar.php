<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/**
 * What the cache did for this request, in the admin bar, for administrators.
 *
 * The bar is written long before the page has ended. So the figures are written once more at its end, where no visitor sees
 * them, and a script puts them into the bar.
 */
final class Bar
{
    private const NODE = 'larder';

    public static function add(\WP_Admin_Bar $bar): void
    {
        $network = \is_network_admin();
        if (Admin::cache() === null || !\current_user_can(Admin::capability($network))) {
            return;
        }
        foreach (self::lines() as $id => $text) {
            $bar->add_node([
                'id' => $id,
                'title' => \esc_html($text),
                'href' => Admin::url($network),
            ] + ($id === self::NODE ? [] : ['parent' => self::NODE]));
        }
        \wp_enqueue_script('larder-bar', Admin::asset('bar.js'), [], Admin::version('bar.js'), ['in_footer' => true, 'strategy' => 'defer']);
        \add_action(\is_admin() ? 'admin_print_footer_scripts' : 'wp_footer', [self::class, 'final'], \PHP_INT_MAX);
    }

    public static function final(): void
    {
        echo '<template id="larder-bar">';
        foreach (self::lines() as $id => $text) {
            echo '<i data-node="', \esc_attr($id), '">', \esc_html($text), '</i>';
        }
        echo "</template>\n";
    }

    /** @return array<string, string> by the node's id */
    private static function lines(): array
    {
        $cache = Admin::cache();
        if ($cache === null) {
            return [];
        }
        if ($cache->larder() === null) {
            return [self::NODE => \__('Larder: not in use', 'larder')];
        }
        $report = $cache->report();

        return [
            self::NODE => \sprintf(
                /* translators: 1: percentage of reads that the cache answered, 2: time with its unit */
                \__('Larder %1$s · %2$s', 'larder'),
                Text::percentage($report['hits'], $report['misses']),
                Text::duration($report['seconds']),
            ),
            self::NODE . '-hits' => \sprintf(
                /* translators: %s: number */
                \__('Hits: %s', 'larder'),
                Text::number($report['hits']),
            ),
            self::NODE . '-misses' => \sprintf(
                /* translators: %s: number */
                \__('Misses: %s', 'larder'),
                Text::number($report['misses']),
            ),
            self::NODE . '-time' => \sprintf(
                /* translators: %s: time with its unit */
                \__('Time in the store: %s', 'larder'),
                Text::duration($report['seconds']),
            ),
            self::NODE . '-trips' => \sprintf(
                /* translators: %s: number of times the store was asked */
                \__('Round trips: %s', 'larder'),
                Text::number($report['round_trips']),
            ),
        ];
    }
}
