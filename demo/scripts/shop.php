<?php

// A page of a small shop, as its first lines and its work are on a real site. Its visits are counted in a file.

declare(strict_types=1);

require \dirname(__DIR__, 2) . '/larder-serve.php';
require \dirname(__DIR__, 2) . '/vendor/autoload.php';

$site = (string) \getenv('DEMO_SITE');
(new Larder\Page\PageCache(Larder\Cache::open((string) \getenv('LARDER_DSN'))))->start();

\file_put_contents("$site/runs", '.', \FILE_APPEND | \LOCK_EX);
\header('Cache-Control: max-age=600');
\header('Cache-Tags: shop, product-7');
$price = (string) \file_get_contents("$site/price");
// What a shop does for a page: it asks its database, and puts a few hundred products together.
\usleep(30_000);
$rows = '';
for ($product = 1; $product <= 300; $product++) {
    $rows .= '<li>' . \htmlspecialchars("Product $product, " . \md5((string) $product)) . ($product === 7 ? ", price $price" : '') . '</li>';
}
echo '<!doctype html><title>Shop</title><ul>', $rows, '</ul>';
