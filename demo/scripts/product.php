<?php

// The page of a product in a shop that has a database; or what its office does: another price.

declare(strict_types=1);

use Larder\Cache;
use Larder\Demo\Script;

require __DIR__ . '/../../vendor/autoload.php';

$script = Script::begin($argv ?? []);
$shop = new PDO('sqlite:' . $script->parameter('shop'), options: [PDO::ATTR_TIMEOUT => 10]);
$product = (int) $script->parameter('product');
$cache = Cache::open();
$read = static fn(string $sql): int => (int) ($shop->query($sql) ?: throw new RuntimeException($sql))->fetchColumn();
if ($script->parameter('do') !== '') {
    $price = $read($script->parameter('do') === 'change' ? "UPDATE products SET price = price + 1 WHERE id = $product RETURNING price" : "SELECT price FROM products WHERE id = $product");
    $script->answer(['price' => $price, 'deleted' => $cache->delete("product-$product")], false);
    exit;
}
$computed = false;
$price = $cache->remember("product-$product", static function () use ($read, $product, &$computed): int {
    $computed = true;
    $price = $read("SELECT price FROM products WHERE id = $product");
    // What a shop does besides for such a page.
    usleep(20_000);

    return $price;
});
$script->answer($price, $computed, $cache);
