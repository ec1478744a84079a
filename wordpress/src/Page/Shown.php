<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Page\PageCache;
use Larder\Page\RequestKey;
use Larder\WordPress\FailedReads;
use Larder\WordPress\Intent\Tables;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Replicas;

/**
 * Notes what the page shows that this request builds.
 *
 * Posts, terms and users: those that the request has read from the object cache, for WordPress reads none elsewhere. Of posts
 * in menus and lists of pages only the titles and addresses are shown. Lists: by the queries that made them, because a list
 * also depends on what is not in it yet.
 */
final class Shown
{
    /** More of one kind on a page become one tag. */
    private const MOST = 40;

    /** Groups of the object cache whose keys are numbers of what was read, with the kind of each. */
    private const GROUPS = ['posts' => 'post', 'post_meta' => 'post', 'terms' => 'term', 'term_meta' => 'term', 'users' => 'user', 'user_meta' => 'user'];

    /** Types of posts that make up the whole site, so a change of one purges it; items of a menu go with the menu's term. */
    public const DESIGN = ['wp_template', 'wp_template_part', 'wp_global_styles', 'custom_css', 'wp_font_family', 'wp_font_face'];
    private const NOT_SHOWN = [...self::DESIGN, 'nav_menu_item', 'revision', 'customize_changeset', 'oembed_cache'];

    /** Functions of WordPress that show of all pages nothing but titles and addresses. */
    private const LISTING = ['wp_list_pages', 'wp_dropdown_pages', 'render_block_core_page_list', 'block_core_page_list_render_nested_page_list'];

    /** Orders that change only with what changes a list anyway; and those that change with what a link shows. */
    private const PLAIN = ['', 'none', 'date', 'post_date', 'ID', 'id', 'post__in', 'rand', 'author', 'type'];
    private const TITLED = ['title', 'post_title', 'name', 'post_name', 'menu_order', 'parent', 'post_parent'];

    /** @var array<string, array<array-key, true>> names by kind, the blog's id in front of the kind */
    private array $names = [];

    /** @var array<array-key, true> "blog:id" of posts of which the titles and addresses are shown */
    private array $links = [];

    /** @var array<array-key, true> "blog:id" of posts of which more is shown */
    private array $whole = [];

    /** @var list<string> the tags of those that the page depends on */
    private array $shownTables = [];

    /** @var list<string> without the prefix, tables of plugins that no page shows */
    private readonly array $ignoredTables;

    /** @var array<string, bool> tables of plugins of which something is shown, and whether that was known before it was read */
    private array $tables = [];

    /** Whether the page depends on what the visitor looks at it with. */
    private bool $asksDevice = false;

    private readonly Life $life;

    private function __construct(Settings $settings, private readonly int $level)
    {
        $this->life = new Life($settings);
        $this->ignoredTables = $settings->tables;
    }

    /** @param int $level of the output buffer that records the page */
    public static function watch(Settings $settings, int $level): void
    {
        $shown = new self($settings, $level);
        \add_filter('posts_pre_query', $shown->posts(...), \PHP_INT_MAX, 2);
        \add_filter('terms_pre_query', $shown->terms(...), \PHP_INT_MAX, 2);
        \add_filter('comments_pre_query', $shown->comments(...), \PHP_INT_MAX, 2);
        \add_filter('users_pre_query', $shown->users(...), \PHP_INT_MAX);
        \add_filter('getarchives_where', $shown->archives(...), \PHP_INT_MAX, 2);
        \add_filter('get_calendar', $shown->calendar(...), \PHP_INT_MAX, 2);
        \add_filter('wp_count_posts', $shown->counts(...), \PHP_INT_MAX, 2);
        foreach (['previous', 'next'] as $side) {
            \add_filter("get_{$side}_post_where", $shown->adjacent(...), \PHP_INT_MAX, 5);
            \add_filter("{$side}_post_link", $shown->neighbour(...), \PHP_INT_MAX, 4);
        }
        \add_filter('get_pages', $shown->pages(...), \PHP_INT_MAX);
        \add_filter('wp_get_nav_menu_items', $shown->menu(...), \PHP_INT_MAX);
        \add_action('the_post', $shown->post(...));
        \add_filter('wp_is_mobile', $shown->device(...), \PHP_INT_MAX);
        \add_filter('nonce_life', $shown->life->nonce(...), \PHP_INT_MAX);
        \add_filter('nonce_user_logged_out', $shown->life->user(...), \PHP_INT_MAX);
        ObjectCache::$dropping = $shown->read(...);
        if ($settings->ownReads) {
            \add_filter('query', $shown->statement(...), \PHP_INT_MAX);
        }
        \add_action('shutdown', $shown->flush(...), 0);
        \add_action('shutdown', $shown->conclude(...), \PHP_INT_MAX);
    }

