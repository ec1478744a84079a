<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Page\PageCache;
use Larder\Page\RequestKey;
use Larder\WordPress\Intents;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Owner;
use Larder\WordPress\Replicas;

/**
 * Purges the pages that show what has just changed, and no others: whatever request, command or job changes it.
 *
 * Each hook comes after its own write, so that a page that is built from here on has what was written; what is written next
 * has a hook of its own. In a transaction of the database a purge counts from its COMMIT on.
 */
final class Purge
{
    /** By hook: what is called, and with how many arguments. */
    private const HOOKS = [
        'clean_post_cache' => ['cleaned', 2],
        'add_attachment' => ['attached', 1],
        'edit_attachment' => ['attached', 1],
        'post_updated' => ['updated', 3],
        'transition_post_status' => ['transitioned', 3],
        'deleted_post' => ['deleted', 2],
        'added_post_meta' => ['meta', 3],
        'updated_post_meta' => ['meta', 3],
        'deleted_post_meta' => ['meta', 3],
        'set_object_terms' => ['assigned', 6],
        'deleted_term_relationships' => ['unassigned', 3],
        'created_term' => ['term', 3],
        'edited_term' => ['term', 3],
        'delete_term' => ['deletedTerm', 5],
        'added_term_meta' => ['termMeta', 2],
        'updated_term_meta' => ['termMeta', 2],
        'deleted_term_meta' => ['termMeta', 2],
        'wp_update_nav_menu' => ['menu', 1],
        'wp_update_nav_menu_item' => ['menu', 1],
        'wp_insert_comment' => ['comment', 2],
        'edit_comment' => ['comment', 1],
        'deleted_comment' => ['comment', 2],
        'transition_comment_status' => ['commentStatus', 3],
        'added_comment_meta' => ['commentMeta', 2],
        'updated_comment_meta' => ['commentMeta', 2],
        'deleted_comment_meta' => ['commentMeta', 2],
        'clean_user_cache' => ['user', 1],
        'added_user_meta' => ['userMeta', 3],
        'updated_user_meta' => ['userMeta', 3],
        'deleted_user_meta' => ['userMeta', 3],
        'added_option' => ['option', 1],
        'updated_option' => ['option', 1],
        'deleted_option' => ['option', 1],
        'add_site_option' => ['siteOption', 1],
        'update_site_option' => ['siteOption', 1],
        'delete_site_option' => ['siteOption', 1],
        'wp_update_site' => ['blog', 2],
        'customize_save_after' => ['site', 0],
        'upgrader_process_complete' => ['all', 0],
        '_core_updated_successfully' => ['all', 0],
        // WooCommerce writes stocks and prices by statements of its own.
        'woocommerce_product_set_stock' => ['product', 1],
        'woocommerce_variation_set_stock' => ['product', 1],
        'woocommerce_product_set_stock_status' => ['product', 1],
        'woocommerce_variation_set_stock_status' => ['product', 1],
        'woocommerce_updated_product_stock' => ['product', 1],
        'woocommerce_updated_product_price' => ['product', 1],
        'woocommerce_update_product' => ['product', 1],
        'woocommerce_update_product_variation' => ['product', 1],
        'woocommerce_delete_product_transients' => ['product', 1],
        'woocommerce_tax_rate_added' => ['site', 0],
        'woocommerce_tax_rate_updated' => ['site', 0],
        'woocommerce_tax_rate_deleted' => ['site', 0],
        'woocommerce_attribute_added' => ['site', 0],
        'woocommerce_attribute_updated' => ['site', 0],
        'woocommerce_attribute_deleted' => ['site', 0],
    ];

    /** What links show of a post, and what decides in which lists it is. */
    private const LINKED = ['post_title', 'post_name', 'post_parent', 'post_status', 'post_type', 'post_date', 'post_password', 'menu_order'];
    private const LISTED = ['post_type', 'post_date', 'post_author', 'post_parent', 'post_password'];

    /** Meta of users that no page shows. */
    private const NO_USER_META = '/^(?:session_tokens|.*user-settings(?:-time)?|.*dashboard.*|closedpostboxes_.*|metaboxhidden_.*|meta-box-order_.*|screen_layout_.*|manage.*columnshidden|.*persisted_preferences|community-events-location|wc_last_active|_woocommerce_.*|last_update|default_password_nag)$/';

