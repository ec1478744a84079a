<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * Answers a request from what is stored, before the application, its autoloader and Larder's other classes are loaded.
 *
 * This folder holds the page cache in two halves. This class alone is Serving: it decides whether a stored page answers a
 * request (RFC 9111, section 4) and sends it. Everything else is Recording: what may be stored and how long, variants,
 * purging, waiting for a builder. Recording writes pages in the form that this class reads, and asks it for a request's key.
 *
 * A page is valid as long as the purge counter, a file whose size only grows, has the size that was noted before the
 * application made the page. An odd size says that somebody is purging now. In both other cases this class answers
 * nothing, and Recording asks the journal.
 *
 * It never names $_SERVER: that makes PHP fill the array, which takes longer than the rest of a hit. The web server's
 * variables are read one by one instead (sapi_getenv(), php-src, main/SAPI.c).
 *
 * @phpstan-type Page array{key: string, counter: int, made: int, age: int, life: int, status: int, headers: list<string>, etag: string, modified: int, vary: list<string>, strict: bool, forms: array<string, int>}
 * @phpstan-type Settings array{store: string, counter: string, private: list<string>, ignored: list<string>, varyCookies: list<string>, ignoredQuery: list<string>, obey: bool}
 */
final class Serve
{
    /** Longer targets are not looked for: an attacker's, or an application's that nobody asks for again. */
    private const LONGEST = 2_048;

    /** Of the content codings, the one that is chosen among equally welcome ones first. */
    public const CODINGS = ['br', 'zstd', 'gzip'];

    /** Fields of a stored response that a 304 repeats (RFC 9110, section 15.4.5). */
    private const OF_NOT_MODIFIED = ['cache-control', 'content-location', 'date', 'etag', 'expires', 'vary', 'set-cookie', 'cache-tags', 'surrogate-key', 'cache-groups'];

    /**
     * @param Settings $settings
     *
     * @return bool whether the response was sent; the caller exits then
     */
    public static function answer(array $settings): bool
    {
        $method = \getenv('REQUEST_METHOD');
        if (($method !== 'GET' && $method !== 'HEAD') || \getenv('HTTP_AUTHORIZATION') !== false) {
            return false;
        }
        $key = self::key($settings);
        if ($key === null) {
            return false;
        }
        $page = self::read($settings, \hash('sha256', $key), $body);
        if ($page !== null && $page['vary'] !== []) {
            $key .= "\n" . self::variant($page['vary']);
            $page = self::read($settings, \hash('sha256', $key), $body);
        }
        if ($page === null || $page['key'] !== $key) {
            return false;
        }
        \clearstatcache();
        $size = \filesize($settings['counter']);
        $now = \time();
        $age = $page['age'] + \max(0, $now - $page['made']);
        if ($size !== $page['counter'] || ($size & 1) === 1 || $age >= $page['life'] || ($settings['obey'] && !self::accepts($age, $page['life']))) {
            return false;
        }

        return self::send($page, $body, $age, $method === 'HEAD', 'hit');
    }

    /**
     * The key of the request: what a response without Vary could depend on. Null: no stored response answers it.
     *
     * @param Settings $settings
     */
    public static function key(array $settings): ?string
    {
        $host = \getenv('HTTP_HOST');
        $target = \getenv('REQUEST_URI');
        if (!\is_string($host) || !\is_string($target) || \strlen($target) > self::LONGEST
            || \preg_match('/^[a-z0-9](?:[a-z0-9.-]{0,252}[a-z0-9])?(?::[0-9]{1,5})?$/iD', $host) !== 1
            || \preg_match('~^/[\x21\x22\x24-\x7E]*$~D', $target) !== 1) {
            return null;
        }
        $cookies = self::cookies($settings);
        if ($cookies === null) {
            return null;
        }
        $https = \getenv('HTTPS');
        [$path, $query] = \explode('?', $target, 2) + [1 => null];

        // Web servers leave the port out of HTTP_HOST where they do not trust it (Debian's nginx, fastcgi_params).
        $port = \str_contains($host, ':') ? '' : ':' . \getenv('SERVER_PORT');

        return ($https === false || $https === '' || \strcasecmp($https, 'off') === 0 ? 'http://' : 'https://') . \strtolower($host) . $port . $path
            . ($query === null ? '' : self::query($query, $settings['ignoredQuery'])) . $cookies;
    }

