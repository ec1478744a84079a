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

if (!\class_exists(Larder\Page\Serve::class, false)) {
    // A release has all that Serve needs in one file, which can be read where none of it is there yet.
    require __DIR__ . (!\class_exists(Larder\Page\RequestKey::class, false) && !\class_exists(Larder\Page\StoredReply::class, false) && \is_file(__DIR__ . '/classes/serve.all.php')
        ? '/classes/serve.all.php' : '/src/Page/Serve.php');
}
if (Larder\Page\Serve::answer()) {
    exit;
}
