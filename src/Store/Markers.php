<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * The keys of flush and tag markers (see Tier\Space), as far as an engine needs them that forgets the oldest ones.
 *
 * Forgetting must not make anything valid again. So an engine that drops a marker notes its position as a floor, one
 * for flushes and one for tags, which only grows; and answers whoever reads a marker that is not there with one made
 * anew at the floor: whatever it had covered lies at or before that.
 */
final class Markers
{
    public const FLUSHES = 'f';
    public const TAGS = 't';

    /** Of an engine's budget the markers, and what else it keeps but records, take one part in so many. */
    public const SHARE = 8;

    public static function is(string $key): bool
    {
        return \str_starts_with($key, 't:') || \str_starts_with($key, 'f:');
    }

    /** What is read in the place of a marker that may have been forgotten. */
    public static function at(int $floor): Record
    {
        return new Record('c', $floor, '');
    }

    /** @return non-empty-list<string> the flush markers that cover a space: its own, and those of the spaces it lies in */
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

    /** @return list<string> the flush markers that make a record of no use, be it an entry or a marker, if it is not newer than they */
    public static function covering(string $key): array
    {
        $sort = \substr($key, 0, 2);
        if ($sort === 'e:' || $sort === 't:') {
            return self::flushes(\substr($key, 2, (int) \strpos($key, ':', 2) - 2));
        }

        return $sort === 'f:' ? \array_slice(self::flushes(\substr($key, 2)), 0, -1) : [];
    }
}
