<?php

/**
 * Finds the classes of the plugin, and of the library that it stands on: by the list that was made when it was built, or
 * in the project that it is developed in.
 *
 * Needs nothing of WordPress but a constant: the object cache is loaded before the rest.
 *
 * @package Larder
 */

declare(strict_types=1);

namespace Larder\WordPress;

\defined('ABSPATH') || exit;

(static function (): void {
    if (\is_file(__DIR__ . '/classes.php')) {
        /** @var array<string, string> $files */
        $files = require __DIR__ . '/classes.php';
        // An update replaces the files below requests of the old version. It keeps a copy of that for them (Activation).
        $before = \defined('WP_CONTENT_DIR') && isset($files['']) ? \WP_CONTENT_DIR . '/larder-before-' . $files[''] . '/' . \basename(__DIR__) : '';
        // Last, so that the site's own autoloaders come first with what both have.
        \spl_autoload_register(static function (string $class) use ($files, $before): void {
            if (isset($files[$class])) {
                $kept = $before . \substr($files[$class], \strlen(__DIR__));
                require $before !== '' && \is_file($kept) ? $kept : $files[$class];
            }
        });

        return;
    }
    $project = \dirname(__DIR__);
    $folders = ['Larder\WordPress\\' => __DIR__ . '/src/', 'Larder\\' => $project . '/src/', 'Psr\Log\\' => $project . '/vendor/psr/log/src/'];
    \spl_autoload_register(static function (string $class) use ($folders): void {
        foreach ($folders as $namespace => $folder) {
            if (\str_starts_with($class, $namespace)) {
                $file = $folder . \strtr(\substr($class, \strlen($namespace)), '\\', '/') . '.php';
                if (\is_file($file)) {
                    require $file;
                }

                return;
            }
        }
    });
})();
