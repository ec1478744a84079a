<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;

/**
 * The keys that a route used last time, so that they come in one read.
 *
 * A route is a method, a host and path with its query, and whether somebody is logged in. A list too many or a key too
 * many costs a little time; nothing depends on it.
 */
final class Prefetch
{
    /** Seconds for which a route that nobody asks for is remembered. */
    private const KEPT = 86_400;

    /** Keys of one route. */
    private const MOST = 1_000;

    /** Bytes of a key that is worth noting, and of a query that still is a route. */
    private const LONGEST = 250;

    /** A list is written again when more than one key in so many was not in it. */
    private const SHARE = 8;

    /** @var array<string, array<string, list<int|string>>> by place (see ObjectCache::place()) and group, as it was read */
    private array $known = [];

    private function __construct(private readonly Cache $own, private readonly string $route) {}

    /** Null where there is no route: on the command line. */
    public static function ofRequest(Cache $own): ?self
    {
        $uri = $_SERVER['REQUEST_URI'] ?? null;
        if (\PHP_SAPI === 'cli' || !\is_string($uri)) {
            return null;
        }
        if (\strlen($uri) > self::LONGEST) {
            $uri = \strstr($uri, '?', true) ?: $uri;
        }
        $method = $_SERVER['REQUEST_METHOD'] ?? '';
        $host = $_SERVER['HTTP_HOST'] ?? '';
        $route = (\is_string($method) ? $method : '') . ' ' . (\is_string($host) ? $host : '') . $uri;
        $action = $_REQUEST['action'] ?? '';
        if (\is_string($action) && $method === 'POST') {
            $route .= ' ' . \substr($action, 0, self::LONGEST);
        }
        foreach ($_COOKIE as $name => $value) {
            if (\str_starts_with((string) $name, 'wordpress_logged_in_')) {
                $route .= ' in';
                break;
            }
        }

        return new self($own, 'route-' . \hash('xxh128', $route));
    }

    /** @return array<string, array<string, list<int|string>>> keys by place and group */
    public function wanted(): array
    {
        $list = $this->own->get($this->route);
        // What a far server returned is signed; a list of another version is none.
        foreach (\is_array($list) ? $list : [] as $place => $groups) {
            foreach (\is_array($groups) ? $groups : [] as $group => $keys) {
                foreach (\is_array($keys) ? $keys : [] as $key) {
                    if (\is_int($key) || \is_string($key)) {
                        $this->known[(string) $place][(string) $group][] = $key;
                    }
                }
            }
        }

        return $this->known;
    }

    /** @param array<string, array<string, list<int|string>>> $used keys by place and group */
    public function save(array $used): void
    {
        $count = $new = 0;
        $list = [];
        foreach ($used as $place => $groups) {
            foreach ($groups as $group => $keys) {
                $known = \array_flip($this->known[$place][$group] ?? []);
                foreach ($keys as $key) {
                    if ($count < self::MOST && \strlen((string) $key) <= self::LONGEST) {
                        $count++;
                        $new += isset($known[$key]) ? 0 : 1;
                        $list[$place][$group][] = $key;
                    }
                }
            }
        }
        if ($new > 0 && $new * self::SHARE >= $count) {
            $this->own->set($this->route, $list, self::KEPT);
        }
    }
}
