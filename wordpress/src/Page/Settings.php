<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Page\Settings as Defaults;
use Larder\WordPress\Choices;

/**
 * What the site's owner says of pages, by the constant LARDER_PAGES in wp-config.php (an array of options, or false for none),
 * and of what that leaves open on the plugin's page. WordPress loads its plugins only after a stored page was looked for, so no filter could say it.
 */
final readonly class Settings
{
    /** Seconds that a page may be served when it is no longer fresh, while one request renews it. */
    private const STALE = 3_600;

    /** Of WordPress and its plugins: cookies that no page depends on. */
    private const IGNORED_COOKIES = [
        // WordPress's login page: whether there are cookies, and its language
        'wordpress_test_cookie', 'wp_lang',
        // WooCommerce: where an order came from, and its own analytics
        'sbjs_*', 'tk_ai', 'tk_qs', 'tk_or', 'tk_r3d', 'tk_lr',
        // Consent: Complianz, GDPR Cookie Compliance, Cookie Notice, Moove
        'cmplz_*', 'moove_gdpr_popup', 'cookie_notice_accepted', 'wp_consent_*',
    ];

    /** By which advertising, newsletters and analytics recognize who follows a link. */
    private const IGNORED_QUERY = [
        'utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'utm_id', 'gclid', 'gbraid', 'wbraid', 'dclid', 'gad_source',
        'gad_campaignid', '_gl', '_ga', 'fbclid', 'msclkid', 'ttclid', 'twclid', 'li_fat_id', 'igshid', 'mc_cid', 'mc_eid', 'yclid',
    ];

    /** Who edits a post, what WordPress has to do with it yet, and how often plugins have counted it as seen. */
    private const IGNORED_META = [
        '_edit_lock', '_edit_last', '_encloseme', '_pingme', '_wp_old_slug', '_wp_old_date', '_wp_desired_post_slug',
        'views', 'post_views_count', 'wpb_post_views_count', 'penci_post_views_count', 'tie_views', '_post_views',
    ];

    /** Jobs, sessions, orders, logs and statistics of plugins: they change all the time, and pages do not show them. */
    private const IGNORED_TABLES = [
        'actionscheduler_*', 'woocommerce_sessions', 'woocommerce_order_*', 'woocommerce_log', 'wc_order*', 'wc_reserved_stock', 'wc_customer_lookup', 'wc_admin_*', 'edd_orders*', 'edd_sessions', 'edd_logs*',
        'redirection_*', 'yoast_*', 'aioseo_*', 'rank_math_*', 'wf*', 'statistics_*', 'slim_*', 'matomo_*', 'icl_string*', 'icl_translation_status', 'wpforms_*', 'gf_*',
    ];

    /**
     * @param int                  $life    seconds
     * @param int                  $stale   seconds
     * @param list<string>         $rest    routes whose answers are stored, by their beginning: "wp/v2/posts"
     * @param list<string>         $meta    names of posts' meta that no page shows
     * @param list<string>         $tables  of plugins, without the prefix, that no page shows
     * @param bool                 $ownReads whether a page depends on what plugins read by statements of their own
     * @param array<string, mixed> $options of Larder\Page\PageCache
     */
    private function __construct(
        public int $life,
        public int $stale,
        public array $rest,
        public array $meta,
        public array $tables,
        public bool $ownReads,
        public array $options,
    ) {}

    /** @return ?self null: there is no page cache */
    public static function ofSite(): ?self
    {
        [$isFixed, $given] = self::fixed();
        $choices = Choices::all();
        if ($given === null || (!$isFixed && !$choices['pages'])) {
            return null;
        }
        $options = \array_diff_key($given, ['ttl' => 0, 'stale' => 0, 'rest' => 0, 'ignoredMeta' => 0, 'ignoredTables' => 0, 'ownReads' => 0]);
        foreach (['ignoredCookies' => [...Defaults::IGNORED_COOKIES, ...self::IGNORED_COOKIES], 'ignoredQuery' => self::IGNORED_QUERY] as $name => $known) {
            $options[$name] = [...$known, ...(\is_array($options[$name] ?? null) ? $options[$name] : [])];
        }
        $names = static fn(string $name): array => \array_values(\array_filter(\is_array($given[$name] ?? null) ? $given[$name] : [], static fn(mixed $one): bool => \is_string($one) && $one !== ''));

        return new self(
            self::seconds($given['ttl'] ?? null, $choices['life']),
            self::seconds($given['stale'] ?? null, self::STALE),
            \array_map(static fn(string $route): string => \trim($route, '/'), $names('rest')),
            [...self::IGNORED_META, ...$names('ignoredMeta')],
            [...self::IGNORED_TABLES, ...$names('ignoredTables')],
            ($given['ownReads'] ?? true) === true,
            // @phpstan-ignore argument.type (a key that is none of its options is refused there)
            $options,
        );
    }

    /** @return array{bool, ?array<mixed>} whether wp-config.php says anything of pages; its options, null: there is no page cache */
    public static function fixed(): array
    {
        $given = \defined('LARDER_PAGES') ? \constant('LARDER_PAGES') : null;

        return [$given !== null, $given === false || $given === 'false' ? null : (\is_array($given) ? $given : [])];
    }

    private static function seconds(mixed $value, int $otherwise): int
    {
        return \is_int($value) && $value >= 0 ? $value : $otherwise;
    }
}
