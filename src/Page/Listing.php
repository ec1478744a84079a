<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Cache;

/**
 * The stored pages, for people. Reads the truth tier through, so no request does it.
 *
 * @phpstan-import-type Page from StoredReply
 * @phpstan-type Row array{name: string, page: Page, size: int, tags: list<string>, isExpired: bool}
 */
final class Listing
{
    /** Pages that are in memory at the same time. */
    private const AT_ONCE = 20;

    /**
     * @param Cache                  $cache as the page cache has it
     * @param string                 $group in which $cache is; '': in none
     * @param \Closure(string): bool $isWanted asked with a page's name: its URL, and in further lines what else it depends on
     * @param list<string>           $tags  of which it has one; none: all pages
     *
     * @return iterable<Row>
     */
    public static function of(Cache $cache, string $group, \Closure $isWanted, array $tags = []): iterable
    {
        $found = $stamps = [];
        foreach ($cache->entries() as $key => $entry) {
            $key = (string) $key;
            if ($entry['group'] !== \ltrim("$group/page", '/')) {
                continue;
            }
            $name = \substr($key, 1);
            if ($key[0] === 's') {
                $stamps[$name] = true;
            } elseif ($isWanted($name)) {
                $named = Tags::named($entry['tags']);
                if ($tags === [] || \array_intersect($tags, $named) !== []) {
                    $found[$name] = [$entry['size'], $named];
                }
            }
        }
        \ksort($found, \SORT_STRING);
        $pages = $cache->group('page');
        foreach (\array_chunk($found, self::AT_ONCE, true) as $part) {
            $values = $pages->getMultiple(\array_map(static fn(string|int $name): string => "p$name", \array_keys($part)));
            foreach ($part as $name => [$size, $named]) {
                $value = $values["p$name"] ?? null;
                // Not a list of what its variants depend on.
                if (ResponseEncoder::isWhole($value)) {
                    yield ['name' => (string) $name, 'page' => $value['page'], 'size' => $size, 'tags' => $named, 'isExpired' => !isset($stamps[$name])];
                }
            }
            $pages->forget();
        }
    }
}
