<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Cache;
use Larder\Config\Functions;
use Larder\Page\PageCache;
use Larder\Page\Reply;
use Larder\Page\Serve;
use Larder\System\ErrorLog;
use Larder\WordPress\Background;
use Larder\WordPress\Intents;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Presence;
use Larder\WordPress\Quietly;
use Larder\WordPress\Site;

/**
 * The first thing that WordPress runs, or wp-config.php before it: answers the request with a stored page, or has WordPress's
 * page recorded.
 *
 * This folder is the page cache of a WordPress site. Before WordPress: Door and Settings. While a page is built: Shown, which
 * notes what the page shows, and Life, which decides how long it may be kept. When something changes: Purge. Tag has the
 * names that both sides use. All rules of HTTP are the library's (Larder\Page).
 */
final class Door
{
    /** By which the response tells the recorder how long it may be kept (RFC 9213). Until Life says more: not at all. */
    public const FIELD = 'Larder-Cache-Control';

    /** The field that tells telephones and others apart, set here and nowhere else. */
    public const DEVICE = Reply::DEVICE;

    /** Of telephones' user agents; wp_is_mobile() has them too, but is not loaded yet. */
    private const MOBILE = ['Mobile', 'Android', 'Silk/', 'Kindle', 'BlackBerry', 'Opera Mini', 'Opera Mobi'];

    /** Parameters of requests whose answer is for the one who asks: previews, the customizer, a comment that waits. */
    private const PRIVATE = ['preview', 'preview_id', 'preview_nonce', 'customize_changeset_uuid', 'customize_theme', 'customize_messenger_channel', 'unapproved', 'moderation-hash', '_wpnonce'];

    public static function open(): void
    {
        $settings = self::concerns() ? Settings::ofSite() : null;
        if ($settings === null) {
            return;
        }
        if (self::isAnswered($settings)) {
            exit;
        }
        if (!\function_exists('add_filter')) {
            // wp-config.php asks, and WordPress will ask again.
            return;
        }
        // Only pages that ask wp_is_mobile() depend on it.
        $_SERVER['HTTP_X_LARDER_DEVICE'] = self::isMobile() ? 'mobile' : 'other';
        try {
            $root = self::root();
            if ($root === null) {
                return;
            }
            // Where one is missing, all the same: start() would throw.
            \ini_get('disable_functions') === '' || Functions::check(Functions::PAGES);
            $pages = new PageCache(self::pages($root), $settings->options, static fn(array $variables, string $token, float $wait): bool => Background::push($root, [Background::RENEW, $variables, $token, $wait]));
        } catch (\Throwable $failure) {
            ErrorLog::write('Larder: no page is cached: ' . $failure->getMessage());

            return;
        }
        Counts::watch(ObjectCache::records($root));
        \header(self::FIELD . ': no-store');
        $level = \ob_get_level();
        // A visitor who only asks by POST, as anyone can, changes nothing.
        $pages->start(Intents::wrote(...));
        Counts::pass();
        if (\ob_get_level() > $level) {
            Shown::watch($settings, $level + 1);
        }
    }

    /** As wp_is_mobile() without its filter. */
    public static function isMobile(): bool
    {
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- searched for words only, before WordPress is loaded
        $agent = $_SERVER['HTTP_USER_AGENT'] ?? '';
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- compared only, before WordPress is loaded
        $hint = $_SERVER['HTTP_SEC_CH_UA_MOBILE'] ?? null;

        return $hint !== null ? $hint === '?1' : \is_string($agent) && \str_replace(self::MOBILE, '', $agent) !== $agent;
    }

    /** The site's pages: a place of the object cache's that is emptied together with it. */
    public static function pages(Cache $root): Cache
    {
        return $root->group('s')->group('pages');
    }

    /** Whether the request is for WordPress's front: that of wp-admin, wp-login.php, cron and their like comes by other files. */
    private static function concerns(): bool
    {
        if (!\defined('WP_USE_THEMES') || \constant('WP_USE_THEMES') !== true || \defined('WP_INSTALLING') || \defined('DOING_CRON') || \PHP_SAPI === 'cli') {
            return false;
        }
        // Who sends one is a user, or a script of the page that acts as one.
        // phpcs:ignore WordPress.Security.NonceVerification -- looks which fields there are, before WordPress is loaded
        return !isset($_SERVER['HTTP_X_WP_NONCE']) && \array_intersect_key($_GET, \array_flip(self::PRIVATE)) === [];
    }

    /** Whether the fast door has answered the request, which is asked once. */
    private static function isAnswered(Settings $settings): bool
    {
        $site = Site::current();
        if (Serve::$place !== null || Counts::isDrawn() || ($sign = Presence::sign($site)) === null) {
            return false;
        }
        // Another name when the owner has changed an option, or when a request has been without the cache.
        $name = Presence::name() . '-' . \hash('xxh128', \serialize([$sign, $site->directory(), Site::setting('DSN'), $site->prefix(), $settings->options]));

        return Serve::answer(['HTTP_X_LARDER_DEVICE' => self::isMobile() ? 'mobile' : 'other'] + $_SERVER, $name);
    }

    /** Null: another plugin is the object cache, so this one would not be told what changed. */
    private static function root(): ?Cache
    {
        $beginning = Quietly::call(static fn(): string => (string) \file_get_contents(WP_CONTENT_DIR . '/object-cache.php', length: 1_024));
        if (!\str_contains($beginning, 'Larder drop-in: object-cache')) {
            return null;
        }
        $site = Site::current();
        if ($site->directory() === '') {
            return null;
        }
        $root = Cache::open($site->source());

        return (new Presence($site, $root))->confirm() ? $root : null;
    }
}
