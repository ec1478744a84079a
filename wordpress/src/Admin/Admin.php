<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\ObjectCache;

/**
 * Where the owner of a site sees what the cache does: a page, a line in the admin bar, a panel of Query Monitor.
 *
 * This folder only shows and asks; what a button does is the object cache's. Nothing here is loaded for a visitor.
 */
final class Admin
{
    public const PAGE = 'larder';

    private static bool $booted = false;

    /** In wp-admin, or where the admin bar is shown: when the plugins are loaded, at the latest when the bar is made. */
    public static function boot(): void
    {
        if (self::$booted) {
            return;
        }
        self::$booted = true;
        \add_action('admin_bar_menu', [Bar::class, 'add'], 900);
        if (!\is_admin()) {
            return;
        }
        \add_action('admin_menu', static function (): void {
            self::styled(\add_management_page(\__('Larder', 'larder'), \__('Larder', 'larder'), self::capability(false), self::PAGE, static fn() => self::page(false)));
        });
        \add_action('network_admin_menu', static function (): void {
            self::styled(\add_submenu_page('settings.php', \__('Larder', 'larder'), \__('Larder', 'larder'), self::capability(true), self::PAGE, static fn() => self::page(true)));
        });
        \add_action('admin_post_' . Flush::ACTION, [Flush::class, 'posted']);
        \add_action('admin_post_' . Settings::ACTION, [Settings::class, 'posted']);
    }

    /**
     * In the list of plugins: the way to the page.
     *
     * @param mixed $links another filter's may be none
     */
    public static function links(mixed $links): mixed
    {
        $network = \is_network_admin();
        if (!\is_array($links) || !\current_user_can(self::capability($network))) {
            return $links;
        }

        return ['larder' => '<a href="' . \esc_url(self::url($network)) . '">' . \esc_html__('Figures and flush', 'larder') . '</a>'] + $links;
    }

    public static function cache(): ?ObjectCache
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;

        return $cache instanceof ObjectCache ? $cache : null;
    }

    /** The page's address, for who may see it in this request. */
    public static function url(bool $network): string
    {
        return $network ? \network_admin_url('settings.php?page=' . self::PAGE) : \admin_url('tools.php?page=' . self::PAGE);
    }

    public static function capability(bool $network): string
    {
        return $network ? 'manage_network_options' : 'manage_options';
    }

    /** The address of a file in assets/, and its version: a new release is a new address, so browsers may keep it. */
    public static function asset(string $name): string
    {
        return \plugins_url('assets/' . $name, \dirname(__DIR__));
    }

    public static function version(string $name): string
    {
        return (string) @\filemtime(\dirname(__DIR__, 2) . '/assets/' . $name);
    }

    private static function page(bool $network): void
    {
        (new Page(self::cache(), $network))->render();
    }

    /** @param string|false $hook of the page; false: this user has none */
    private static function styled(string|false $hook): void
    {
        if ($hook !== false) {
            \add_action('admin_enqueue_scripts', static function (string $current) use ($hook): void {
                if ($current === $hook) {
                    \wp_enqueue_style('larder-admin', self::asset('admin.css'), [], self::version('admin.css'));
                }
            });
        }
    }
}
