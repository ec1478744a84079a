<?php

/**
 * Finds the classes of the plugin, and of the library that it stands on: beside it in lib/ once it is built, or in the
 * project that it is developed in.
 *
 * Needs no WordPress: the object cache is loaded before it.
 *
 * @package Larder
 */

declare(strict_types=1);

namespace Larder\WordPress;

(static function (): void {
    $built = \is_dir(__DIR__ . '/lib');
    $project = \dirname(__DIR__);
    $folders = [
        'Larder\WordPress\\' => __DIR__ . '/src/',
        'Larder\\' => $built ? __DIR__ . '/lib/src/' : $project . '/src/',
        'Psr\Log\\' => $built ? __DIR__ . '/lib/psr/log/' : $project . '/vendor/psr/log/src/',
        'Psr\Cache\\' => $built ? __DIR__ . '/lib/psr/cache/' : $project . '/vendor/psr/cache/src/',
        'Psr\SimpleCache\\' => $built ? __DIR__ . '/lib/psr/simple-cache/' : $project . '/vendor/psr/simple-cache/src/',
    ];
    // Last, so that the site's own autoloaders come first with what both have.
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