    /** A query of posts, with its final variables. */
    private function posts(mixed $posts, mixed $query): mixed
    {
        if (!$query instanceof \WP_Query) {
            return $posts;
        }
        $vars = $query->query_vars;
        $types = self::strings($vars['post_type'] ?? '');
        if ($types !== [] && \array_diff($types, self::NOT_SHOWN) === [] && $types !== ['nav_menu_item']) {
            return $posts;
        }
        if ($query->is_comment_feed) {
            $this->note('comments', Tag::ANY);
        }
        $ids = \array_filter(self::numbers([...(array) ($vars['post__in'] ?? []), $vars['p'] ?? 0, $vars['page_id'] ?? 0, $vars['attachment_id'] ?? 0]));
        foreach ($ids as $id) {
            $this->note('post', $id);
        }
        $isOne = $ids !== [];
        foreach (['name', 'pagename', 'attachment', 'title'] as $name) {
            $isOne = $isOne || (($vars[$name] ?? '') !== '' && \is_string($vars[$name]));
        }
        if ($isOne) {
            return $posts;
        }
        if ($types === []) {
            $types = $query->is_search || $query->is_tax ? ['any'] : ['post'];
        }
        $isSorted = ($vars['s'] ?? '') !== '' || ($vars['meta_query'] ?? []) !== [] || ($vars['meta_key'] ?? '') !== '';
        $order = $vars['orderby'] ?? '';
        $order = \is_array($order) ? \array_keys($order) : (\preg_split('/[\s,]+/', \is_string($order) ? $order : 'any') ?: []);
        $order = \array_diff(\array_map(\strval(...), $order), self::PLAIN);
        $kinds = [...(\array_intersect($order, self::TITLED) === [] ? [] : ['titled']), ...($isSorted || \array_diff($order, self::TITLED) !== [] ? ['sorted'] : []), ...($this->bounded($query, $types) ? [] : ['list'])];
        foreach ($kinds as $kind) {
            foreach ($types as $type) {
                $this->note($kind, $type === 'any' ? Tag::ANY : $type);
            }
        }

        return $posts;
    }

    /**
     * Whether all posts of the query are in some terms, by an author or on a date, so that others do not matter.
     *
     * @param list<string> $types
     */
    private function bounded(\WP_Query $query, array $types): bool
    {
        $terms = $this->within($query->tax_query);
        if ($terms !== []) {
            foreach ($terms as $term) {
                $this->note('in', $term);
            }

            return true;
        }
        $author = $query->query_vars['author'] ?? '';
        [$kind, $name] = \is_numeric($author) && (int) $author > 0 ? ['by', (int) $author] : ['on', $this->date($query->query_vars)];
        foreach ($name === '' ? [] : $types as $type) {
            $this->note($kind, "$name.$type");
        }

        return $name !== '';
    }

