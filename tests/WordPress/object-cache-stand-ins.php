<?php

// What WordPress's own WP_Object_Cache and Larder's ObjectCache call of the rest of WordPress, so that both can be asked
// the same without a site.

declare(strict_types=1);

defined('ABSPATH') || define('ABSPATH', sys_get_temp_dir() . '/no-wordpress/');
// There the owner's choices would be. No file of theirs is there.
defined('WP_CONTENT_DIR') || define('WP_CONTENT_DIR', sys_get_temp_dir() . '/no-wp-content');

/** What a test sets, and what WordPress was told. */
final class LarderStandIns
{
    public static bool $network = false;
    public static bool $suspended = false;

    /** @var list<string> */
    public static array $wrong = [];
}

function is_multisite(): bool
{
    return LarderStandIns::$network;
}

function get_current_blog_id(): int
{
    return 1;
}

function wp_suspend_cache_addition(): bool
{
    return LarderStandIns::$suspended;
}

function esc_html(string $text): string
{
    return htmlspecialchars($text);
}

function _doing_it_wrong(string $function, string $message, string $version): void
{
    // Each class calls itself by its name.
    LarderStandIns::$wrong[] = preg_replace('/^.*(?=::)/', 'WP_Object_Cache', $function) . " $message $version";
}

if (!function_exists('__')) {
    function __(string $text): string
    {
        return $text;
    }
}
