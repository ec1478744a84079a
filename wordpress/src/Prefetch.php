<?php

declare(strict_types=1);

// phpcs:disable WordPress.WP.AlternativeFunctions -- at the beginning and the end of any request, when WordPress is not loaded, or not any more

namespace Larder\WordPress;

use Larder\System\Ownership;

/**
 * The keys that a route used last time, so that they come in one read.
 *
 * A route is a method, a host and path with its query, and whether a user is logged in. Its list is a file of this
 * server, as JSON: from the cache itself it would be a round trip of its own. A list too many or a key too many costs a
 * little time; nothing depends on it.
 */
final class Prefetch
{
    /** Lists of one site: beyond that half of them go. */
    private const LISTS = 2_000;

    /** How often that is looked at: at one list in so many that are written. */
    private const LOOK = 64;

    /** Keys of one route. */
    private const MOST = 1_000;

    /** Bytes of a key that is worth noting, and of a query that still is a route. */
    private const LONGEST = 250;

    /** A list is written again when more than one key in so many was not in it; and for less at one request in so many. */
    private const SHARE = 8;

    /** @var array<string, array<string, list<int|string>>> by place (see ObjectCache::place()) and group, as it was read */
    private array $known = [];

    private function __construct(private readonly string $directory, private readonly string $name) {}

    /**
     * Null where there is no route, on the command line, or no place for lists.
     *
     * @param ?string $local see Larder\Cache::local()
     */
    public static function ofRequest(?string $local): ?self
    {
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- only a hash is made of it, before WordPress is loaded
        $uri = $_SERVER['REQUEST_URI'] ?? null;
        if (\PHP_SAPI === 'cli' || $local === null || !\is_string($uri)) {
            return null;
        }
        if (\strlen($uri) > self::LONGEST) {
            $uri = \strstr($uri, '?', true) ?: $uri;
        }
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- only a hash is made of it
        $method = $_SERVER['REQUEST_METHOD'] ?? '';
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- only a hash is made of it
        $host = $_SERVER['HTTP_HOST'] ?? '';
        $route = (\is_string($method) ? $method : '') . ' ' . (\is_string($host) ? $host : '') . $uri;
        // phpcs:ignore WordPress.Security.NonceVerification, WordPress.Security.ValidatedSanitizedInput -- only a hash is made of it
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

        return new self($local . '-routes', \hash('xxh128', $route));
    }

    /** @return array<string, array<string, list<int|string>>> keys by place and group */
    public function wanted(): array
    {
        $file = $this->directory . '/' . $this->name;
        $text = Ownership::status($file) === null ? false : Quietly::call(static fn(): string|false => \file_get_contents($file, length: 2 * self::MOST * self::LONGEST));
        $list = \is_string($text) ? \json_decode($text, true) : null;
        foreach (\is_array($list) ? $list : [] as $place => $groups) {
            foreach (\is_array($groups) ? $groups : [] as $group => $keys) {
                foreach (\is_array($keys) ? $keys : [] as $key) {
                    if ((\is_int($key) || \is_string($key)) && $key !== '') {
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
                    // JSON is UTF-8.
                    if ($count < self::MOST && \strlen((string) $key) <= self::LONGEST && \preg_match('//u', $group . $key) === 1) {
                        $count++;
                        $new += isset($known[$key]) ? 0 : 1;
                        $list[$place][$group][] = $key;
                    }
                }
            }
        }
        if ($new > 0 && ($new * self::SHARE >= $count || \random_int(1, self::SHARE) === 1)) {
            Quietly::call(fn() => $this->write((string) \json_encode($list, \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE)));
        }
    }

    private function write(string $list): void
    {
        if ((!\is_dir($this->directory) && !\mkdir($this->directory, 0o700)) || Ownership::isForeign($this->directory)) {
            return;
        }
        $new = $this->directory . '/new-' . \bin2hex(\random_bytes(6));
        if (\file_put_contents($new, $list) !== \strlen($list) || !\chmod($new, 0o600) || !\rename($new, $this->directory . '/' . $this->name)) {
            \unlink($new);
        }
        if (\random_int(1, self::LOOK) === 1) {
            $this->clean();
        }
    }

    private function clean(): void
    {
        $names = \array_diff(\scandir($this->directory, \SCANDIR_SORT_NONE) ?: [], ['.', '..']);
        if (\count($names) > self::LISTS) {
            \shuffle($names);
            foreach (\array_slice($names, 0, \intdiv(\count($names), 2)) as $name) {
                \unlink($this->directory . '/' . $name);
            }
        }
    }
}
