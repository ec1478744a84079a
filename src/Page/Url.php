<?php

declare(strict_types=1);

namespace Larder\Page;

/** URLs as people and applications write them, in the form that RequestKey::url() gives a request's. */
final class Url
{
    /** @return ?string null: it is no URL of a page */
    public static function normal(string $url): ?string
    {
        // As browsers do: what may not stand in a URL is percent-encoded.
        $url = (string) \preg_replace_callback('/[^\x21-\x7E]/', static fn(array $byte): string => \rawurlencode($byte[0]), \trim($url));
        if (\preg_match('~^(https?)://([^/?#@]+)(/[^?#]*|(?=[?#]|$))(\?[^#]*)?~i', $url, $part) !== 1) {
            return null;
        }
        $scheme = \strtolower($part[1]);
        $host = \strtolower((string) \preg_replace(['/:0+(?=[0-9]+$)/D', $scheme === 'http' ? '/:80$/D' : '/:443$/D'], [':', ''], $part[2]));

        return "$scheme://$host" . ($part[3] === '' ? '/' : $part[3]) . ($part[4] ?? '');
    }

    /** The URL that a reference means on a page (RFC 3986, section 5.2). */
    public static function resolve(string $reference, string $base): ?string
    {
        $origin = Tags::origin($base);
        $path = \explode('?', \substr($base, \strlen($origin)), 2)[0];
        $reference = \explode('#', $reference, 2)[0];

        return self::normal(match (true) {
            \preg_match('~^[a-z][a-z0-9+.-]*:~i', $reference) === 1 => $reference,
            \str_starts_with($reference, '//') => \strstr($origin, ':', true) . ":$reference",
            \str_starts_with($reference, '/') => $origin . self::withoutDots($reference),
            \str_starts_with($reference, '?') => $origin . $path . $reference,
            $reference === '' => $base,
            default => $origin . self::withoutDots(\substr($path, 0, (int) \strrpos($path, '/') + 1) . $reference),
        });
    }

    /** @param list<string> $ignored parameters */
    public static function without(string $url, array $ignored): string
    {
        [$path, $query] = \explode('?', $url, 2) + [1 => null];

        return $path . ($query === null ? '' : RequestKey::query($query, $ignored));
    }

    private static function withoutDots(string $path): string
    {
        $query = \strstr($path, '?');
        $path = $query === false ? $path : \substr($path, 0, -\strlen($query));
        $parts = [];
        $segments = \explode('/', \substr($path, 1));
        foreach ($segments as $i => $segment) {
            if ($segment === '..') {
                \array_pop($parts);
            }
            if ($segment !== '.' && $segment !== '..') {
                $parts[] = $segment;
            } elseif ($i === \count($segments) - 1) {
                $parts[] = '';
            }
        }

        return '/' . \implode('/', $parts) . $query;
    }
}
