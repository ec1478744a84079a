<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

use Larder\Cache;
use Larder\WordPress\Intent\Statement;
use Larder\WordPress\ObjectCache;
use Larder\WordPress\Owner;

/**
 * What statements have changed of what pages show, where no action of WordPress says so: SQL of a plugin's own.
 *
 * WordPress's functions write first and say so then. So a statement is noted, Purge's hook takes the note back, which knows
 * better which pages show the change, and what is left after a second or at the request's end is purged: the pages of one
 * post, comment or user where the rows are known, with the lists where it is known what the post was before, and else all of
 * the site.
 *
 * Pages also show what a plugin or theme has read from tables of its own (Shown). These pages carry the table's name, and any
 * write to the table purges them. Most tables no page shows: a list of those that some page does is kept in the cache.
 */
final class Written
{
    /** Tables of a network that no page shows. */
    private const NOT_SHOWN = ['blogmeta', 'site', 'registration_log', 'signups'];

    /** Columns that lists and links depend on. */
    private const LISTED = [
        'posts' => ['post_title', 'post_name', 'post_parent', 'post_status', 'post_type', 'post_date', 'post_date_gmt', 'post_author', 'post_password', 'menu_order', 'ID'],
        'term_taxonomy' => ['term_id', 'taxonomy', 'description', 'parent', 'term_taxonomy_id'],
    ];

    /** Kinds for which all of the site is purged: lists have changed, which ones is not known. */
    private const OF_ALL = ['site' => 0, 'listed' => 0, 'term' => 0, 'assigned' => 0];

    /** Nanoseconds for which WordPress may take to say what it has written. */
    private const PATIENCE = 1_000_000_000;

    /** The list of tables, among Larder's own records. */
    private const TABLES = 'page-tables';

    /** With more tables the list begins anew. */
    private const MOST = 200;

    /** @var array<int, array<string, array<array-key, true>>> by blog, kind and name: what was written and not purged yet; '' where the name is not known */
    private static array $left = [];

    /** @var array<int, array<array-key, \WP_Post>> by blog and id, what posts were before the first statement that changed them */
    private static array $before = [];

    /** @var list<array{int, string, int|string}> what the last statement has added to it */
    private static array $last = [];

    /** @var array<string, true> tables that this request has written to */
    private static array $written = [];

    private static int $due = 0;

    /**
     * A statement is about to be sent.
     *
     * @param string                       $table which of WordPress's; '' for another one, whose name comes next
     * @param ?array<string, list<string>> $keys  of the object cache, by group; null: which rows it changes is not known
     * @param int                          $blog  of a network; 0: the current one
     */
    public static function note(Statement $statement, string $table, string $name, ?array $keys, int $blog): void
    {
        self::$written[$name] = true;
        $blog = $blog ?: \get_current_blog_id();
        if ($table === '') {
            self::add($blog, 'table', $name);
        } elseif ($keys === null && $table === 'blogs') {
            self::add($blog, 'blog', '');
        } elseif ($keys === null) {
            $isOfTransients = $table === 'options' && \str_contains($statement->where(), '_transient_');
            $isOfTransients || \in_array($table, self::NOT_SHOWN, true) || self::add($blog, 'site', '');
        } else {
            try {
                self::rows($statement, $table, $keys, $blog);
            } catch (\Throwable) {
                // With SHORTINIT there is no WP_Post.
                self::add($blog, 'site', '');
            }
        }
    }

    /** The last statement has changed no row. */
    public static function undo(): void
    {
        foreach (self::$last as [$blog, $kind, $name]) {
            unset(self::$left[$blog][$kind][$name]);
        }
        self::$last = [];
    }

    /** The last statement has added one row, whose name is known now: WordPress may tell of another one. */
    public static function inserted(int $id): void
    {
        foreach (self::$last as [$blog, $kind, $name]) {
            if ($name === '' && $id > 0 && isset(self::$left[$blog][$kind][''])) {
                unset(self::$left[$blog][$kind]['']);
                self::$left[$blog][$kind][$id] = true;
            }
        }
    }

