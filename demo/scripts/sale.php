<?php

// A shop sells one piece: it reads the stock from the cache, writes the database, then the cache. In between it can
// be told to wait. Beside it, the same is done with plain APCu, where the last one wins.

declare(strict_types=1);

use Larder\Cache;
use Larder\Demo\Script;

require __DIR__ . '/../../vendor/autoload.php';

$script = Script::begin($argv ?? []);
$cache = Cache::open();
$plain = function_exists('apcu_enabled') && apcu_enabled();
$database = $script->parameter('database');

if ($script->parameter('do') === 'look') {
    $stock = $cache->get('stock');
    $asked = $stock === null;
    if ($asked) {
        $stock = (int) file_get_contents($database);
        $cache->fill('stock', $stock);
    }
    $script->answer([$stock, $plain ? apcu_fetch('stock') : null], $asked, $cache);
    exit;
}

$cache->get('stock');
$handle = fopen($database, 'r+') ?: throw new RuntimeException('no database');
flock($handle, LOCK_EX);
$stock = (int) fgets($handle) - 1;
rewind($handle);
fwrite($handle, $stock . "\n");
fclose($handle);

if ($script->parameter('gate') !== '') {
    touch($script->parameter('gate') . '.waits');
    for ($end = time() + 60; !file_exists($script->parameter('gate') . '.open') && time() < $end;) {
        usleep(1_000);
        clearstatcache();
    }
}
if ($plain) {
    apcu_store('stock', $stock);
}
$cache->set('stock', $stock);
$script->answer([$stock, $cache->stats()['conflicts']['dropped']], false);
