<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

use Larder\WordPress\ObjectCache;

/**
 * Which keys of the object cache are computed from the rows that a statement writes: WordPress's own tables, and every
 * meta table that is known to its metadata API.
 *
 * Read from what WordPress 6.8 and 7.1 delete or set after each write (clean_post_cache(), clean_term_cache(),
 * clean_user_cache(), clean_comment_cache(), clean_blog_cache(), update_metadata(), update_option(), …), less what the
 * statement does not touch and what is never set (`wp_get_archives`, a taxonomy's `all_ids`) or not shared (`counts`).
 *
 *     table               group: keys
 *     options             options: alloptions or the name (both where that is not known, or changes), notoptions for a new one
 *                         site-details, blog-details: the site      (a network, where the name is one of SITE)
 *                         calendar: get_calendar                     (where the name is one of CALENDAR)
 *     sitemeta            site-options: <network>:<name>, <network>:notoptions for a new one
 *     posts               posts: last_changed, <ID>, post_parent:<ID>, all_page_ids
 *                         calendar: get_calendar; timeinfo: lastpost…        (of one that was or gets published)
 *     comments            comment: last_changed, <comment_ID>; timeinfo: lastcommentmodified:…
 *     terms               terms: last_changed, <term_id>
 *     term_taxonomy       terms: last_changed, <term_id>
 *     term_relationships  terms: last_changed; <taxonomy>_relationships: <object_id>
 *     users               users: last_changed, <ID>; userlogins, userslugs, useremail: what they were
 *     <type>meta          <type>_meta: <object>; last_changed of Tables::SALTS
 *     blogs               sites: last_changed, <blog_id>; site-details: <blog_id>; blog-details: <blog_id>, <blog_id>short;
 *                         blog-lookup, blog-id-cache: md5(domain and path)
 *     links               bookmark: <link_id>, get_bookmarks
 *
 * What a statement writes without that it can be told which rows these are, is not here but in Tables.
 */
final class Keys
{
    /** Options that clean_site_details_cache() is called for (ms-default-filters.php). */
    private const SITE = ['blogname', 'siteurl', 'home', 'post_count'];

    /** Options that delete_get_calendar_cache() is called for (default-filters.php). */
    private const CALENDAR = ['start_of_week', 'gmt_offset'];

    private const ZONES = ['server', 'gmt', 'blog'];

    /** What add_option() does to a row that another request has added meanwhile: it gives it its own autoload. */
    private const ADDED = 'ON DUPLICATE KEY UPDATE `option_name` = VALUES(`option_name`), `option_value` = VALUES(`option_value`), `autoload` = VALUES(`autoload`)';

    /** Columns that name a row of a table by its number; those of metadata, where a table is not here. */
    private const NUMBERS = [
        'options' => ['option_id'], 'posts' => ['ID'], 'comments' => ['comment_ID'], 'term_taxonomy' => ['term_taxonomy_id'],
        'users' => ['ID'], 'blogs' => ['blog_id'],
    ];

    /** Of an option that was asked for: its name and its `autoload`. */
    private string $asked = '';
    private string $autoload = '';

    public function __construct(private readonly ObjectCache $cache) {}

    /** What WordPress has asked the database just before it writes an option. */
    public function learn(string $query, mixed $autoload): void
    {
        $this->asked = \preg_match('~ WHERE option_name = \'([^\'\\\\]*+)\'~', $query, $match) === 1 ? $match[1] : '';
        $this->autoload = \is_string($autoload) ? $autoload : '';
    }

