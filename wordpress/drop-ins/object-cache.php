<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions, WordPress.PHP.DevelopmentFunctions -- WordPress is not loaded yet, and a mark must be written whatever fails

/**
 * Plugin Name: Larder object cache (drop-in)
 * Description: WordPress's object cache by Larder. The plugin puts this file here, and takes it away when it is deactivated.
 * Version: 0.1.0
 * Author: Larder
 * License: GPL-2.0-or-later
 *
 * Larder drop-in: object-cache
 *
 * Where the plugin is gone, or switched off by LARDER_DISABLED, this file leaves a mark, and WordPress takes its own cache.
 * So does a request that runs without Larder for any other reason: the plugin includes this file then.
 *
 * Any PHP that runs WordPress must be able to read it.
 *
 * @package Larder
 */

defined('ABSPATH') || exit;

(static function (): void {
    $off = defined('LARDER_DISABLED') ? constant('LARDER_DISABLED') : getenv('LARDER_DISABLED');
    if (PHP_VERSION_ID >= 80200 && (!$off || $off === 'false') && !function_exists('wp_cache_init')) { // @phpstan-ignore greaterOrEqual.alwaysTrue
        $plugins = defined('WP_PLUGIN_DIR') ? WP_PLUGIN_DIR : WP_CONTENT_DIR . '/plugins';
        // The plugin writes here where it lies when it puts this file into its place.
        foreach ([$plugins . '/larder', dirname(__DIR__)] as $folder) {
            if (is_file($folder . '/functions.php') && is_file($folder . '/autoload.php') && is_file($folder . '/larder.php')) {
                require_once $folder . '/autoload.php';
                require_once $folder . '/functions.php';

                return;
            }
        }
    }
    if (defined('LARDER_AWAY')) {
        return;
    }
    define('LARDER_AWAY', true);

    // The cache is not told what this request changes. The next one that has Larder again finds one of these, and empties
    // it (Larder\WordPress\Presence, which knows the same names).
    $site = '';
    foreach (['DB_NAME', 'DB_PASSWORD', 'AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY'] as $name) {
        $value = defined($name) ? constant($name) : '';
        $site .= is_string($value) ? $value . ' ' : '';
    }
    $table = isset($GLOBALS['table_prefix']) ? $GLOBALS['table_prefix'] : '';
    $name = '/larder-' . md5($site . (is_string($table) ? $table : '')) . '-away';
    // Hosts disable any function (disable_functions), and this must work without it: then Larder itself may not.
    $temporary = function_exists('sys_get_temp_dir') ? rtrim(sys_get_temp_dir(), '/') : '/tmp';
    $marks = [WP_CONTENT_DIR . '/.larder-away', '/var/tmp' . $name, $temporary . $name];
    $directories = isset($GLOBALS['larder_directories']) ? $GLOBALS['larder_directories'] : [];
    foreach (is_array($directories) ? $directories : [] as $directory) {
        $marks[] = (is_string($directory) ? $directory : '') . '/away';
    }
    // One more for this request, as long as it goes on: it may have sent a statement that is not done yet.
    $own = '-' . bin2hex(random_bytes(6));
    // Root's could be written by root alone.
    $owner = function_exists('fileowner') ? fileowner(is_dir(WP_CONTENT_DIR . '/uploads') ? WP_CONTENT_DIR . '/uploads' : WP_CONTENT_DIR) : 0;
    $mark = static function (bool $ends = false) use ($marks, $own, $owner): void {
        static $last = 0;
        if ($last !== time() || $ends) {
            $last = $ends ? 0 : time();
            set_error_handler(static function (): bool {
                return true;
            });
            foreach ($marks as $file) {
                // Where all users may write, another may have put a link there, to a file of this user's.
                !function_exists('clearstatcache') || clearstatcache();
                if (function_exists('lstat')) {
                    lstat($file) || !function_exists('fopen') || fopen($file, 'x');
                    $stat = lstat($file);
                    $isShared = !function_exists('fileperms') || (fileperms(dirname($file)) & 02) !== 0;
                    $user = function_exists('posix_geteuid') ? posix_geteuid() : -1;
                    if (!$stat ? $isShared || function_exists('fopen') : ($stat['mode'] & 0170000) !== 0100000 || ($isShared && ($stat['nlink'] > 1 || ($user >= 0 && $stat['uid'] !== $user && $stat['uid'] !== $owner)))) {
                        continue;
                    }
                } elseif ($file !== $marks[0]) {
                    continue;
                }
                file_put_contents($file, $own . microtime());
                if (!$ends) {
                    file_put_contents($file . $own, microtime());
                } elseif (function_exists('unlink')) {
                    unlink($file . $own);
                }
                foreach ([$file, $file . $own] as $roots) {
                    if ($owner && function_exists('chown') && fileowner($roots) === 0) {
                        chown($roots, $owner);
                    }
                }
            }
            restore_error_handler();
        }
    };
    $mark();
    // Behind all others that may write.
    register_shutdown_function(static function () use ($mark): void {
        register_shutdown_function($mark, true);
    });
    add_filter('query', static function ($query) use ($mark) {
        if (!is_string($query) || preg_match('/^\s*(?:SELECT|SHOW|SET|DESC|DESCRIBE|EXPLAIN)\b/i', $query) !== 1) {
            $mark();
        }

        return $query;
    }, PHP_INT_MAX);
})();
