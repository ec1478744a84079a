<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * What an engine that forgets old markers must know of the keys of flush and tag markers (see Request\Space).
 *
 * Forgetting a marker must not make an entry valid again. So an engine that forgets one raises a floor to its position:
 * there is one floor for flushes and one for tags. When a reader asks for a missing marker, the engine answers with a
 * marker at the floor. Every entry that the forgotten marker covered lies at or before it.
 */
final class Markers
{
    public const FLUSHES = 'f';
    public const TAGS = 't';

    /** Markers, and everything else that is no entry, may take one part in this many of an engine's budget. */
    public const SHARE = 8;

    public static function is(string $key): bool
    {
        return ($key[1] ?? '') === ':' && ($key[0] === self::TAGS || $key[0] === self::FLUSHES);
    }

    /** The record that a reader gets in place of a missing marker, which the engine may have forgotten. */
    public static function at(int $floor): Record
    {
        return new Record('c', $floor, '');
    }

    /** @return non-empty-list<string> the flush markers that cover a space: its own, and those of the spaces around it */
    public static function flushes(string $path): array
    {
        $flushes = ['f:'];
        $above = '';
        foreach ($path === '' ? [] : \explode('/', $path) as $name) {
            $above = $above === '' ? $name : $above . '/' . $name;
            $flushes[] = 'f:' . $above;
        }

        return $flushes;
    }

    /** @return list<string> the flush markers that cover this key's record, an entry or a marker: if one is at or after its position, the record is useless */
    public static function covering(string $key): array
    {
        $sort = \substr($key, 0, 2);
        if ($sort === 'e:' || $sort === 't:') {
            return self::flushes(\substr($key, 2, (int) \strpos($key, ':', 2) - 2));
        }

        return $sort === 'f:' ? \array_slice(self::flushes(\substr($key, 2)), 0, -1) : [];
    }
}