    /** @return list<int> the terms in one of which all posts are, with those below them; none: there may be others */
    private function within(mixed $query): array
    {
        foreach ($query instanceof \WP_Tax_Query && ($query->relation === 'AND' || \count($query->queries) === 1) ? $query->queries : [] as $clause) {
            $taxonomy = \is_array($clause) ? $clause['taxonomy'] ?? null : null;
            $operator = \is_array($clause) ? $clause['operator'] ?? 'IN' : '';
            if (!\is_string($taxonomy) || !\in_array($operator, ['IN', 'AND'], true)) {
                continue;
            }
            $terms = [];
            foreach ((array) ($clause['terms'] ?? []) as $name) {
                $field = \is_string($clause['field'] ?? null) ? $clause['field'] : 'term_id';
                $term = \is_int($name) || \is_string($name) ? \get_term_by($field === 'term_id' ? 'id' : $field, $name, $taxonomy) : false;
                if (!$term instanceof \WP_Term) {
                    // It may come.
                    $this->note('terms', $taxonomy);
                    continue;
                }
                $below = ($clause['include_children'] ?? true) === true && \is_taxonomy_hierarchical($taxonomy) ? \get_term_children($term->term_id, $taxonomy) : [];
                $terms = [...$terms, $term->term_id, ...self::numbers($below)];
            }
            if ($terms !== []) {
                return $terms;
            }
        }

        return [];
    }

    /** @param array<mixed> $vars */
    private function date(array $vars): string
    {
        $number = static fn(string $name): int => \is_numeric($vars[$name] ?? null) ? (int) $vars[$name] : 0;
        $m = \is_scalar($vars['m'] ?? null) ? (string) $vars['m'] : '';
        [$year, $month, $day] = \strlen($m) >= 4 ? [(int) \substr($m, 0, 4), (int) \substr($m, 4, 2), (int) \substr($m, 6, 2)] : [$number('year'), $number('monthnum'), $number('day')];

        return $year === 0 ? '' : \sprintf('%04d', $year) . ($month === 0 ? '' : \sprintf('-%02d', $month) . ($day === 0 ? '' : \sprintf('-%02d', $day)));
    }

    private function terms(mixed $terms, mixed $query): mixed
    {
        $vars = $query instanceof \WP_Term_Query ? $query->query_vars : [];
        // The terms of some posts change with these; one that is asked for by its name is no list.
        foreach (['object_ids', 'include', 'slug', 'name', 'term_taxonomy_id'] as $name) {
            if (($vars[$name] ?? '') !== '' && ($vars[$name] ?? []) !== []) {
                return $terms;
            }
        }
        foreach (self::strings($vars['taxonomy'] ?? '') ?: [Tag::ANY] as $taxonomy) {
            $this->note('terms', $taxonomy);
        }

        return $terms;
    }

    private function comments(mixed $comments, mixed $query): mixed
    {
        $post = $query instanceof \WP_Comment_Query ? $query->query_vars['post_id'] ?? 0 : 0;
        \is_numeric($post) && (int) $post > 0 ? $this->note('post', (int) $post) : $this->note('comments', Tag::ANY);

        return $comments;
    }

    private function users(mixed $users): mixed
    {
        $this->note('users', Tag::ANY);

        return $users;
    }

    private function archives(mixed $where, mixed $arguments): mixed
    {
        $type = \is_array($arguments) ? $arguments['post_type'] ?? 'post' : 'post';
        $this->note('list', \is_string($type) ? $type : Tag::ANY);

        return $where;
    }

    private function calendar(mixed $output, mixed $arguments = []): mixed
    {
        return $this->archives($output, $arguments);
    }

    private function counts(mixed $counts, mixed $type): mixed
    {
        $this->note('list', \is_string($type) ? $type : Tag::ANY);

        return $counts;
    }

    /** The posts before and after this one by time. Other neighbours depend on more. */
    private function adjacent(mixed $where, mixed $inSameTerm, mixed $excluded, mixed $taxonomy, mixed $post): mixed
    {
        if (!$post instanceof \WP_Post) {
            $this->note('list', Tag::ANY);
        } elseif ($inSameTerm === true || ($excluded !== '' && $excluded !== [])) {
            $this->note('list', $post->post_type);
        } else {
            $this->note('beside', $post->ID);
        }

        return $where;
    }

    private function neighbour(mixed $output, mixed $format, mixed $link, mixed $post): mixed
    {
        if ($post instanceof \WP_Post) {
            $this->links[self::here($post->ID)] = true;
        }

        return $output;
    }

    private function pages(mixed $pages): mixed
    {
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_debug_backtrace -- tells what of WordPress a statement comes from
        $callers = \array_column(\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 12), 'function');
        foreach (\is_array($pages) && \array_intersect($callers, self::LISTING) !== [] ? $pages : [] as $page) {
            if ($page instanceof \WP_Post) {
                $this->links[self::here($page->ID)] = true;
            }
        }