    /**
     * The part of the key that varyCookies make; '' without one of them. Null: there is a cookie that nobody knows, so the
     * page may be private.
     *
     * @param Settings $settings
     */
    private static function cookies(array $settings): ?string
    {
        $given = \getenv('HTTP_COOKIE');
        if (!\is_string($given) || $given === '') {
            return '';
        }
        $vary = [];
        foreach (\explode(';', $given) as $pair) {
            [$name, $value] = \explode('=', \trim($pair), 2) + [1 => ''];
            if ($name === '' || self::matches($name, $settings['ignored'])) {
                continue;
            }
            if (!self::matches($name, $settings['varyCookies'])) {
                return null;
            }
            $vary[] = "$name=$value";
        }
        \sort($vary);

        return $vary === [] ? '' : "\ncookies " . \implode('; ', $vary);
    }

    /**
     * Takes parameters that the owner ignores out of a query. What is left keeps its order and its bytes: the application may
     * see a difference in both.
     *
     * @param list<string> $ignored
     */
    private static function query(string $query, array $ignored): string
    {
        if ($ignored === []) {
            return "?$query";
        }
        $left = [];
        foreach (\explode('&', $query) as $part) {
            // A name in another spelling (%75tm_source, utm_source[]) is not taken out: it only costs an entry.
            self::matches(\explode('=', $part, 2)[0], $ignored) || $left[] = $part;
        }

        return $left === [] ? '' : '?' . \implode('&', $left);
    }

    /** @param list<string> $patterns names; a * at the end stands for anything */
    private static function matches(string $name, array $patterns): bool
    {
        foreach ($patterns as $pattern) {
            if ($pattern === $name || (\str_ends_with($pattern, '*') && \str_starts_with($name, \substr($pattern, 0, -1)))) {
                return true;
            }
        }

        return false;
    }

    /**
     * What tells variants of one URL apart (RFC 9111, section 4.1): fields that are the same but for their spaces are the same.
     *
     * @param list<string> $fields names in small letters
     */
    public static function variant(array $fields): string
    {
        $values = [];
        foreach ($fields as $field) {
            $value = \getenv('HTTP_' . \strtoupper(\strtr($field, '-', '_')));
            $values[] = $field . ':' . (\is_string($value) ? (string) \preg_replace('/\s*,\s*/', ',', \trim($value)) : "\0");
        }

        return \implode("\n", $values);
    }

    /** Whether the request takes a stored response of this age without asking the application (RFC 9111, section 5.2.1). */
    private static function accepts(int $age, int $life): bool
    {
        $given = \getenv('HTTP_CACHE_CONTROL');
        if (!\is_string($given)) {
            $pragma = \getenv('HTTP_PRAGMA');

            return !\is_string($pragma) || \stripos($pragma, 'no-cache') === false;
        }
        foreach (\explode(',', \strtolower($given)) as $directive) {
            [$name, $value] = \explode('=', \trim($directive), 2) + [1 => ''];
            $seconds = (int) \trim($value, '"');
            if ($name === 'no-cache' || $name === 'no-store' || ($name === 'max-age' && $age >= $seconds) || ($name === 'min-fresh' && $life - $age < $seconds)) {
                return false;
            }
        }

        return true;
    }

    /**
     * @param Settings $settings
     * @param-out resource|string|null $body
     *
     * @return ?Page
     */
    private static function read(array $settings, string $hash, mixed &$body): ?array
    {
        $body = null;
        if ($settings['store'] === 'apcu') {
            $found = \apcu_fetch($settings['prefix'] . $hash);
            if (!\is_array($found)) {
                return null;
            }
            $body = $found[1];

            return $found[0];
        }
        $file = @\fopen($settings['store'] . '/' . \substr($hash, 0, 2) . '/' . $hash, 'rb');
        if ($file === false) {
            return null;
        }
        $page = \json_decode((string) \fgets($file), true);
        if (!\is_array($page) || !isset($page['forms'])) {
            return null;
        }
        $body = $file;

        return $page;
    }

