<?php

declare(strict_types=1);

// The calls that Instructions\Count counts, in a process of their own: php instructions.php ENGINE OPERATION COUNTED CALLS
// DSN NEAR. As many calls as are counted come first, to warm up; then CALLS more. Classes are found without Composer's
// loader, which would load what only Larder's developers have.

use Larder\Cache;
use Larder\WordPress\ObjectCache;

spl_autoload_register(static function (string $class): void {
    foreach (['Larder\\WordPress\\' => '/wordpress/src/', 'Larder\\' => '/src/', 'Psr\\SimpleCache\\' => '/vendor/psr/simple-cache/src/', 'Psr\\Log\\' => '/vendor/psr/log/src/'] as $prefix => $folder) {
        $file = dirname(__DIR__) . $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;

            return;
        }
    }
});

function is_multisite(): bool
{
    return false;
}

/** No renewal of the view: how many come depends on how fast the machine is. */
function freeze(Cache $cache): void
{
    foreach (['view', 'stack'] as $name) {
        if (property_exists($cache, $name)) {
            $view = (new ReflectionProperty($cache, $name))->getValue($cache);
            is_object($view) && (new ReflectionProperty($view, 'due'))->setValue($view, PHP_INT_MAX);
        }
    }
}

/** @var list<string> $argv */
[, $engine, $operation, $counted, $calls, $dsn, $near] = $argv;
$open = static fn(): Cache => Cache::open(['dsn' => $dsn] + ($near === '' ? [] : ['near' => $near]));
$keys = [];
for ($i = 0; $i < 2 * (int) $counted; $i++) {
    $keys[] = "k$i";
}
$isWordPress = str_starts_with($engine, 'larder-wordpress-');
$group = $engine === 'larder-wordpress-request' ? 'posts' : 'transient';
$cache = $open();
if ($operation !== 'write' && !$isWordPress) {
    $cache->setMultiple(array_fill_keys($keys, 'some value'));
    // Another request puts them into the near tier.
    in_array($near, ['', 'none'], true) || $open()->getMultiple($keys);
}
if ($isWordPress) {
    define('ABSPATH', sys_get_temp_dir() . '/');
    // Where the plugin looks for what its owner has chosen.
    define('WP_CONTENT_DIR', sys_get_temp_dir());
    require dirname(__DIR__) . '/wordpress/functions.php';
    $GLOBALS['wp_object_cache'] = new ObjectCache($cache);
    foreach ($operation === 'write' ? [] : $keys as $key) {
        wp_cache_set($key, 'some value', $group, 3_600);
    }
}
$cache->writeFills();
if ($engine !== 'larder-request' && $engine !== 'larder-wordpress-request') {
    $cache = $open();
    $isWordPress && $GLOBALS['wp_object_cache'] = new ObjectCache($cache);
} else {
    $cache->get('k0');
}
freeze($cache);
// On the command line it looks at the clock at each hit; here it is to be as in php-fpm.
$wordpress = $GLOBALS['wp_object_cache'] ?? null;
if ($wordpress instanceof ObjectCache) {
    $look = (new ReflectionClassConstant(ObjectCache::class, 'LOOK'))->getValue();
    $wordpress->mask = is_int($look) ? $look : 0;
}
$all = (int) $counted + (int) $calls;
$call = "$engine $operation";
$operation === 'prefetch' && $cache->prefetch([[$cache, array_slice($keys, 0, $all)]]);
for ($i = 0; $i < $all; $i++) {
    $right = match ($call) {
        'larder-request read' => $cache->get('k0') === 'some value',
        'larder-wordpress-request read' => wp_cache_get('k0', $group) === 'some value',
        'larder-wordpress-sqlite read' => wp_cache_get("k$i", $group) === 'some value',
        'larder-wordpress-sqlite write' => wp_cache_set("k$i", 'some value', $group, 3_600),
        'larder-wordpress-sqlite delete' => wp_cache_delete("k$i", $group),
        default => match ($operation) {
            'read', 'prefetch' => $cache->get("k$i") === 'some value',
            'write' => $cache->set("k$i", 'some value'),
            'delete' => $cache->delete("k$i"),
            'fill' => $cache->fill("f$i", 'some value'),
            default => $cache->remember("r$i", static fn(): string => 'some value') === 'some value',
        },
    };
    if (!$right) {
        fwrite(STDERR, "$engine $operation: call $i gave another value than it should\n");
        exit(1);
    }
}
$cache->writeFills();
if ($near !== '' && $near !== 'none' && !isset($cache->stats(false)['near'])) {
    fwrite(STDERR, "$engine has no near tier $near\n");
    exit(1);
}
