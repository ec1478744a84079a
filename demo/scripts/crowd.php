<?php

// One of many processes that want the same value at the same moment. Each line of its input is a key to ask for.

declare(strict_types=1);

use Larder\Cache;
use Larder\Demo\Script;

require __DIR__ . '/../../vendor/autoload.php';

$script = Script::begin($argv ?? []);
$cache = Cache::open();
$cache->get('warm');
echo "ready\n";
while (($key = fgets(STDIN)) !== false) {
    $cache->refresh();
    $computed = false;
    $script->now();
    $value = $cache->remember(trim($key), static function () use ($script, &$computed): string {
        $computed = true;

        return $script->compute();
    });
    $script->answer($value, $computed, $cache);
}
