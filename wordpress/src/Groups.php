<?php

declare(strict_types=1);

namespace Larder\WordPress;

/**
 * What is known of groups by their name.
 *
 * WordPress's own hold what WordPress reads from its database and invalidates by itself: there `wp_cache_add` stores a
 * value just computed. In any other group it may be a plugin's lock.
 */
final class Groups
{
    private const OWN = [
        'blog-details' => true, 'blog-id-cache' => true, 'blog-lookup' => true, 'blog_meta' => true, 'bookmark' => true,
        'calendar' => true, 'category_relationships' => true, 'comment' => true, 'comment-queries' => true, 'comment_meta' => true,
        'counts' => true, 'general' => true, 'global-posts' => true, 'image_editor' => true, 'network-queries' => true,
        'networks' => true, 'options' => true, 'plugins' => true, 'post-queries' => true, 'post_format_relationships' => true,
        'post_meta' => true, 'post_tag_relationships' => true, 'posts' => true, 'rss' => true, 'site-details' => true,
        'site-lookup' => true, 'site-options' => true, 'site-queries' => true, 'sites' => true, 'term-queries' => true,
        'term_meta' => true, 'terms' => true, 'theme_files' => true, 'theme_json' => true, 'themes' => true, 'timeinfo' => true,
        'translation_files' => true, 'user-queries' => true, 'user_meta' => true, 'useremail' => true, 'userlogins' => true,
        'users' => true, 'userslugs' => true,
    ];

    /** No database stands behind them: transients, and the sessions of common shops. */
    private const TRANSIENTS = ['transient' => true, 'site-transient' => true];
    private const SESSIONS = ['session' => true, 'sessions' => true, 'wc_session_id' => true, 'wp_session' => true];

    /** Whether WordPress itself keeps it, so that a value added was just computed from the database. */
    public static function isOwn(string $group): bool
    {
        // Any plugin may choose a taxonomy's name; what lies in these groups is WordPress's.
        return isset(self::OWN[$group]) || \str_ends_with($group, '_relationships');
    }

    /** Whether WordPress reads what it keeps there from its tables. */
    public static function isRead(string $group): bool
    {
        return self::isOwn($group) || \str_ends_with($group, '_meta');
    }

    public static function isCacheOnly(string $group): bool
    {
        return isset(self::TRANSIENTS[$group]) || isset(self::SESSIONS[$group]);
    }

    public static function isSession(string $group): bool
    {
        return isset(self::SESSIONS[$group]);
    }
}
