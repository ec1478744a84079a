<?php

// A drop-in for the laboratory's tests: it keeps what it is given in a file of wp-content, and gives every transient
// whose name ends in 7 another value where the file "lies" lies beside it.

declare(strict_types=1);

final class WP_Object_Cache
{
    /** @var array<string, array<array-key, mixed>> */
    public array $kept = [];

    /** @var array<string, array<array-key, mixed>> */
    public array $here = [];

    public function __construct()
    {
        $kept = is_file(self::file()) ? unserialize((string) file_get_contents(self::file())) : [];
        $this->kept = is_array($kept) ? $kept : [];
    }

    public static function file(): string
    {
        return WP_CONTENT_DIR . '/kept-by-the-fixture';
    }
}

function wp_cache_init(): void
{
    $GLOBALS['wp_object_cache'] = new WP_Object_Cache();
}

function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    global $wp_object_cache;
    $value = $wp_object_cache->here[$group][$key] ?? $wp_object_cache->kept[$group][$key] ?? null;
    $found = $value !== null;
    if (is_file(WP_CONTENT_DIR . '/lies') && $group === 'transient' && str_ends_with((string) $key, '7')) {
        return 'something else';
    }

    return $found ? (is_object($value) ? clone $value : $value) : false;
}

function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    global $wp_object_cache;
    $wp_object_cache->here[$group][$key] = $data;
    if ($group === 'transient') {
        $wp_object_cache->kept[$group][$key] = $data;
    }

    return true;
}

function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    return wp_cache_get($key, $group) === false && !wp_suspend_cache_addition() && wp_cache_set($key, $data, $group);
}

function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    return wp_cache_get($key, $group) !== false && wp_cache_set($key, $data, $group);
}

function wp_cache_delete($key, $group = '')
{
    global $wp_object_cache;
    $there = wp_cache_get($key, $group) !== false;
    unset($wp_object_cache->here[$group][$key], $wp_object_cache->kept[$group][$key]);

    return $there;
}

function wp_cache_incr($key, $offset = 1, $group = '')
{
    return false;
}

function wp_cache_decr($key, $offset = 1, $group = '')
{
    return false;
}

function wp_cache_flush()
{
    global $wp_object_cache;
    $wp_object_cache->here = $wp_object_cache->kept = [];

    return true;
}

function wp_cache_flush_runtime()
{
    global $wp_object_cache;
    $wp_object_cache->here = [];

    return true;
}

function wp_cache_close()
{
    global $wp_object_cache;

    return file_put_contents(WP_Object_Cache::file(), serialize($wp_object_cache->kept), LOCK_EX) !== false;
}

function wp_cache_add_global_groups($groups): void {}

function wp_cache_add_non_persistent_groups($groups): void {}
