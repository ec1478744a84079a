<?php

declare(strict_types=1);

/*
 * A hit in this request's own copies, beside WordPress's own class, which keeps nothing else: text, an array, an object,
 * and a missing key of a group that is not persistent.
 *
 *     php bench/wordpress-hit.php [--rounds=15] [--seed=1]     (.cache/wordpress/7.1 is made by bin/wordpress 7.1)
 */

use Larder\Bench\Harness;
use Larder\Bench\Side;
use Larder\Cache;
use Larder\WordPress\ObjectCache;

require __DIR__ . '/../vendor/autoload.php';

function is_multisite(): bool
{
    return false;
}

function wp_suspend_cache_addition(): bool
{
    return false;
}

$class = __DIR__ . '/../.cache/wordpress/7.1/wp-includes/class-wp-object-cache.php';
if (!is_file($class)) {
    fwrite(STDERR, "WordPress is not there: type bin/wordpress 7.1\n");
    exit(1);
}
require $class;

/** @var list<string> $arguments */
$arguments = array_slice($argv, 1);
$harness = Harness::fromArguments($arguments);
echo $harness->banner('bench/wordpress-hit.php');
$own = new WP_Object_Cache();
$larder = new ObjectCache(Cache::open('memory://'));
$larder->add_non_persistent_groups('counts');
$values = ['text' => 'a short text', 'array' => ['title' => 'x', 'ids' => range(1, 50)], 'object' => (object) ['ID' => 7, 'post_title' => 'x', 'post_content' => str_repeat('x', 2_000)]];
foreach ($values as $name => $value) {
    $own->set($name, $value, 'posts');
    $larder->set($name, $value, 'posts');
    $get = static fn(WP_Object_Cache|ObjectCache $cache): Side => new Side(
        $cache === $own ? 'WP_Object_Cache' : 'Larder',
        static function (int $times) use ($cache, $name): void {
            for ($i = 0; $i < $times; ++$i) {
                $cache->get($name, 'posts');
            }
        },
        null,
        static fn(): bool => $cache->get($name, 'posts') == $value,
    );
    echo $harness->compare("hit, $name", $get($own), $get($larder))->table([2 => 1.0]);
}
$miss = static fn(WP_Object_Cache|ObjectCache $cache): Side => new Side(
    $cache === $own ? 'WP_Object_Cache' : 'Larder',
    static function (int $times) use ($cache): void {
        for ($i = 0; $i < $times; ++$i) {
            $cache->get('missing', 'counts');
        }
    },
    null,
    static fn(): bool => $cache->get('missing', 'counts') === false,
);
echo $harness->compare('miss, not persistent', $miss($own), $miss($larder))->table();
