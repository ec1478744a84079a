<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\StructuredField;

/** The tags of a page: those that the application names, and those that the page cache gives itself. */
final class Tags
{
    /** More on one page are refused: each read of the page asks for each of its tags. */
    private const MOST = 200;
    private const LONGEST = 1_024;

    /**
     * What the application named in the header: `Cache-Tags` (commas), `Surrogate-Key` (spaces), `Cache-Groups` (RFC 9875).
     *
     * @param array<string, list<string>> $fields
     *
     * @return list<string>
     */
    public static function of(array $fields): array
    {
        return [
            ...\explode(',', \implode(',', [...$fields['cache-tags'] ?? [], ...$fields['cache-tag'] ?? []])),
            ...\preg_split('/\s+/', \implode(' ', $fields['surrogate-key'] ?? [])) ?: [],
            ...self::groups($fields, 'cache-groups'),
        ];
    }

    /**
     * @param array<array-key, string> $tags
     *
     * @return ?list<string> null: too many or too long ones, so that the page could not be purged
     */
    public static function check(array $tags): ?array
    {
        $tags = self::clean($tags);

        return \count($tags) > self::MOST || ($tags !== [] && \max(\array_map(\strlen(...), $tags)) > self::LONGEST) ? null : $tags;
    }

    /**
     * @param array<array-key, string> $tags as applications write them
     *
     * @return list<string>
     */
    public static function clean(array $tags): array
    {
        return \array_values(\array_unique(\array_filter(\array_map(\trim(...), $tags), static fn(string $tag): bool => $tag !== '')));
    }

    /** The tag of a page's stamp for a tag of the page. */
    public static function ofStamp(string $tag): string
    {
        return "\0stamp $tag";
    }

    /**
     * @param array<string, list<string>> $fields
     *
     * @return list<string> of a field that is a list of strings; nothing, if any of it is malformed
     */
    public static function groups(array $fields, string $name): array
    {
        $groups = \array_column(isset($fields[$name]) ? StructuredField::list(\implode(', ', $fields[$name])) ?? [] : [], 0);

        return \array_filter($groups, \is_string(...)) === $groups ? $groups : [];
    }

    /**
     * Those of a page's tags that the application gave it.
     *
     * @param list<string> $tags
     *
     * @return list<string>
     */
    public static function named(array $tags): array
    {
        return \array_values(\array_filter($tags, static fn(string $tag): bool => !\str_starts_with($tag, "\0")));
    }

    /** A group is one of its origin (RFC 9875, section 2): another origin's response cannot invalidate it. */
    public static function group(string $origin, string $group): string
    {
        return "\0group $origin $group";
    }

    /**
     * The tag of all that is stored for a URL: its variants, and what visitors with different cookies get. Without the port, for
     * visitors may name it or not, and web servers differ in which they tell PHP.
     */
    public static function url(string $url): string
    {
        return "\0url " . \preg_replace('~^(\w+://(?:\[[^]/]*\]|[^/:]*)):[0-9]+~', '$1', $url);
    }

    /** The scheme, host and port of a URL. */
    public static function origin(string $url): string
    {
        return (string) \preg_replace('~^(\w+://[^/]*).*~s', '$1', $url);
    }
}
