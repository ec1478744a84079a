<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/**
 * Parses Cache-Control (RFC 9111, section 5.2), whose grammar is older than structured fields and laxer: names in any case,
 * values as tokens or in quotes, empty members.
 */
final class CacheControl
{
    /** The name of a field or of a directive (RFC 9110, section 5.6.2). */
    public const TOKEN = '/^' . self::CHARACTERS . '$/D';

    private const CHARACTERS = '[!#$%&\'*+.^_`|~0-9A-Za-z-]++';

    /** A directive, or nothing: a list may have empty members (RFC 9110, section 5.6.1.2). */
    private const MEMBER = '[ \t]*+(?:' . self::CHARACTERS . '(?:=(?:' . self::CHARACTERS . '|"(?:[^"\\\\]|\\\\.)*+"))?[ \t]*+)?';

    /** Whether it is a list of directives. Where it is not, what its author meant is not known: a comma may be missing before "private". */
    public static function isWellFormed(string $value): bool
    {
        return \preg_match('/^' . self::MEMBER . '(?:,' . self::MEMBER . ')*+$/D', $value) === 1;
    }

    /**
     * @return array<string, string|true> value by name in small letters; of a directive that comes twice the first one counts
     *                                    (section 4.2.1). An argument that a directive needs and lacks is ''
     */
    public static function parse(string $value): array
    {
        \preg_match_all('/(' . self::CHARACTERS . ')(?:=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\s,;"]*)))?[^,;]*/', $value, $found, \PREG_SET_ORDER | \PREG_UNMATCHED_AS_NULL);
        $directives = [];
        foreach ($found as [, $name, $quoted, $token]) {
            $directives[\strtolower((string) $name)] ??= $quoted !== null ? (string) \preg_replace('/\\\\(.)/', '$1', $quoted) : $token ?? true;
        }

        return $directives;
    }

    /**
     * Seconds of a directive; null: it is absent. A value that is no number counts as 0, which is the safe side (section 4.2.1);
     * a greater one than 2^31 as that (section 1.2.2).
     *
     * @param array<string, mixed> $directives
     */
    public static function seconds(array $directives, string $name): ?int
    {
        if (!isset($directives[$name])) {
            return null;
        }
        $value = $directives[$name];
        if (\is_int($value)) {
            return \max(0, \min($value, 0x7FFFFFFF));
        }

        return \is_string($value) && \preg_match('/^\d+$/D', $value) === 1 ? (int) \min((float) $value, 0x7FFFFFFF) : 0;
    }
}
