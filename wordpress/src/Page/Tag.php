<?php

declare(strict_types=1);

namespace Larder\WordPress\Page;

/**
 * The tags of pages: what a page shows, and what a change of that purges.
 *
 *     post       a post with what belongs to it: its content, meta, terms and comments
 *     link       a post as a menu shows it: its title and its address
 *     term, user what a page tells of one
 *     beside     which posts come before and after a post
 *     list       which posts of a type there are, and in which order of time
 *     titled     the same, where it also depends on what a link shows of them
 *     sorted     the same, where it also depends on their texts, meta or comments
 *     in         which posts there are in a term
 *     by, on     the same by an author, and on a date (2026, 2026-11 or 2026-11-22), with a dot and the type
 *     terms      which terms of a taxonomy there are
 *     table      what a plugin's own statement has read from a table of its own
 *     users, comments, site
 *
 * Each has the blog's id in front, but users and tables, which are a network's.
 */
final class Tag
{
    /** In place of a name: a page with very many of a kind has this one. */
    public const ANY = '*';

    /** @param int $blog 0: the current one */
    public static function of(string $kind, int|string $name, int $blog = 0): string
    {
        return (\in_array($kind, ['user', 'users', 'table'], true) ? '' : ($blog ?: \get_current_blog_id()) . ':') . "$kind:$name";
    }

    /**
     * All of a blog's pages.
     *
     * @param int $blog 0: the current one
     */
    public static function site(int $blog = 0): string
    {
        return self::of('site', self::ANY, $blog);
    }

    /**
     * @param array<string, list<int|string>> $names by kind
     *
     * @return list<string> with what pages have that show very many
     */
    public static function changed(array $names): array
    {
        $tags = [];
        foreach ($names as $kind => $each) {
            foreach ($each === [] ? [] : [...$each, self::ANY] as $name) {
                $tags[] = self::of($kind, $name);
            }
        }

        return \array_values(\array_unique($tags));
    }
}
