<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\WordPress\Admin\Admin;
use Larder\WordPress\Admin\QueryMonitor;

/**
 * Hooks it all into WordPress.
 *
 * This folder is the plugin: thin, what a cache is lies in the library. The drop-in loads ObjectCache, long before any
 * plugin; from here comes what needs WordPress's actions. Hooks are given as names, so that a class is loaded when it is
 * called: a visitor's page loads none but those that look after its writes.
 */
final class Plugin
{
    /** Of WordPress's cron: an update is done. */
    public const UPDATED = 'larder_updated';

    public static function boot(string $file): void
    {
        if (!($GLOBALS['wp_object_cache'] ?? null) instanceof ObjectCache) {
            Presence::leave();
        }
        \register_activation_hook($file, [Activation::class, 'activate']);
        \register_deactivation_hook($file, [Activation::class, 'deactivate']);

        // An update may also come by WordPress's cron or by a command, which are not wp-admin.
        \add_filter('upgrader_pre_install', [Activation::class, 'updating'], 10, 2);
        \add_action('upgrader_process_complete', [Activation::class, 'updated'], 10, 2);
        \add_action(self::UPDATED, [Activation::class, 'renew']);

        // These too: Site Health looks once a week by itself.
        \add_filter('site_status_tests', [Health::class, 'tests']);
        \add_filter('debug_information', [Health::class, 'information']);
        \add_action('rest_api_init', [Health::class, 'routes']);

        \add_action('admin_bar_init', [Admin::class, 'boot']);
        \add_filter('qm/collectors', [QueryMonitor::class, 'collectors']);
        \add_filter('qm/outputter/html', [QueryMonitor::class, 'panels'], 80);

        if (\is_admin()) {
            Admin::boot();
            \add_action('admin_init', [Activation::class, 'check']);
            \add_action('admin_post_' . Notices::ACTION, [Notices::class, 'posted']);
            \add_action('admin_notices', [Notices::class, 'show']);
            \add_action('network_admin_notices', [Notices::class, 'show']);
            \add_filter('plugin_action_links_' . \plugin_basename($file), [Admin::class, 'links']);
            \add_filter('network_admin_plugin_action_links_' . \plugin_basename($file), [Admin::class, 'links']);
        }
        if (\defined('WP_CLI') && WP_CLI) {
            Cli\Command::register();
        }
    }
}
