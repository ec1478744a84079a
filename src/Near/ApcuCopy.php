<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Entry;

/**
 * The format of a copy in APCu. It takes the form that is fastest to read:
 *
 *     s | position 8 | string       a plain string: PHP compares the position in place before it copies a byte
 *     [position, string]            a long plain string, whose second copy this saves: at 20 kB a read takes a tenth of a
 *                                   microsecond instead of half a microsecond
 *     e | position 8 | body         anything else: see Entry::body()
 *     position                      a marker
 */
final class ApcuCopy
{
    /** Bytes from which a string is stored in an array, so that a read copies it once. */
    private const LONG = 2048;

    /** Where the string or body begins. */
    public const BODY = 9;

    /** @return string|array{int, string} */
    public static function of(Entry $entry, int $position): string|array
    {
        $isPlain = $entry->tags === [] && $entry->payload[0] === "\0" && $entry->until() === 0;

        return match (true) {
            !$isPlain => 'e' . \pack('J', $position) . $entry->body(),
            \strlen($entry->payload) > self::LONG => [$position, \substr($entry->payload, 1)],
            default => 's' . \pack('J', $position) . \substr($entry->payload, 1),
        };
    }

    /**
     * Decodes what APCu holds for a key.
     *
     * @return array{Entry, int}|null with the position of the copy; null: no copy
     */
    public static function parse(mixed $raw): ?array
    {
        if (\is_string($raw) && \strlen($raw) > 8) {
            /** @var array{1: int} $position */
            $position = \unpack('J', $raw, 1);
            if ($raw[0] === 's') {
                return [new Entry("\0" . \substr($raw, 9), 0), $position[1]];
            }
            $entry = Entry::fromBody(\substr($raw, self::BODY));

            return $entry === null ? null : [$entry, $position[1]];
        }
        if (\is_array($raw) && \count($raw) === 2 && \is_int($raw[0]) && \is_string($raw[1])) {
            return [new Entry("\0" . $raw[1], 0), $raw[0]];
        }

        return null;
    }

    /** Position of a copy or marker, as APCu holds it; -1: none. */
    public static function position(mixed $raw): int
    {
        if (\is_string($raw) && \strlen($raw) > 8) {
            /** @var array{1: int} $position */
            $position = \unpack('J', $raw, 1);

            return $position[1];
        }
        if (\is_array($raw)) {
            return \is_int($raw[0] ?? null) ? $raw[0] : -1;
        }

        return \is_int($raw) ? $raw : -1;
    }
}
