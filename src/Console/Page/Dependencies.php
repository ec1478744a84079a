<?php

declare(strict_types=1);

namespace Larder\Console\Page;

/** What a stored page depends on besides its URL, in words. */
final class Dependencies
{
    /**
     * @param string $name of the page: its URL, and in further lines what Serve and NoVarySearch add to a key
     *
     * @return list<string>
     */
    public static function words(string $name): array
    {
        return \array_map(static fn(string $line): string => match (true) {
            \str_starts_with($line, 'cookies ') => 'Cookie: ' . \substr($line, 8),
            \str_starts_with($line, 'SERVER ') => 'the web server\'s port and name: ' . \substr($line, 7),
            \str_starts_with($line, 'search ') => 'any query that is the same by the page\'s No-Vary-Search',
            \preg_match('/^HTTP_([A-Z_]+) (.*)$/sD', $line, $part) === 1 => \ucwords(\strtolower(\strtr($part[1], '_', '-')), '-') . ': ' . $part[2],
            \str_ends_with($line, ":\0") => 'no ' . \ucwords(\substr($line, 0, -2), '-'),
            default => \ucwords(\explode(':', $line, 2)[0], '-') . ': ' . (\explode(':', $line, 2)[1] ?? ''),
        }, \array_slice(\explode("\n", $name), 1));
    }

    /** The page's URL, as it stands in its name. */
    public static function url(string $name): string
    {
        return \explode("\n", $name, 2)[0];
    }
}
