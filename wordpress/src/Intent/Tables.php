<?php

declare(strict_types=1);

namespace Larder\WordPress\Intent;

/**
 * WordPress's tables by their names, of this site and of the others of a network, and which groups of the object cache
 * are computed from each: flushed where it cannot be told which rows a statement writes.
 *
 * Queries (`post-queries`, …) need no flush: they carry the `last_changed` of another group.
 */
final class Tables
{
    private const GROUPS = [
        'options' => ['options', 'site-details', 'blog-details', 'calendar'],
        'posts' => ['posts', 'calendar', 'timeinfo'],
        'comments' => ['comment', 'timeinfo'],
        'terms' => ['terms'],
        'term_taxonomy' => ['terms'],
        'term_relationships' => ['terms'],
        'users' => ['users', 'userlogins', 'userslugs', 'useremail'],
        'links' => ['bookmark'],
        'sitemeta' => ['site-options'],
        'site' => ['networks'],
        'blogs' => ['sites', 'site-details', 'blog-details', 'blog-lookup', 'blog-id-cache'],
    ];

    /** By type of metadata: the group whose `last_changed` its changes renew (default-filters.php). */
    public const SALTS = ['post' => 'posts', 'user' => 'users', 'term' => 'terms', 'comment' => 'comment', 'blog' => 'sites'];

    /** @var array<string, array{string, int}> by name in small letters: what it is, and of which site (0: the current one) */
    private array $known = [];

    private readonly string $others;

    public function __construct(\wpdb $database)
    {
        // As _get_meta_table() finds it: plugins put their own tables' names there.
        foreach (\get_object_vars($database) as $name => $table) {
            if (\is_string($table) && $table !== '' && (isset(self::GROUPS[$name]) || \str_ends_with($name, 'meta'))) {
                $this->known[\strtolower($table)] = [$name, 0];
            }
        }
        $this->others = \is_multisite() ? \sprintf('~^%s(?:(\d+)_)?(%s|\w+meta)$~', \preg_quote(\strtolower($database->base_prefix), '~'), \implode('|', \array_keys(self::GROUPS))) : '';
    }

    /** @return ?array{string, int} what the table is, and of which site of a network (0: the current one); null: none of WordPress's */
    public function find(string $table): ?array
    {
        if (isset($this->known[$table])) {
            return $this->known[$table];
        }
        // The first site's have no number.
        return $this->others !== '' && \preg_match($this->others, $table, $match) === 1 ? [$match[2], (int) ($match[1] ?: 1)] : null;
    }

    /** @return list<string> */
    public static function groups(string $table): array
    {
        if (isset(self::GROUPS[$table])) {
            return $table !== 'term_relationships' ? self::GROUPS[$table]
                : [...self::GROUPS[$table], ...\array_map(static fn(string $taxonomy): string => "{$taxonomy}_relationships", \array_values(\get_taxonomies()))];
        }
        $type = \substr($table, 0, -4);

        return ["{$type}_meta", ...(isset(self::SALTS[$type]) ? [self::SALTS[$type]] : [])];
    }
}
