<?php

/**
 * WordPress's functions of the object cache, as its own wp-includes/cache.php declares them: every one of 6.8 to 7.1.
 *
 * All of them only pass on to $wp_object_cache; but wp_cache_get() answers by itself what this request already has.
 *
 * @package Larder
 */

declare(strict_types=1);

use Larder\WordPress\ObjectCache;

defined('ABSPATH') || exit;

// What its start needs, in one file: on the command line, where OPcache keeps nothing, loading each class is cheaper.
PHP_SAPI === 'cli' || is_file(__DIR__ . '/classes/wordpress.php') && require __DIR__ . '/classes/wordpress.php';

if (!class_exists('WP_Object_Cache', false)) {
    class_alias(ObjectCache::class, 'WP_Object_Cache');
}

function wp_cache_init(): void
{
    $GLOBALS['wp_object_cache'] = ObjectCache::start();
}

/**
 * @param mixed   $key   an integer or a string that is not empty
 * @param ?string $group null and '' mean 'default'
 * @param bool    $force past this request's own copies
 * @param mixed   $found by reference: tells a stored false from none
 *
 * @return mixed false if there is none
 */
function wp_cache_get($key, $group = '', $force = false, &$found = null)
{
    /** @var ObjectCache $cache */
    $cache = $GLOBALS['wp_object_cache'];
    // Most gets of a page ask for what the request already has. get() looks at the clock too, and counts that hit itself.
    if (!$force && (is_string($key) || is_int($key)) && is_string($group)) {
        // Another class's object, which somebody has put in the place of ours, has no mask.
        $mask = $cache->mask ?? 0;
        if ($mask !== 0) {
            $value = $cache->cache[$group][$key] ?? null;
            if ($value === null) {
                return $cache->first($key, $group, false, $found);
            }
            if ((++$cache->cache_hits & $mask) !== 0) {
                $found = true;

                return is_object($value) ? clone $value : $value;
            }
            $cache->cache_hits--;
        }
    }

    return $cache->get($key, $group, $force, $found);
}

/**
 * @param array<int|string> $keys
 * @param string            $group
 * @param bool              $force
 *
 * @return array<int|string, mixed> false where there is none
 */
function wp_cache_get_multiple($keys, $group = '', $force = false)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->get_multiple($keys, $group, $force);
}

/**
 * @param int|string $key
 * @param mixed      $data
 * @param string     $group
 * @param int        $expire seconds, 0 for none
 *
 * @return bool
 */
function wp_cache_set($key, $data, $group = '', $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->set($key, $data, $group, $expire);
}

/**
 * @param array<int|string, mixed> $data
 * @param string                   $group
 * @param int                      $expire
 *
 * @return array<int|string, bool>
 */
function wp_cache_set_multiple(array $data, $group = '', $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->set_multiple($data, $group, $expire);
}

/**
 * @param int|string $key
 * @param mixed      $data
 * @param string     $group
 * @param int        $expire
 *
 * @return bool
 */
function wp_cache_add($key, $data, $group = '', $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->add($key, $data, $group, $expire);
}

/**
 * @param array<int|string, mixed> $data
 * @param string                   $group
 * @param int                      $expire
 *
 * @return array<int|string, bool>
 */
function wp_cache_add_multiple(array $data, $group = '', $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->add_multiple($data, $group, $expire);
}

/**
 * @param int|string $key
 * @param mixed      $data
 * @param string     $group
 * @param int        $expire
 *
 * @return bool
 */
function wp_cache_replace($key, $data, $group = '', $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->replace($key, $data, $group, $expire);
}

/**
 * @param int|string $key
 * @param string     $group
 *
 * @return bool whether there was one
 */
function wp_cache_delete($key, $group = '')
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->delete($key, $group);
}

/**
 * @param array<int|string> $keys
 * @param string            $group
 *
 * @return array<int|string, bool>
 */
function wp_cache_delete_multiple(array $keys, $group = '')
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->delete_multiple($keys, $group);
}

/**
 * @param int|string $key
 * @param int        $offset
 * @param string     $group
 *
 * @return int|float|false
 */
function wp_cache_incr($key, $offset = 1, $group = '')
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->incr($key, $offset, $group);
}

/**
 * @param int|string $key
 * @param int        $offset
 * @param string     $group
 *
 * @return int|float|false
 */
function wp_cache_decr($key, $offset = 1, $group = '')
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->decr($key, $offset, $group);
}

/** @return bool */
function wp_cache_flush()
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->flush();
}

/** @return bool */
function wp_cache_flush_runtime()
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->flush_runtime();
}

/**
 * @param string $group
 *
 * @return bool
 */
function wp_cache_flush_group($group)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->flush_group($group);
}

/**
 * @param string $feature
 *
 * @return bool
 */
function wp_cache_supports($feature)
{
    return in_array($feature, ['add_multiple', 'set_multiple', 'get_multiple', 'delete_multiple', 'flush_runtime', 'flush_group'], true);
}

/** @return true */
function wp_cache_close()
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $wp_object_cache->close();

    return true;
}

/** @param string|string[] $groups */
function wp_cache_add_global_groups($groups): void
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $wp_object_cache->add_global_groups($groups);
}

/** @param string|string[] $groups */
function wp_cache_add_non_persistent_groups($groups): void
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $wp_object_cache->add_non_persistent_groups($groups);
}

/** @param int $blog_id */
function wp_cache_switch_to_blog($blog_id): void
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $wp_object_cache->switch_to_blog($blog_id);
}

function wp_cache_reset(): void
{
    _deprecated_function(__FUNCTION__, '3.5.0', 'wp_cache_switch_to_blog()');

    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $wp_object_cache->reset();
}

/**
 * A value that counts only with the salt that it was stored with.
 *
 * @param int|string      $cache_key
 * @param string          $group
 * @param string|string[] $salt
 *
 * @return mixed
 */
function wp_cache_get_salted($cache_key, $group, $salt)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return ObjectCache::unsalted($wp_object_cache->get($cache_key, $group), $salt);
}

/**
 * @param int|string      $cache_key
 * @param mixed           $data
 * @param string          $group
 * @param string|string[] $salt
 * @param int             $expire
 *
 * @return bool
 */
function wp_cache_set_salted($cache_key, $data, $group, $salt, $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    return $wp_object_cache->set($cache_key, ObjectCache::salted($data, $salt), $group, $expire);
}

/**
 * @param array<int|string> $cache_keys
 * @param string            $group
 * @param string|string[]   $salt
 *
 * @return array<int|string, mixed>
 */
function wp_cache_get_multiple_salted($cache_keys, $group, $salt)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    $values = $wp_object_cache->get_multiple($cache_keys, $group);
    foreach ($values as $key => $value) {
        $values[$key] = ObjectCache::unsalted($value, $salt);
    }

    return $values;
}

/**
 * @param array<int|string, mixed> $data
 * @param string                   $group
 * @param string|string[]          $salt
 * @param int                      $expire
 *
 * @return array<int|string, bool>
 */
function wp_cache_set_multiple_salted($data, $group, $salt, $expire = 0)
{
    /** @var ObjectCache $wp_object_cache */
    global $wp_object_cache;

    foreach ($data as $key => $value) {
        $data[$key] = ObjectCache::salted($value, $salt);
    }

    return $wp_object_cache->set_multiple($data, $group, $expire);
}
