<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Markers;

/**
 * A key space: the root, or a group in it. Maps its keys to their names in the stores.
 *
 *     e:<space>:<key>   an entry          f:<space>         the space's last flush
 *     l:<space>:<key>   its lease         t:<space>:<tag>   a tag's last invalidation
 *
 * Names of groups are percent-encoded, so that neither `:` nor `/` of a hostile name can reach into another space.
 */
final class Space
{
    /** Bytes of the longest key, and of a group's name; a tag may have half as many. */
    public const LONGEST = 65536;

    /** @var non-empty-list<string> the flush markers that cover this space: its own, and those of the spaces around it */
    public readonly array $flushes;

    /** The prefix of its entries' keys. */
    public readonly string $entries;

    public function __construct(
        public readonly string $path = '',
        /** True: no database is behind the space, and the last set wins (one row of the table of conflicts differs). */
        public readonly bool $cacheOnly = false,
        /** Seconds; for entries whose own are not given. */
        public readonly int $ttl = 0,
        public readonly int $soft = 0,
    ) {
        $this->flushes = $path === '' ? ['f:'] : Markers::flushes($path);
        $this->entries = 'e:' . $path . ':';
    }

    /** @param ?int $ttl null: this space's; so $soft */
    public function group(string $name, bool $cacheOnly, ?int $ttl = null, ?int $soft = null): self
    {
        return $this->within([$name], $cacheOnly, $ttl, $soft);
    }

    /** @param non-empty-list<string> $names of a group, a group in that, and so on */
    public function within(array $names, bool $cacheOnly, ?int $ttl = null, ?int $soft = null): self
    {
        $path = $this->path;
        foreach ($names as $name) {
            $path = ($path === '' ? '' : $path . '/') . \rawurlencode($name);
        }

        return new self($path, $cacheOnly || $this->cacheOnly, $ttl ?? $this->ttl, $soft ?? $this->soft);
    }

    public function flush(): string
    {
        return 'f:' . $this->path;
    }

    /**
     * A key's name in the stores.
     *
     * @throws InvalidKey
     */
    public function key(string $key): string
    {
        if ($key === '') {
            throw InvalidKey::empty('key');
        }
        if (\strlen($key) > self::LONGEST) {
            throw InvalidKey::tooLong('key', \strlen($key), self::LONGEST);
        }

        return $this->entries . $key;
    }

    /**
     * The names of the tags' markers in the stores.
     *
     * @param array<array-key, mixed> $tags
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
            if (!\is_string($tag)) {
                throw InvalidKey::noString('tag', $tag);
            }
            if ($tag === '') {
                throw InvalidKey::empty('tag');
            }
            if (\strlen($tag) > self::LONGEST / 2) {
                throw InvalidKey::tooLong('tag', \strlen($tag), self::LONGEST >> 1);
            }
            $markers['t:' . $this->path . ':' . $tag] = true;
        }

        return \array_keys($markers);
    }

    /** Tags on one entry. An entry could count more, but each read must ask for each tag's marker. */
    private const MOST_TAGS = 1000;

    public static function lease(string $key): string
    {
        return 'l' . \substr($key, 1);
    }

    /** Whether a marker covers an entry, by its space or by one of its tags. */
    public static function marks(string $marker, string $key, Entry $entry): bool
    {
        return $marker[0] === 'f' ? self::covers($marker, $key) : \in_array($marker, $entry->tags, true);
    }

    /** Whether a flush marker covers an entry's key: the key lies in its space or in a group of it. */
    public static function covers(string $flush, string $key): bool
    {
        $path = \substr($flush, 2);

        return $path === '' || \str_starts_with($key, 'e:' . $path . ':') || \str_starts_with($key, 'e:' . $path . '/');
    }
}
