<?php

declare(strict_types=1);

/*
 * For opcache.preload in php.ini: what a request needs that reads the cache, pushes to a queue or adds to a counter is in
 * memory before it begins, so that it loads no class. Name this file there, or require it from your own preload script,
 * after Composer's autoloader. It loads classes and does nothing else.
 */

$files = new RecursiveIteratorIterator(new RecursiveDirectoryIterator(__DIR__ . '/src', FilesystemIterator::CURRENT_AS_PATHNAME | FilesystemIterator::SKIP_DOTS));
/** @var string $file */
foreach ($files as $file) {
    $name = strtr(substr($file, strlen(__DIR__ . '/src/'), -strlen('.php')), '/', '\\');
    // What stands on packages that may not be there, and the page cache, whose fastest way loads one file and no more.
    preg_match('/^(Bridge|Console|Page|Psr)\\\\|Predis/', $name) === 1 || class_exists("Larder\\$name") || interface_exists("Larder\\$name");
}