    /** Of a site of a network: whether every visitor may see it, and where it is. */
    private const OF_BLOG = ['domain', 'path', 'public', 'archived', 'mature', 'spam', 'deleted', 'lang_id'];

    /** Options of WordPress that pages show, whatever changes them. */
    private const OPTIONS = '/^(?:blogname|blogdescription|blog_public|blog_charset|siteurl|home|page_on_front|page_for_posts|show_on_front|posts_per_page|posts_per_rss|rss_use_excerpt|sticky_posts|date_format|time_format|timezone_string|gmt_offset|start_of_week|WPLANG|permalink_structure|category_base|tag_base|site_icon|site_logo|show_avatars|avatar_.*|comments_per_page|page_comments|comment_order|thread_comments.*|default_comments_page|comment_registration|require_name_email|close_comments_.*|show_comments_cookies_opt_in|users_can_register|use_smilies|stylesheet|template|theme_mods_.*|sidebars_widgets|widget_.*|active_plugins|wp_page_for_privacy_policy|wp_attachment_pages_enabled|upload_url_path|nav_menu_options)$/';

    /** Options that are notes of what was done: they change all the time. */
    private const NO_OPTIONS = '/^(?:cron|_transient_.*|_site_transient_.*|rewrite_rules|recently_.*|.*_lock|.*_locks?_.*|action_scheduler_.*|auto_(?:core_)?updat.*|can_compress_scripts|.*_children|dismissed_.*|db_upgraded|fresh_site|user_count|larder|.*_version|.*nonce.*)$/';

    private static bool $isWatching = false;
    private static ?PageCache $pages = null;

    /** From now on, until the request's end. */
    public static function watch(): void
    {
        if (self::$isWatching) {
            return;
        }
        self::$isWatching = true;
        // Plugins write when WordPress has closed its cache, too.
        \register_shutdown_function(static fn() => \register_shutdown_function(Intents::finish(...)));
        foreach (self::HOOKS as $hook => [$method, $arguments]) {
            \add_action($hook, [self::class, $method], \PHP_INT_MAX, $arguments);
        }
    }

    /**
     * All pages of a blog. False: it could not be noted.
     *
     * @param int $blog 0: the current one
     */
    public static function site(int $blog = 0): bool
    {
        return self::tags([Tag::site($blog)]);
    }

    /** All pages that show something of a plugin's table. */
    public static function table(string $name): void
    {
        self::tags([Tag::of('table', $name)]);
    }

    /** All pages of all blogs. */
    public static function all(): bool
    {
        $root = self::root();

        return $root === null || Owner::run(static function () use ($root): bool {
            Replicas::change(ObjectCache::records($root), Tag::ANY);

            return Door::pages($root)->flush();
        });
    }

    /** What is stored for an address of this site, however it is written. False: it is no address of it, or it could not be noted. */
    public static function address(string $address): bool
    {
        $root = self::root();
        $parts = \wp_parse_url(\str_starts_with($address, '/') ? \home_url('/') . \ltrim($address, '/') : $address);
        $home = \wp_parse_url(\home_url('/'));
        if ($root === null || $address === '' || !\is_array($parts) || !\is_array($home) || \strcasecmp($parts['host'] ?? '', $home['host'] ?? '') !== 0) {
            return false;
        }
        $path = \str_starts_with($address, '/') ? $address : ($parts['path'] ?? '/') . (isset($parts['query']) ? "?$parts[query]" : '');
        try {
            return Owner::run(static fn(): bool => (new PageCache(Door::pages($root), Settings::ofSite()->options ?? []))->purge($path));
        } catch (\InvalidArgumentException) {
            return false;
        }
    }

    public static function cleaned(mixed $id, mixed $post): void
    {
        Written::told('post', self::number($id));
        Written::told('meta', self::number($id));
        if ($post instanceof \WP_Post) {
            self::post($post);
        }
    }

    /** Nothing else is said of an attachment, which is in no list of its own. */
    public static function attached(mixed $id): void
    {
        self::listed(self::number($id));
    }

    private static function listed(int $id): void
    {
        Written::told('listed', $id);
        Written::told('moved', $id);
    }

    /** By a plugin's own statement. */
    public static function moved(\WP_Post $before): void
    {
        $after = \get_post($before->ID);
        if (!$after instanceof \WP_Post) {
            self::deleted($before->ID, $before);

            return;
        }
        self::updated($after->ID, $after, $before);
        self::transitioned($after->post_status, $before->post_status, $after);
    }

