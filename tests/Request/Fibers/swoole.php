<?php

declare(strict_types=1);

// Stands for the extension swoole, which tells its coroutines apart by these two methods. Here the program says which one runs.

namespace Swoole;

final class Coroutine
{
    public static ?\ArrayObject $running = null;

    public static function getCid(): int
    {
        return self::$running === null ? -1 : \spl_object_id(self::$running);
    }

    public static function getContext(): ?\ArrayObject
    {
        return self::$running;
    }
}

require \dirname(__DIR__, 3) . '/vendor/autoload.php';

$options = ['dsn' => $argv[1], 'near' => 'none'];
$cache = \Larder\Cache::open($options);
$cache->get('price');
$a = new \ArrayObject();
$b = new \ArrayObject();

Coroutine::$running = $a;
$missed = $cache->get('price');
Coroutine::$running = $b;
$other = \Larder\Cache::open($options);
$other->delete('price');
$cache->refresh();
Coroutine::$running = $a;
$filled = $cache->fill('price', 1);
Coroutine::$running = null;
$seen = $cache->get('price');

$cache->set('copy', 'old');
$hits = [$cache->get('copy')];
foreach ([$a, $b] as Coroutine::$running) {
    $hits[] = $cache->get('copy');
}
$other->refresh();
$other->set('copy', 'new');
Coroutine::$running = $b;
$cache->refresh();
$hits[] = $cache->get('copy');
Coroutine::$running = $a;
$hits[] = $cache->get('copy');
Coroutine::$running = null;
$hits[] = $cache->get('copy');
$gets = $cache->stats(false)['request'];
unset($a, $b);
echo \json_encode([$missed, $filled, $seen, $hits, $gets['hits'] + $gets['misses']]), "\n";