    /**
     * @param Statement $statement     on the rows of one table
     * @param string    $table         which, as Tables calls it
     * @param bool      $inTransaction see Rows
     *
     * @return ?array<string, list<string>> by group; null: which ones is not known
     */
    public function of(Statement $statement, string $table, \wpdb $database, bool $inTransaction): ?array
    {
        foreach ($statement->over() === '' ? [] : self::NUMBERS[$table] ?? ['meta_id', 'umeta_id'] as $number) {
            if ($statement->values($number) !== []) {
                // What the row that it meets was before.
                return null;
            }
        }
        $rows = new Rows($statement, $database, $inTransaction);

        return match ($table) {
            'options' => $this->options($statement),
            'posts' => $this->posts($statement, $rows),
            'comments' => $this->comments($statement, $rows),
            'terms' => self::keys('terms', $rows->ids('term_id', true)),
            'term_taxonomy' => self::keys('terms', $rows->ids('term_id', false, ['term_taxonomy_id'], ['parent'])),
            'term_relationships' => $this->relationships($rows),
            'users' => $this->users($rows),
            'links' => self::keys('bookmark', $rows->ids('link_id', true, [], ['link_owner']), 'get_bookmarks'),
            'sitemeta' => $this->network($statement),
            'blogs' => $this->sites($statement, $rows),
            default => \str_ends_with($table, 'meta') ? $this->metadata(\substr($table, 0, -4), $rows) : null,
        };
    }

    /**
     * @param ?list<string> $ids
     *
     * @return ?array<string, list<string>>
     */
    private static function keys(string $group, ?array $ids, string $more = 'last_changed'): ?array
    {
        return $ids === null ? null : [$group => [$more, ...$ids]];
    }

    /** @return ?array<string, list<string>> */
    private function options(Statement $statement): ?array
    {
        $new = $statement->verb === 'INSERT';
        $names = $new ? $statement->values('option_name') : $statement->texts('option_name');
        $autoload = $statement->value('autoload');
        $asked = $this->asked;
        $this->asked = '';
        // Of several new ones each has an autoload of its own.
        // Its name may be what is changed.
        $renamed = $new ? [] : $statement->values('option_name');
        if ($names === null || $renamed === null || ($new && \count($names) !== 1)) {
            return null;
        }
        \array_push($names, ...$renamed);
        if ($autoload === null && $names === [$asked]) {
            $autoload = $this->autoload;
        } elseif (!$new || !\in_array($statement->over(), ['', self::ADDED], true)) {
            // It is given another one, or it had another one, or which is not known: either key may be it.
            $autoload = '';
        }
        // WordPress 6.6 and later know more than one word for it.
        $loaded = \in_array($autoload, \function_exists('wp_autoload_values_to_autoload') ? \wp_autoload_values_to_autoload() : ['yes'], true);
        $all = $loaded || ($autoload ?? '') === '' ? ['alloptions'] : [];
        $single = $loaded ? [] : $names;
        $keys = ['options' => [...$all, ...($new || $renamed !== [] ? ['notoptions'] : []), ...$single]];
        if (\is_multisite() && \array_intersect($names, self::SITE) !== []) {
            $site = (string) \get_current_blog_id();
            $keys += ['site-details' => [$site], 'blog-details' => [$site]];
        }

        return \array_intersect($names, self::CALENDAR) === [] ? $keys : $keys + ['calendar' => ['get_calendar']];
    }

    /** @return ?array<string, list<string>> */
    private function network(Statement $statement): ?array
    {
        $new = $statement->verb === 'INSERT';
        $networks = $new ? $statement->values('site_id') : $statement->numbers('site_id');
        $names = $new ? $statement->values('meta_key') : $statement->texts('meta_key');
        if ($networks === null || $names === null || \count($networks) !== 1 || \count($names) !== 1
            || (!$new && ($statement->values('site_id') !== [] || $statement->values('meta_key') !== []))) {
            return null;
        }

        return ['site-options' => ["$networks[0]:$names[0]", ...($new ? ["$networks[0]:notoptions"] : [])]];
    }