        return $pages;
    }

    private function menu(mixed $items): mixed
    {
        foreach (\is_array($items) ? $items : [] as $item) {
            if (\is_object($item) && ($item->type ?? '') === 'post_type' && \is_numeric($item->object_id ?? null)) {
                $this->links[self::here((int) $item->object_id)] = true;
            }
        }

        return $items;
    }

    /** A statement is about to be sent. What WordPress itself reads is known by the above. */
    private function statement(mixed $query): mixed
    {
        $prefix = $GLOBALS['table_prefix'] ?? '';
        if (\is_string($query) && \is_string($prefix) && $prefix !== '' && \preg_match('/^[\s(]*(?:SELECT|WITH)\b/i', $query) === 1 && !self::isOfWordPress()) {
            \preg_match_all('/\b' . \preg_quote($prefix, '/') . '\w+/i', $query, $found);
            foreach (\array_unique(\array_map(\strtolower(...), $found[0])) as $table) {
                $this->table($table, $query);
            }
        }

        return $query;
    }

    private function table(string $table, string $query): void
    {
        /** @var \wpdb $wpdb */
        $wpdb = $GLOBALS['wpdb'];
        [$kind, $blog] = (new Tables($wpdb))->find($table) ?? ['', 0];
        switch ($kind) {
            case 'posts':
            case 'postmeta':
            case 'term_relationships':
                // Of some posts, or of any.
                if (\preg_match('/\b(?:ID|post_id|object_id)`?\s*(?:=\s*\'?(\d+)|IN\s*\(([\d\s,\']+)\))/i', $query, $match) === 1 && \preg_match('/\bOR\b/i', $query) !== 1) {
                    foreach (\preg_split('/\D+/', $match[1] . ($match[2] ?? ''), flags: \PREG_SPLIT_NO_EMPTY) ?: [] as $id) {
                        $this->note('post', (int) $id, $blog);
                    }
                } else {
                    $this->note('sorted', Tag::ANY, $blog);
                }
                break;
            case 'terms':
            case 'termmeta':
            case 'term_taxonomy':
                $this->note('terms', Tag::ANY, $blog);
                break;
            case 'comments':
            case 'commentmeta':
                $this->note('comments', Tag::ANY, $blog);
                break;
            case 'users':
            case 'usermeta':
                $this->note('users', Tag::ANY);
                break;
            case '':
                if (RequestKey::matches((string) \preg_replace('/^\d+_/', '', \substr($table, \strlen($wpdb->base_prefix))), $this->ignoredTables)) {
                    break;
                }
                $this->tables[$table] = ($this->tables[$table] ?? true) && Written::show($table);
        }
    }

    /** Whether code of WordPress sends the statement that is about to be sent, and not that of a plugin or theme. */
    private static function isOfWordPress(): bool
    {
        $file = '';
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_debug_backtrace -- tells what of WordPress a statement comes from
        foreach (\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 20) as $frame) {
            if (\is_a($frame['class'] ?? '', \wpdb::class, true)) {
                $file = $frame['file'] ?? '';
            } elseif ($file !== '') {
                break;
            }
        }

        // As PHP names files, whatever links lead to them.
        $core = \dirname((string) (new \ReflectionClass(\wpdb::class))->getFileName());

        return \str_starts_with($file, "$core/") || \str_starts_with($file, \dirname($core) . '/wp-admin/') || \str_starts_with($file, \dirname(__DIR__, 2) . '/');
    }

    private function device(mixed $isMobile): mixed
    {
        $this->asksDevice = true;
        $this->life->device($isMobile === Door::isMobile());

        return $isMobile;
    }

    private function post(mixed $post): void
    {
        if ($post instanceof \WP_Post) {
            $this->whole[self::here($post->ID)] = true;
        }
    }

    /**
     * What the object cache has of a blog, before it drops that.
     *
     * @param array<string, array<array-key, mixed>> $cache by group and key
     * @param int                                    $blog  0: there is only one
     */
    private function read(array $cache, int $blog): void
    {
        foreach (self::GROUPS as $group => $kind) {
            foreach ($cache[$group] ?? [] as $id => $value) {
                if (!\is_int($id) && !\ctype_digit($id)) {
                    continue;
                }
                $post = $kind === 'post' ? $cache['posts'][$id] ?? null : null;
                if (!\is_object($post) || !\in_array($post->post_type ?? '', self::NOT_SHOWN, true)) {
                    $this->note($kind, (int) $id, $blog);
                }
            }
        }
    }

    /** In place of WordPress's own, which ends all output buffers: the one that records the page is to see its end. */
    private function flush(): void
    {
        \remove_action('shutdown', 'wp_ob_end_flush_all', 1);
        while (\ob_get_level() > $this->level && \ob_end_flush());
    }

    /** All that prints has printed. */
    private function conclude(): void
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;
        if (!$cache instanceof ObjectCache || $cache->larder() === null || \headers_sent()) {
            return;
        }
        $this->read($cache->cache, 0);
        if ((\did_action('wp') > 0) && ($one = \get_queried_object()) instanceof \WP_Post) {
            $this->post($one);
        }
        $field = $this->life->field($this->isNewTable() ? 'it is the first page that shows some table' : '');
        if (Counts::$reason === Life::FAILED) {
            FailedReads::report(ObjectCache::records($cache->larder()));
        }
        $tags = $field === null ? [] : $this->tags();
        if ($field === null || $tags === null) {
            return;
        }
        if (Replicas::isBehind(ObjectCache::records($cache->larder()), Tag::ANY, ...$tags)) {
            Counts::$reason = 'it may have been read from a copy of the database that lags behind';

            return;
        }
        PageCache::tag(...$tags);
        \header(Door::FIELD . ': ' . $field);
        if ($this->asksDevice) {
            \header('Vary: ' . Door::DEVICE, false);
        }
    }

    /** Whether a request may have written to a table without having known that a page shows it; notes the others. */
    private function isNewTable(): bool
    {
        $isNew = false;
        foreach ($this->tables as $table => $isKnown) {
            if (!Written::hasWritten($table)) {
                $this->shownTables[] = Tag::of('table', $table);
                $isNew = $isNew || !$isKnown;
            }
        }

        return $isNew;
    }

    /** @return ?list<string> null: too many */
    private function tags(): ?array
    {
        foreach ([self::MOST, 0] as $most) {
            $tags = [Tag::site(), ...$this->shownTables, ...$this->shownTables === [] ? [] : [Tag::of('table', Tag::ANY)]];
            foreach ($this->kinds() as $kind => $names) {
                foreach (\count($names) > $most || isset($names[Tag::ANY]) ? [Tag::ANY] : \array_keys($names) as $name) {
                    $tags[] = "$kind:$name";
                }
            }
            if (\count($tags) <= 4 * self::MOST) {
                return \array_values(\array_unique($tags));
            }
        }

        return null;
    }

    /** @return array<string, array<array-key, true>> */
    private function kinds(): array
    {
        $kinds = $this->names;
        foreach ($this->links as $link => $true) {
            [$blog, $id] = \explode(':', (string) $link);
            if (!isset($this->whole[$link])) {
                unset($kinds["$blog:post"][$id]);
            }
            $kinds["$blog:link"][$id] = true;
        }

        return $kinds;
    }

    private function note(string $kind, int|string $name, int $blog = 0): void
    {
        $this->names[\substr(Tag::of($kind, '', $blog), 0, -1)][$name] = true;
    }

    private static function here(int $post): string
    {
        return \get_current_blog_id() . ":$post";
    }

    /** @return list<int> */
    private static function numbers(mixed $values): array
    {
        return \array_map(\intval(...), \array_values(\array_filter(\is_array($values) ? $values : [$values], \is_numeric(...))));
    }

    /** @return list<string> */
    private static function strings(mixed $value): array
    {
        return \array_values(\array_filter(\is_array($value) ? $value : [$value], static fn(mixed $one): bool => \is_string($one) && $one !== ''));
    }
}
