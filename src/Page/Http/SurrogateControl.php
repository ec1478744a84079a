<?php

declare(strict_types=1);

namespace Larder\Page\Http;

/**
 * Reads Surrogate-Control (Edge Architecture Specification, section 2.3), which applications send to the caches before them
 * since long before RFC 9213. A directive for a named cache follows its name: `max-age=60;larder`.
 */
final class SurrogateControl
{
    /** The name of this cache in Surrogate-Capability and in directives. */
    public const NAME = 'larder';

    /** What a request tells the application about this cache (section 2.2). It processes no pages, so it claims no ESI. */
    public const CAPABILITY = self::NAME . '="Surrogate/1.0"';

    /**
     * The directives for this cache in Cache-Control's words; those that name it count more than those for all.
     *
     * @return ?array<string, string|true> null: nothing for this cache about storing
     */
    public static function parse(string $value): ?array
    {
        $found = [];
        foreach (\explode(',', $value) as $member) {
            [$directive, $target] = \array_map(\trim(...), \explode(';', $member, 2)) + [1 => ''];
            if (($target === '' || $target === self::NAME) && \preg_match('/^(?:(no-store)|(max-age)=(\d+)(?:\+(\d+))?)$/iD', $directive, $part) === 1) {
                $found[$target] ??= [];
                $found[$target] += $part[1] !== '' ? ['no-store' => true] : ['max-age' => $part[3]] + (isset($part[4]) ? ['stale-while-revalidate' => $part[4]] : []);
            }
        }

        return $found[self::NAME] ?? $found[''] ?? null;
    }
}