    public static function updated(mixed $id, mixed $after, mixed $before): void
    {
        if (!$after instanceof \WP_Post || !$before instanceof \WP_Post) {
            return;
        }
        self::post($after);
        if ($after->post_type === 'revision' || !self::isPublic($after->post_status) && !self::isPublic($before->post_status)) {
            return;
        }
        $differs = static fn(string $name): bool => $after->$name !== $before->$name;
        \array_filter(self::LINKED, $differs) === [] || self::link($after);
        if (\array_filter(self::LISTED, $differs) !== []) {
            self::lists($after);
            self::lists($before);
        }
    }

    public static function transitioned(mixed $new, mixed $old, mixed $post): void
    {
        $post instanceof \WP_Post && self::listed($post->ID);
        if ($post instanceof \WP_Post && $post->post_type !== 'revision' && $new !== $old && (self::isPublic($new) || self::isPublic($old))) {
            self::post($post);
            self::link($post);
            self::lists($post);
        }
    }

    public static function deleted(mixed $id, mixed $post): void
    {
        self::listed(self::number($id));
        if ($post instanceof \WP_Post && $post->post_type !== 'revision') {
            self::post($post);
            self::link($post);
            self::isPublic($post->post_status) && self::lists($post);
        }
    }

    public static function meta(mixed $meta, mixed $id, mixed $key): void
    {
        Written::told('meta', self::number($id));
        if (\is_string($key) && !self::isIgnoredMeta($key)) {
            self::postOf($id);
        }
    }

    public static function isIgnoredMeta(string $key): bool
    {
        return RequestKey::matches($key, Settings::ofSite()->meta ?? []);
    }

    /**
     * @param mixed $terms
     * @param mixed $new   ids of the terms in their taxonomy
     * @param mixed $old
     */
    public static function assigned(mixed $id, mixed $terms, mixed $new, mixed $taxonomy, mixed $append, mixed $old): void
    {
        Written::told('assigned', self::number($id));
        [$new, $old] = [self::numbers($new), self::numbers($old)];
        // Further ones are added: the old ones stay.
        $changed = [...\array_diff($new, $old), ...($append === true ? [] : \array_diff($old, $new))];
        $changed === [] || self::unassigned($id, $changed, $taxonomy);
    }

    public static function unassigned(mixed $id, mixed $terms, mixed $taxonomy): void
    {
        Written::told('assigned', self::number($id));
        $post = \get_post(self::number($id));
        if (!$post instanceof \WP_Post || !\is_string($taxonomy) || !self::isPublic($post->post_status) || !\is_object_in_taxonomy($post->post_type, $taxonomy)) {
            return;
        }
        $in = [];
        foreach ((array) $terms as $number) {
            $term = \get_term_by('term_taxonomy_id', self::number($number), $taxonomy);
            $term instanceof \WP_Term && $in[] = $term->term_id;
        }
        self::post($post);
        if ($post->post_type !== 'post' || \str_contains(self::structure(), "%$taxonomy%")) {
            // Its address may have a term in it.
            self::link($post);
        }
        self::tags(Tag::changed(['in' => $in, 'terms' => [$taxonomy]]));
    }

    public static function term(mixed $id, mixed $inTaxonomy, mixed $taxonomy): void
    {
        $id = self::number($id);
        Written::told('term', $id);
        $taxonomy = \is_string($taxonomy) ? $taxonomy : '';
        self::tags(Tag::changed(['term' => [$id], 'in' => [$id, ...self::numbers(\get_ancestors($id, $taxonomy, 'taxonomy'))], 'terms' => [$taxonomy]]));
    }

    public static function deletedTerm(mixed $id, mixed $inTaxonomy, mixed $taxonomy, mixed $term, mixed $posts): void
    {
        self::term($id, $inTaxonomy, $taxonomy);
        $posts = self::numbers($posts);
        self::tags(Tag::changed(['post' => $posts, 'link' => $posts]));
    }

    public static function termMeta(mixed $meta, mixed $id): void
    {
        Written::told('term', self::number($id));
        self::tags(Tag::changed(['term' => [self::number($id)]]));
    }

    public static function menu(mixed $id): void
    {
        self::tags(Tag::changed(['term' => [self::number($id)], 'in' => [self::number($id)]]));
    }

