<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\Store\Markers;

/**
 * A key space: the root, or a group in it, and how its keys are called in the stores.
 *
 *     e:<space>:<key>   an entry          f:<space>         the space's last flush
 *     l:<space>:<key>   its lease         t:<space>:<tag>   a tag's last invalidation
 *
 * Names of groups are percent-encoded, so that neither `:` nor `/` of a hostile name can reach into another space.
 */
final class Space
{
    /** @var non-empty-list<string> the flush markers that cover this space: its own, and those of the spaces it lies in */
    public readonly array $flushes;

    /** What an entry's key begins with. */
    public readonly string $entries;

    public function __construct(
        public readonly string $path = '',
        /** No database behind it: a later set wins (the table of conflicts differs in that row). */
        public readonly bool $cacheOnly = false,
    ) {
        $this->flushes = Markers::flushes($path);
        $this->entries = 'e:' . $path . ':';
    }

    public function group(string $name, bool $cacheOnly): self
    {
        $name = \rawurlencode($name);

        return new self($this->path === '' ? $name : $this->path . '/' . $name, $cacheOnly || $this->cacheOnly);
    }

    public function flush(): string
    {
        return 'f:' . $this->path;
    }

    /**
     * What a key is called in the stores.
     *
     * @throws InvalidKey
     */
    public function key(string $key): string
    {
        if ($key === '') {
            throw InvalidKey::empty('key');
        }
        if (\strlen($key) > InvalidKey::LONGEST) {
            throw InvalidKey::tooLong('key', \strlen($key), InvalidKey::LONGEST);
        }

        return $this->entries . $key;
    }

    /**
     * The markers of tags.
     *
     * @param array<array-key, string> $tags
     *
     * @return list<string>
     *
     * @throws InvalidKey
     */
    public function tags(array $tags): array
    {
        if (\count($tags) > self::MOST_TAGS) {
            throw InvalidKey::tooMany('tags', \count($tags), self::MOST_TAGS);
        }
        $markers = [];
        foreach ($tags as $tag) {
            if ($tag === '') {
                throw InvalidKey::empty('tag');
            }
            if (\strlen($tag) > InvalidKey::LONGEST / 2) {
                throw InvalidKey::tooLong('tag', \strlen($tag), InvalidKey::LONGEST >> 1);
            }
            $markers['t:' . $this->path . ':' . $tag] = true;
        }

        return \array_keys($markers);
    }

    /** More would not fit into an entry's count of them; this is far below it, since each is asked for at a read. */
    private const MOST_TAGS = 1000;

    public static function lease(string $key): string
    {
        return 'l' . \substr($key, 1);
    }

    /** Whether a marker concerns an entry: by its space, or by one of its tags. */
    public static function marks(string $marker, string $key, Entry $entry): bool
    {
        return $marker[0] === 'f' ? self::covers($marker, $key) : \in_array($marker, $entry->tags, true);
    }

    /** Whether an entry's key lies in the space (or below it) that a flush marker covers. */
    public static function covers(string $flush, string $key): bool
    {
        $path = \substr($flush, 2);

        return $path === '' || \str_starts_with($key, 'e:' . $path . ':') || \str_starts_with($key, 'e:' . $path . '/');
    }
}