    /** WordPress has said that it has written this, so that Purge knows. */
    public static function told(string $kind, int|string $name): void
    {
        $blog = \get_current_blog_id();
        unset(self::$left[$blog][$kind][$name]);
        if (\in_array([$blog, $kind, ''], self::$last, true)) {
            unset(self::$left[$blog][$kind]['']);
        }
    }

    /** Another statement comes. */
    public static function wait(): void
    {
        self::$last = [];
        if (self::$left !== [] && \hrtime(true) >= self::$due) {
            self::settle();
        }
    }

    /** Purges what was not told of. */
    public static function settle(): void
    {
        [$left, $before] = [self::$left, self::$before];
        self::$left = self::$last = self::$before = [];
        foreach ($left as $blog => $kinds) {
            // Asked anew, for a page may show one of them by now.
            $kinds['table'] = isset($kinds['table']) ? \array_intersect_key($kinds['table'], Owner::run(static fn(): array => self::tables(true))) : [];
            $tables = \array_keys($kinds['table']);
            unset($kinds['table']);
            \array_map(static fn(int|string $table) => Purge::table((string) $table), $tables);
            foreach (\array_keys($kinds['blog'] ?? []) as $id) {
                $id === '' ? Purge::all() : Purge::site((int) $id);
            }
            unset($kinds['blog']);
            $kinds = \array_filter($kinds);
            $names = \array_merge(...\array_map(\array_keys(...), \array_values($kinds)));
            if ($names !== [] && ($blog !== \get_current_blog_id() || \array_intersect_key($kinds, self::OF_ALL) !== [] || \in_array('', $names, true))) {
                Purge::site($blog);
                $kinds = \array_intersect_key($kinds, ['network' => 0]);
            }
            try {
                foreach ($kinds as $kind => $names) {
                    foreach (\array_keys($names) as $name) {
                        match ($kind) {
                            'option' => Purge::option((string) $name),
                            'network' => Purge::siteOption((string) $name),
                            'user' => Purge::user($name),
                            'comment' => Purge::commentOf($name),
                            'moved' => Purge::moved($before[$blog][$name]),
                            default => Purge::postOf($name),
                        };
                    }
                }
            } catch (\Throwable) {
                // With SHORTINIT there are no posts to ask for; and what is asked for may have a plugin's hook that throws.
                Purge::site($blog);
            }
        }
    }

    /** Whether this request writes to a table itself: a page that counts how often it is built could never be kept. */
    public static function hasWritten(string $table): bool
    {
        return isset(self::$written[$table]);
    }

    /**
     * A page shows what was read from a table of a plugin's.
     *
     * @return bool false: requests that wrote to it until now did not know that
     */
    public static function show(string $table): bool
    {
        $tables = self::tables();
        if (isset($tables[$table])) {
            return true;
        }
        \count($tables) < self::MOST || Purge::table(Tag::ANY);
        self::own()?->update(self::TABLES, static fn(mixed $known): array => (\is_array($known) && \count($known) < self::MOST ? $known : []) + [$table => true]);

        return false;
    }