    /** @return ?array<string, list<string>> */
    private function posts(Statement $statement, Rows $rows): ?array
    {
        $ids = $rows->ids('ID', true, [], ['post_parent', 'post_author']);
        if ($ids === null) {
            return null;
        }
        $posts = ['last_changed', ...$ids];
        $statuses = $statement->values('post_status');
        $kinds = $statement->values('post_type');
        if ($statement->verb !== 'UPDATE' || $statement->values('post_parent') !== []) {
            \array_push($posts, ...\array_map(static fn(string $id): string => "post_parent:$id", $ids));
        }
        if ($statement->verb !== 'UPDATE' || $kinds !== []) {
            $posts[] = 'all_page_ids';
        }
        // What is given by an expression may be anything.
        $published = $statuses === null || \in_array('publish', $statuses, true);
        $types = $kinds ?? \array_values(\get_post_types());
        if ($statuses !== [] || $kinds !== [] || $statement->verb === 'DELETE') {
            foreach ($ids as $id) {
                $old = $this->cache->get($id, 'posts');
                $old = \is_object($old) ? \get_object_vars($old) : [];
                $published = $published || ($old['post_status'] ?? 'publish') === 'publish';
                if (\is_string($old['post_type'] ?? null)) {
                    $types[] = $old['post_type'];
                } elseif ($statement->verb !== 'INSERT') {
                    \array_push($types, ...\array_values(\get_post_types()));
                }
            }
        }
        if (!$published) {
            return ['posts' => $posts];
        }
        $times = [];
        foreach (self::ZONES as $zone) {
            \array_push($times, "lastpostmodified:$zone", "lastpostdate:$zone");
            foreach (\array_unique($types) as $type) {
                $times[] = "lastpostdate:$zone:$type";
            }
        }

        return ['posts' => $posts, 'calendar' => ['get_calendar'], 'timeinfo' => $times];
    }

    /** @return ?array<string, list<string>> */
    private function comments(Statement $statement, Rows $rows): ?array
    {
        $keys = self::keys('comment', $rows->ids('comment_ID', true, [], ['comment_post_ID', 'comment_parent']));
        if ($keys !== null && ($statement->verb === 'DELETE' || $statement->values('comment_approved') !== [])) {
            $keys['timeinfo'] = \array_map(static fn(string $zone): string => "lastcommentmodified:$zone", self::ZONES);
        }

        return $keys;
    }

    /** @return ?array<string, list<string>> */
    private function relationships(Rows $rows): ?array
    {
        $objects = $rows->ids('object_id', false, [], ['term_taxonomy_id']);
        if ($objects === null) {
            return null;
        }
        $keys = ['terms' => ['last_changed']];
        foreach ($objects === [] ? [] : $rows->taxonomies() ?? \array_values(\get_taxonomies()) as $taxonomy) {
            $keys["{$taxonomy}_relationships"] = $objects;
        }

        return $keys;
    }

    /** @return ?array<string, list<string>> */
    private function users(Rows $rows): ?array
    {
        $ids = $rows->ids('ID', true, [], ['user_login']);
        $users = $rows->all(['ID', 'user_login', 'user_nicename', 'user_email'], ['ID'], ['user_login']);
        if ($ids === null || $users === null) {
            return null;
        }
        $keys = ['users' => ['last_changed', ...$ids]];
        foreach ($users as [, $login, $slug, $email]) {
            $keys['userlogins'][] = $login;
            $keys['userslugs'][] = $slug;
            if ($email !== '') {
                $keys['useremail'][] = $email;
            }
        }

        return $keys;
    }

    /** @return ?array<string, list<string>> */
    private function metadata(string $type, Rows $rows): ?array
    {
        $ids = $rows->ids("{$type}_id", false, ['meta_id', 'umeta_id']);

        return $ids === null ? null : ["{$type}_meta" => $ids] + (isset(Tables::SALTS[$type]) ? [Tables::SALTS[$type] => ['last_changed']] : []);
    }

    /** @return ?array<string, list<string>> */
    private function sites(Statement $statement, Rows $rows): ?array
    {
        $ids = $rows->ids('blog_id', true);
        $sites = $rows->all(['blog_id', 'domain', 'path'], ['blog_id']);
        if ($ids === null || $sites === null || $statement->values('domain') === null || $statement->values('path') === null) {
            return null;
        }
        $keys = ['sites' => ['last_changed', ...$ids], 'site-details' => $ids, 'blog-details' => [...$ids, ...\array_map(static fn(string $id): string => "{$id}short", $ids)]];
        $new = [$statement->value('domain') ?? '', $statement->value('path') ?? ''];
        $places = [$new];
        foreach ($sites as [, $domain, $path]) {
            \array_push($places, [$domain, $path], [$new[0] === '' ? $domain : $new[0], $new[1] === '' ? $path : $new[1]]);
        }
        foreach ($places as [$domain, $path]) {
            if ($domain !== '') {
                $keys['blog-lookup'][] = $keys['blog-id-cache'][] = \md5($domain . $path);
            }
        }

        return $keys;
    }
}
