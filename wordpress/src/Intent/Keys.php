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
 *     <type>meta          <type>_meta: <object>; last_changed of SALTS
 *     blogs               sites: last_changed, <blog_id>; site-details: <blog_id>; blog-details: <blog_id>, <blog_id>short;
 *                         blog-lookup, blog-id-cache: md5(domain and path)
 *     links               bookmark: <link_id>, get_bookmarks
 */
final class Keys
{
    /** By type of metadata: the group whose `last_changed` its changes renew (default-filters.php). */
    private const SALTS = ['post' => 'posts', 'user' => 'users', 'term' => 'terms', 'comment' => 'comment', 'blog' => 'sites'];

    /** Options that clean_site_details_cache() is called for (ms-default-filters.php). */
    private const SITE = ['blogname', 'siteurl', 'home', 'post_count'];

    /** Options that delete_get_calendar_cache() is called for (default-filters.php). */
    private const CALENDAR = ['start_of_week', 'gmt_offset'];

    private const ZONES = ['server', 'gmt', 'blog'];

    /** Of an option that was asked for: its name and its `autoload`. */
    private string $asked = '';
    private string $autoload = '';

    public function __construct(private readonly ObjectCache $cache) {}

    /** What WordPress has asked the database just before it writes an option. */
    public function learn(string $query, mixed $autoload): void
    {
        $this->asked = Statement::parse($query)?->equal('option_name') ?? '';
        $this->autoload = \is_string($autoload) ? $autoload : '';
    }

    /** @return array<string, list<string>> by group */
    public function of(Statement $statement, \wpdb $database): array
    {
        $rows = new Rows($statement, $database);

        return match ($statement->table) {
            $database->options => $this->options($statement),
            $database->posts => $this->posts($statement, $rows->ids('ID', 'post_parent', 'post_author')),
            $database->comments => $this->comments($statement, $rows->ids('comment_ID', 'comment_post_ID', 'comment_parent')),
            $database->terms => ['terms' => ['last_changed', ...$rows->ids('term_id')]],
            $database->term_taxonomy => ['terms' => ['last_changed', ...$rows->ids('term_id', 'term_taxonomy_id', 'parent')]],
            $database->term_relationships => $this->relationships($statement, $rows),
            $database->users => $this->users($rows),
            $database->links => ['bookmark' => ['get_bookmarks', ...$rows->ids('link_id', 'link_owner')]],
            $database->sitemeta => $this->network($statement),
            $database->blogs => $this->sites($statement, $rows),
            default => \str_ends_with($statement->table, 'meta') ? $this->metadata($statement, $rows, $database) : [],
        };
    }

    /** @return array<string, list<string>> */
    private function options(Statement $statement): array
    {
        $new = $statement->verb === 'INSERT';
        $names = $new ? (array) $statement->value('option_name') : $statement->strings();
        $autoload = $statement->value('autoload');
        if ($autoload === null && $names === [$this->asked]) {
            $autoload = $this->autoload;
        } elseif (!$new) {
            // It is given another one, or nobody knows: either key may be it.
            $autoload = '';
        }
        $this->asked = '';
        // WordPress 6.6 and later know more than one word for it.
        $loaded = \in_array($autoload, \function_exists('wp_autoload_values_to_autoload') ? \wp_autoload_values_to_autoload() : ['yes'], true);
        $all = $loaded || ($autoload ?? '') === '' ? ['alloptions'] : [];
        $single = $loaded ? [] : $names;
        $keys = ['options' => [...$all, ...($new ? ['notoptions'] : []), ...$single]];
        if (\is_multisite() && \array_intersect($names, self::SITE) !== []) {
            $site = (string) \get_current_blog_id();
            $keys += ['site-details' => [$site], 'blog-details' => [$site]];
        }

        return \array_intersect($names, self::CALENDAR) === [] ? $keys : $keys + ['calendar' => ['get_calendar']];
    }

    /** @return array<string, list<string>> */
    private function network(Statement $statement): array
    {
        $new = $statement->verb === 'INSERT';
        $network = $new ? $statement->value('site_id') : $statement->equal('site_id');
        $name = $new ? $statement->value('meta_key') : $statement->equal('meta_key');
        if ($network === null || $name === null) {
            return [];
        }

        return ['site-options' => ["$network:$name", ...($new ? ["$network:notoptions"] : [])]];
    }