    /** @param array<string, list<string>> $keys */
    private static function rows(Statement $statement, string $table, array $keys, int $blog): void
    {
        $isNew = $statement->verb === 'INSERT';
        $names = static fn(string $column): array => ($isNew ? $statement->values($column) : $statement->texts($column)) ?? [''];
        $ids = static fn(string $group): array => \array_filter($keys[$group] ?? [], \ctype_digit(...)) ?: ($isNew ? [''] : []);
        switch ($table) {
            case 'options':
                if ($isNew || $statement->verb === 'DELETE' || $statement->values('option_value') !== [] || $statement->values('option_name') !== []) {
                    $all = [...$names('option_name'), ...($statement->values('option_name') ?? [''])];
                    \array_map(static fn(string $name) => self::add($blog, 'option', $name), $all);
                }
                break;
            case 'blogs':
                // Which are archived, spam or deleted: no visitor may see those.
                foreach ($isNew ? [] : $statement->numbers('blog_id') ?? [''] as $id) {
                    self::add($blog, 'blog', $id);
                }
                break;
            case 'sitemeta':
                \array_map(static fn(string $name) => self::add($blog, 'network', $name), $names('meta_key'));
                break;
            case 'posts':
                foreach ($ids('posts') as $id) {
                    $isListed = self::isListed($statement, $table);
                    $before = $isListed && $id !== '' ? \wp_cache_get((int) $id, 'posts') : false;
                    // With what it was before, lists can be told.
                    if (\is_object($before)) {
                        self::$before[$blog][$id] ??= new \WP_Post($before);
                    }
                    self::add($blog, $isListed ? (isset(self::$before[$blog][$id]) ? 'moved' : 'listed') : 'post', $id);
                }
                break;
            case 'postmeta':
                $shown = \array_filter($names('meta_key'), static fn(string $name): bool => !Purge::isIgnoredMeta($name));
                foreach ($shown === [] ? [] : $ids('post_meta') as $id) {
                    self::add($blog, 'meta', $id);
                }
                break;
            case 'users':
                \array_map(static fn(string $id) => self::add($blog, 'user', $id), $ids('users'));
                break;
            case 'usermeta':
                $shown = \array_filter($names('meta_key'), static fn(string $name): bool => !Purge::isIgnoredUserMeta($name));
                foreach ($shown === [] ? [] : $ids('user_meta') as $id) {
                    self::add($blog, 'user', $id);
                }
                break;
            case 'comments':
            case 'commentmeta':
                \array_map(static fn(string $id) => self::add($blog, 'comment', $id), $ids($table === 'comments' ? 'comment' : 'comment_meta'));
                break;
            case 'term_taxonomy':
                // How many posts a term has, WordPress counts.
                foreach (self::isListed($statement, $table) ? $ids('terms') : [] as $id) {
                    self::add($blog, 'term', $id);
                }
                break;
            case 'terms':
            case 'termmeta':
                \array_map(static fn(string $id) => self::add($blog, 'term', $id), $ids($table === 'termmeta' ? 'term_meta' : 'terms'));
                break;
            case 'term_relationships':
                foreach (\array_diff_key($keys, ['terms' => 0]) as $objects) {
                    \array_map(static fn(string $id) => self::add($blog, 'assigned', $id), $objects);
                }
                break;
            default:
                \in_array($table, self::NOT_SHOWN, true) || self::add($blog, 'site', '');
        }
    }

    /** Whether a statement changes more than what the pages of one row show. */
    private static function isListed(Statement $statement, string $table): bool
    {
        return $statement->verb !== 'UPDATE' || \array_filter(self::LISTED[$table], static fn(string $column): bool => $statement->values($column) !== []) !== [];
    }

    private static function add(int $blog, string $kind, int|string $name): void
    {
        if (self::$left === []) {
            self::$due = \hrtime(true) + self::PATIENCE;
        }
        // What an earlier statement has changed stays so, whatever this one does.
        if (!isset(self::$left[$blog][$kind][$name])) {
            self::$left[$blog][$kind][$name] = true;
            self::$last[] = [$blog, $kind, $name];
        }
    }

    /** @return array<array-key, mixed> by the names of the tables that some page shows */
    private static function tables(bool $isFresh = false): array
    {
        $own = self::own();
        $isFresh && $own?->forget(self::TABLES);
        $tables = $own?->get(self::TABLES);
        if (!\is_array($tables) && $own !== null) {
            // It may have been evicted, and its pages not.
            Purge::table(Tag::ANY);
            $own->add(self::TABLES, []);
        }

        return \is_array($tables) ? $tables : [];
    }

    private static function own(): ?Cache
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;
        $root = $cache instanceof ObjectCache ? $cache->larder() : null;

        return $root === null ? null : ObjectCache::records($root);
    }
}