    public static function comment(mixed $id, mixed $comment = null): void
    {
        Written::told('comment', self::number($id));
        $comment = $comment instanceof \WP_Comment ? $comment : \get_comment(self::number($id));
        if ($comment instanceof \WP_Comment && $comment->comment_approved === '1') {
            self::commented($comment);
        }
    }

    public static function commentStatus(mixed $new, mixed $old, mixed $comment): void
    {
        if (!$comment instanceof \WP_Comment) {
            return;
        }
        Written::told('comment', (int) $comment->comment_ID);
        if ($new === 'approved' || $old === 'approved') {
            self::commented($comment);
        }
    }

    public static function commentMeta(mixed $meta, mixed $id): void
    {
        self::comment($id);
    }

    /** Whatever its state was before. */
    public static function commentOf(mixed $id): void
    {
        $comment = \get_comment(self::number($id));
        $comment instanceof \WP_Comment ? self::commented($comment) : self::site();
    }

    public static function user(mixed $id): void
    {
        Written::told('user', self::number($id));
        self::tags([...Tag::changed(['user' => [self::number($id)]]), Tag::of('users', Tag::ANY)]);
    }

    public static function userMeta(mixed $meta, mixed $id, mixed $key): void
    {
        Written::told('user', self::number($id));
        if (\is_string($key) && !self::isIgnoredUserMeta($key)) {
            self::tags(Tag::changed(['user' => [self::number($id)]]));
        }
    }

    public static function isIgnoredUserMeta(string $key): bool
    {
        return \preg_match(self::NO_USER_META, $key) === 1;
    }

    public static function option(mixed $name): void
    {
        \is_string($name) && Written::told('option', $name);
        if (\is_string($name) && \preg_match(self::NO_OPTIONS, $name) !== 1 && (\preg_match(self::OPTIONS, $name) === 1 || self::isSetting())) {
            self::site();
        }
    }

    /** Whether a user sets options who may: not a plugin that notes something for itself, on a visit or when a post is saved. */
    private static function isSetting(): bool
    {
        return \PHP_SAPI === 'cli' || (\defined('WP_CLI') && WP_CLI) || \wp_doing_cron() || (self::isOrder() && \did_action('init') > 0 && \did_action('save_post') === 0
            && (\current_user_can('manage_options') || \current_user_can('manage_woocommerce')));
    }

    /** Whether the request is one that changes something, by a form, by REST or by a link. */
    private static function isOrder(): bool
    {
        // phpcs:ignore WordPress.Security.NonceVerification, WordPress.Security.ValidatedSanitizedInput -- looks whether this request may change anything; what does so asks for its own nonce
        return (!\in_array($_SERVER['REQUEST_METHOD'] ?? 'GET', ['GET', 'HEAD'], true) && ($_POST['action'] ?? '') !== 'heartbeat') || isset($_GET['_wpnonce']);
    }

    public static function siteOption(mixed $name): void
    {
        \is_string($name) && Written::told('network', $name);
        if (\in_array($name, ['active_sitewide_plugins', 'site_name', 'WPLANG', 'allowedthemes'], true)) {
            self::all();
        }
    }

    public static function blog(mixed $new, mixed $old): void
    {
        if ($new instanceof \WP_Site && $old instanceof \WP_Site) {
            Written::told('blog', (int) $new->blog_id);
            // One of them may come from a form, as text.
            $differs = static fn(string $name): bool => $new->$name != $old->$name;
            \array_filter(self::OF_BLOG, $differs) === [] || self::site((int) $new->blog_id);
        }
    }

    /** @param mixed $product its id, or what has it */
    public static function product(mixed $product): void
    {
        if (\is_object($product) && \method_exists($product, 'get_id')) {
            $product = $product->get_id();
        }
        $post = \get_post(self::number($product));
        if ($post instanceof \WP_Post) {
            self::post($post);
            // A variation is shown by the product; and which products are listed may depend on what is in stock.
            $post->post_parent > 0 && self::postOf($post->post_parent);
            self::lists($post, false);
        }
    }

    public static function postOf(mixed $id): void
    {
        $post = \get_post(self::number($id));
        $post instanceof \WP_Post && self::post($post);
    }

