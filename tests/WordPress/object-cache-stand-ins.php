<?php

// What WordPress's own WP_Object_Cache and Larder's ObjectCache call of the rest of WordPress, so that both can be asked
// the same without a site. For a process of its own: these are global names.

declare(strict_types=1);

/** What a test sets, and what WordPress was told. */
final class LarderStandIns
{
    public static bool $network = false;
    public static bool $suspended = false;
    public static ?bool $external = null;

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

function wp_using_ext_object_cache(?bool $using = null): ?bool
{
    return LarderStandIns::$external = $using ?? LarderStandIns::$external;
}

function _doing_it_wrong(string $function, string $message, string $version): void
{
    // Each class calls itself by its name.
    LarderStandIns::$wrong[] = preg_replace('/^.*(?=::)/', 'WP_Object_Cache', $function) . " $message $version";
}

function _deprecated_function(): void {}

function __(string $text): string
{
    return $text;
}

function esc_html(string $text): string
{
    return htmlspecialchars($text);
}
