<?php

declare(strict_types=1);

/**
 * Plugin Name: Larder page cache (drop-in)
 * Description: WordPress's page cache by Larder. The plugin puts this file here, and takes it away when it is deactivated.
 * Version: 0.1.0
 * Author: Larder
 * License: GPL-2.0-or-later
 *
 * Larder drop-in: advanced-cache
 *
 * WordPress loads it where wp-config.php says: define('WP_CACHE', true);
 * A stored page needs no WordPress where wp-config.php also says, just above the line that loads wp-settings.php:
 * @include ABSPATH . 'wp-content/advanced-cache.php';
 *
 * Where the plugin is gone, or switched off by LARDER_DISABLED, or another plugin is the object cache, this file does
 * nothing.
 *
 * @package Larder
 */

defined('ABSPATH') || exit;

if (!defined('WP_CACHE') || !WP_CACHE) {
    return;
}
// As WordPress does.
defined('WP_CONTENT_DIR') || define('WP_CONTENT_DIR', ABSPATH . 'wp-content');

(static function (): void {
    $off = defined('LARDER_DISABLED') ? constant('LARDER_DISABLED') : getenv('LARDER_DISABLED');
    if (PHP_VERSION_ID < 80200 || ($off && $off !== 'false')) { // @phpstan-ignore smaller.alwaysFalse
        return;
    }
    $plugins = defined('WP_PLUGIN_DIR') ? WP_PLUGIN_DIR : WP_CONTENT_DIR . '/plugins';
    // The plugin writes here where it lies when it puts this file into its place.
    foreach ([$plugins . '/larder', dirname(__DIR__)] as $folder) {
        if (is_file($folder . '/src/Page/Door.php') && is_file($folder . '/autoload.php') && is_file($folder . '/larder.php')) {
            require_once $folder . '/autoload.php';
            Larder\WordPress\Page\Door::open();

            return;
        }
    }
})();