    /** Something of a post. */
    private static function post(\WP_Post $post): void
    {
        if ($post->post_type === 'revision' || $post->post_status === 'auto-draft') {
            return;
        }
        if (\in_array($post->post_type, Shown::DESIGN, true)) {
            self::site();

            return;
        }
        if ($post->post_type === 'nav_menu_item') {
            $menus = \wp_get_object_terms($post->ID, 'nav_menu', ['fields' => 'ids']);
            \array_map(self::menu(...), self::numbers($menus));

            return;
        }
        $isPublic = self::isPublic($post->post_status);
        self::tags(Tag::changed(['post' => [$post->ID], 'sorted' => $isPublic ? [$post->post_type] : []]));
    }

    /** What links show of it. */
    private static function link(\WP_Post $post): void
    {
        self::tags(Tag::changed(['link' => [$post->ID], 'titled' => [$post->post_type], 'sorted' => [$post->post_type]]));
    }

    /**
     * It comes into lists, leaves them, or moves in them.
     *
     * @param bool $isBeside whether it also comes between others by time
     */
    private static function lists(\WP_Post $post, bool $isBeside = true): void
    {
        $type = $post->post_type;
        $typed = static fn(string $name): array => ["$name.$type", "$name.any"];
        $in = $taxonomies = [];
        foreach (\get_object_taxonomies($type) as $taxonomy) {
            $terms = \wp_get_object_terms($post->ID, $taxonomy, ['fields' => 'ids']);
            if (\is_array($terms) && $terms !== []) {
                $in = [...$in, ...self::numbers($terms)];
                // With how many posts each has.
                $taxonomies[] = $taxonomy;
            }
        }
        self::tags(Tag::changed([
            'list' => [$type], 'titled' => [$type], 'sorted' => [$type], 'by' => $typed((string) (int) $post->post_author), 'in' => $in, 'terms' => $taxonomies,
            'on' => [...$typed(\substr($post->post_date, 0, 4)), ...$typed(\substr($post->post_date, 0, 7)), ...$typed(\substr($post->post_date, 0, 10))],
            'beside' => $isBeside ? [$post->ID, ...self::neighbours($post)] : [],
            // Lists of authors have those who have published something.
            'users' => $type === 'attachment' ? [] : [Tag::ANY],
        ]));
    }

    /** Of posts' addresses. */
    private static function structure(): string
    {
        $structure = \get_option('permalink_structure');

        return \is_string($structure) ? $structure : '';
    }

    /** @return list<int> the posts before and after it by time, which link to it */
    private static function neighbours(\WP_Post $post): array
    {
        /** @var \wpdb $database */
        $database = $GLOBALS['wpdb'];
        $found = [];
        foreach ([
            "SELECT ID FROM $database->posts WHERE post_type = %s AND post_status = 'publish' AND ID <> %d AND post_date <= %s ORDER BY post_date DESC, ID DESC LIMIT 1",
            "SELECT ID FROM $database->posts WHERE post_type = %s AND post_status = 'publish' AND ID <> %d AND post_date >= %s ORDER BY post_date ASC, ID ASC LIMIT 1",
        ] as $query) {
            // @phpstan-ignore argument.type (of what is no literal, there is only the table's name)
            $id = $database->get_var((string) $database->prepare($query, $post->post_type, $post->ID, $post->post_date));
            $id === null || $found[] = (int) $id;
        }

        return $found;
    }

    private static function commented(\WP_Comment $comment): void
    {
        self::postOf($comment->comment_post_ID);
        self::tags([Tag::of('comments', Tag::ANY)]);
    }

    private static function isPublic(mixed $status): bool
    {
        return $status === 'inherit' || (\is_string($status) && (\get_post_status_object($status)->public ?? false) === true);
    }

    /** @param list<string> $tags */
    private static function tags(array $tags): bool
    {
        $root = self::root();
        if ($root === null) {
            return true;
        }
        $pages = self::$pages ??= new PageCache(Door::pages($root));

        return Owner::run(static function () use ($root, $pages, $tags): bool {
            Replicas::change(ObjectCache::records($root), ...$tags);

            return $pages->purgeTags(...$tags);
        });
    }

    private static function root(): ?\Larder\Cache
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;

        return $cache instanceof ObjectCache ? $cache->larder() : null;
    }

    /** @return list<int> */
    private static function numbers(mixed $values): array
    {
        return \array_values(\array_map(self::number(...), \is_array($values) ? $values : []));
    }

    private static function number(mixed $value): int
    {
        return \is_numeric($value) ? (int) $value : 0;
    }
}
