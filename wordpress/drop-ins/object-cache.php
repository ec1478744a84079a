<?php

declare(strict_types=1);

/**
 * Plugin Name: Larder object cache (drop-in)
 * Description: WordPress's object cache by Larder. The plugin puts this file here, and takes it away when it is deactivated.
 * Version: 1.0.0
 * Author: Larder
 * License: GPL-2.0-or-later
 *
 * Larder drop-in: object-cache
 *
 * Where the plugin is gone, or switched off by LARDER_DISABLED, this file does nothing, and WordPress takes its own cache.
 *
 * @package Larder
 */

if (!defined('ABSPATH')) {
    return;
}

(static function (): void {
    $off = defined('LARDER_DISABLED') ? constant('LARDER_DISABLED') : getenv('LARDER_DISABLED');
    if ((float) PHP_VERSION < 8.2 || ($off && $off !== 'false') || function_exists('wp_cache_init')) {
        return;
    }
    $plugins = defined('WP_PLUGIN_DIR') ? WP_PLUGIN_DIR : WP_CONTENT_DIR . '/plugins';
    foreach ([$plugins . '/larder', dirname(__DIR__)] as $folder) {
        if (is_file($folder . '/functions.php') && is_file($folder . '/autoload.php') && is_file($folder . '/larder.php')) {
            require_once $folder . '/autoload.php';
            require_once $folder . '/functions.php';

            return;
        }
    }
    // Nobody tells the cache what changes now: the first request that has the plugin again finds this, and empties it.
    if (is_writable(__DIR__)) {
        touch(__DIR__ . '/larder-away');
    }
})();
