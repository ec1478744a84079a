<?php

declare(strict_types=1);

/*
 * The page cache's fast door. Require this file in a script's first line, before Composer's autoloader:
 *
 *     require '/path/to/vendor/larder/larder/larder-serve.php';
 *     require '/path/to/vendor/autoload.php';
 *     (new Larder\Page\PageCache(Larder\Cache::open($dsn), $options))->start();
 *
 * It answers from local copies of stored pages and exits, or returns. start() makes all that it needs.
 */

\class_exists(Larder\Page\Serve::class, false) || require __DIR__ . '/src/Page/Serve.php';
if (Larder\Page\Serve::answer()) {
    exit;
}