    /**
     * Sends a stored response, or what a conditional or range request gets of it.
     *
     * @param Page            $page
     * @param resource|string $body all forms, one after the other
     * @param string          $how  a parameter of Cache-Status (RFC 9211): "hit", or "fwd=stale"
     */
    public static function send(array $page, mixed $body, int $age, bool $headOnly, string $how): bool
    {
        $form = self::form($page['forms']);
        $etag = $page['etag'] === '' ? '' : self::tagOf($page['etag'], $form);
        $isSame = self::isSame($etag, $page['modified']);
        foreach ($page['headers'] as $line) {
            if (!$isSame || \in_array(\strtolower(\substr($line, 0, (int) \strpos($line, ':'))), self::OF_NOT_MODIFIED, true)) {
                \header($line, false);
            }
        }
        $etag === '' || \header("ETag: $etag");
        \header("Age: $age");
        \header("Cache-Status: Larder; $how; ttl=" . ($page['life'] - $age));
        if ($isSame) {
            \http_response_code(304);

            return true;
        }
        \http_response_code($page['status']);
        $form === '' || \header("Content-Encoding: $form");
        $from = 0;
        foreach ($page['forms'] as $name => $length) {
            if ($name === $form) {
                break;
            }
            $from += $length;
        }
        $length = $page['forms'][$form];
        $range = $form === '' && $page['status'] === 200 ? self::range($length, $etag, $page['modified']) : null;
        if ($range === []) {
            \http_response_code(416);
            \header("Content-Range: bytes */$length");
            \header('Content-Length: 0');

            return true;
        }
        if ($range !== null) {
            \http_response_code(206);
            \header("Content-Range: bytes $range[0]-$range[1]/$length");
            $from += $range[0];
            $length = $range[1] - $range[0] + 1;
        }
        \header("Content-Length: $length");
        if ($headOnly) {
            return true;
        }
        if (\is_string($body)) {
            echo $from === 0 && $length === \strlen($body) ? $body : \substr($body, $from, $length);

            return true;
        }
        // The file's first line is the page's head, and its place is where that ended.
        $start = (int) \ftell($body) + $from;
        if ($range === null && $start + $length === (int) (\fstat($body)['size'] ?? 0)) {
            \fseek($body, $start);
            \fpassthru($body);
        } else {
            echo \stream_get_contents($body, $length, $start);
        }

        return true;
    }

    /**
     * The form that the request takes best (RFC 9110, section 12.5.3); '' is the body as it is.
     *
     * @param array<string, int> $forms
     */
    private static function form(array $forms): string
    {
        $given = \getenv('HTTP_ACCEPT_ENCODING');
        if (!\is_string($given) || \count($forms) === 1) {
            return '';
        }
        $weights = [];
        foreach (\explode(',', \strtolower($given)) as $part) {
            $part = \explode(';', $part);
            $weight = 1.0;
            foreach (\array_slice($part, 1) as $parameter) {
                [$name, $value] = \explode('=', \trim($parameter), 2) + [1 => ''];
                if ($name === 'q') {
                    $weight = \is_numeric($value) ? (float) $value : 0.0;
                }
            }
            $weights[\trim($part[0])] = $weight;
        }
        $best = '';
        // Without a word about it, the body as it is may always be sent.
        $most = $weights['identity'] ?? 0.0;
        foreach (self::CODINGS as $coding) {
            $weight = $weights[$coding] ?? $weights['*'] ?? 0.0;
            if (isset($forms[$coding]) && $weight > 0.0 && $weight > $most) {
                [$best, $most] = [$coding, $weight];
            }
        }

        return $best;
    }

    /** A strong entity tag names one sequence of bytes (RFC 9110, section 8.8.3.3), so each form has its own. */
    private static function tagOf(string $etag, string $form): string
    {
        return $form === '' || \str_starts_with($etag, 'W/') ? $etag : \substr($etag, 0, -1) . "-$form\"";
    }

    /** Whether the client has the response already (RFC 9110, section 13.2.2). */
    private static function isSame(string $etag, int $modified): bool
    {
        $given = \getenv('HTTP_IF_NONE_MATCH');
        if (\is_string($given)) {
            if (\trim($given) === '*') {
                return true;
            }
            \preg_match_all('~(?:W/)?("[\x21\x23-\x7E\x80-\xFF]*")~', $given, $tags);

            return $etag !== '' && \in_array(\preg_replace('~^W/~', '', $etag), $tags[1], true);
        }
        $given = \getenv('HTTP_IF_MODIFIED_SINCE');

        return \is_string($given) && $modified !== 0 && ($since = \strtotime($given)) !== false && $modified <= $since;
    }

    /**
     * The first and the last byte that the request wants; empty: there are no such bytes; null: it wants all
     * (RFC 9110, section 14.2). Several ranges are answered by all.
     *
     * @return array{}|array{int, int}|null
     */
    private static function range(int $length, string $etag, int $modified): ?array
    {
        $given = \getenv('HTTP_RANGE');
        if (!\is_string($given) || \preg_match('/^bytes=(\d*)-(\d*)$/iD', \trim($given), $range) !== 1 || $range[1] . $range[2] === '') {
            return null;
        }
        $if = \getenv('HTTP_IF_RANGE');
        if (\is_string($if) && ($if === '' || ($if[0] === '"' ? $if !== $etag : $modified === 0 || \strtotime($if) !== $modified))) {
            return null;
        }
        if ($range[1] === '') {
            return (int) $range[2] === 0 || $length === 0 ? [] : [\max(0, $length - (int) $range[2]), $length - 1];
        }
        $first = (int) $range[1];
        $last = $range[2] === '' ? $length - 1 : \min($length - 1, (int) $range[2]);
        if ($range[2] !== '' && (int) $range[2] < $first) {
            return null;
        }

        return $first >= $length ? [] : [$first, $last];
    }
}