    /**
     * @param list<string> $ids
     *
     * @return array<string, list<string>>
     */
    private function posts(Statement $statement, array $ids): array
    {
        $posts = ['last_changed', ...$ids];
        $status = $statement->value('post_status');
        $type = $statement->value('post_type');
        if ($statement->verb !== 'UPDATE' || $statement->value('post_parent') !== null) {
            \array_push($posts, ...\array_map(static fn(string $id): string => "post_parent:$id", $ids));
        }
        if ($statement->verb !== 'UPDATE' || $type !== null) {
            $posts[] = 'all_page_ids';
        }
        $published = $status === 'publish';
        $types = (array) $type;
        if ($status !== null || $type !== null || $statement->verb === 'DELETE') {
            foreach ($ids as $id) {
                $old = $this->cache->get($id, 'posts');
                $old = \is_object($old) ? \get_object_vars($old) : [];
                $published = $published || ($old['post_status'] ?? 'publish') === 'publish';
                if (\is_string($old['post_type'] ?? null)) {
                    $types[] = $old['post_type'];
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

    /**
     * @param list<string> $ids
     *
     * @return array<string, list<string>>
     */
    private function comments(Statement $statement, array $ids): array
    {
        $keys = ['comment' => ['last_changed', ...$ids]];
        if ($statement->verb === 'DELETE' || $statement->value('comment_approved') !== null) {
            $keys['timeinfo'] = \array_map(static fn(string $zone): string => "lastcommentmodified:$zone", self::ZONES);
        }

        return $keys;
    }

    /** @return array<string, list<string>> */
    private function relationships(Statement $statement, Rows $rows): array
    {
        $objects = $rows->ids('object_id', 'term_taxonomy_id');
        $keys = ['terms' => ['last_changed']];
        foreach ($objects === [] ? [] : $rows->taxonomies() ?? \array_values(\get_taxonomies()) as $taxonomy) {
            $keys["{$taxonomy}_relationships"] = $objects;
        }

        return $keys;
    }

    /** @return array<string, list<string>> */
    private function users(Rows $rows): array
    {
        $keys = ['users' => ['last_changed']];
        foreach ($rows->all(['ID', 'user_login', 'user_nicename', 'user_email'], 'ID', 'user_login') as [$id, $login, $slug, $email]) {
            $keys['users'][] = $id;
            $keys['userlogins'][] = $login;
            $keys['userslugs'][] = $slug;
            if ($email !== '') {
                $keys['useremail'][] = $email;
            }
        }

        return $keys;
    }

    /** @return array<string, list<string>> */
    private function metadata(Statement $statement, Rows $rows, \wpdb $database): array
    {
        $keys = [];
        // As _get_meta_table() finds it: plugins put their own tables' names there.
        foreach (\array_keys(\get_object_vars($database), $statement->table, true) as $name) {
            if (\str_ends_with((string) $name, 'meta')) {
                $type = \substr((string) $name, 0, -4);
                $keys["{$type}_meta"] = $rows->ids("{$type}_id", 'meta_id', 'umeta_id');
                isset(self::SALTS[$type]) && $keys[self::SALTS[$type]] = ['last_changed'];
            }
        }

        return $keys;
    }

    /** @return array<string, list<string>> */
    private function sites(Statement $statement, Rows $rows): array
    {
        $keys = ['sites' => ['last_changed']];
        $places = [[$statement->value('domain') ?? '', $statement->value('path') ?? '']];
        foreach ($rows->all(['blog_id', 'domain', 'path'], 'blog_id') as [$id, $domain, $path]) {
            $keys['sites'][] = $id;
            $keys['site-details'][] = $keys['blog-details'][] = $id;
            $keys['blog-details'][] = "{$id}short";
            $places[] = [$domain, $path];
        }
        foreach ($places as [$domain, $path]) {
            if ($domain !== '') {
                $keys['blog-lookup'][] = $keys['blog-id-cache'][] = \md5($domain . $path);
            }
        }

        return $keys;
    }
}
