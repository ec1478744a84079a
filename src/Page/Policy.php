<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\CacheControl;
use Larder\Page\Http\HttpDate;
use Larder\Page\Http\StructuredField;
use Larder\Page\Http\SurrogateControl;

/**
 * What a shared cache may do with a response: whether it may store it, for how long it is fresh, and when it may still be
 * served after that (RFC 9111, sections 3 and 4.2; RFC 5861; RFC 9213; Surrogate-Control). Reads nothing but the response.
 */
final readonly class Policy
{
    /** Fields for caches like this one, the most special first (RFC 9213, section 2.1). */
    private const TARGETED = ['larder-cache-control', 'cdn-cache-control'];

    /** Directives with a number of seconds. */
    private const SECONDS = ['max-age' => 1, 's-maxage' => 1, 'stale-while-revalidate' => 1, 'stale-if-error' => 1];

    /** Directives that forbid to answer others with it. */
    private const FORBIDDING = ['no-store' => 1, 'private' => 1, 'no-cache' => 1];

    /** Final statuses whose meaning for caching this class knows (RFC 9111, section 5.2.2.3). */
    private const UNDERSTOOD = [200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 500, 501, 502, 503, 504];

    /** Statuses that may be kept without an explicit life (RFC 9110, section 15.1). */
    private const HEURISTIC = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501];

    /** By these the web server sends a file, which the application may give to this visitor alone. */
    private const FILES = ['x-accel-redirect', 'x-sendfile', 'x-sendfile2', 'x-sendfile-temporary', 'x-lighttpd-send-file', 'x-lighttpd-send-tempfile', 'x-litespeed-location', 'x-reproxy-url'];

    /** Types of responses that have no end of their own. */
    private const STREAMS = '~^(?:text/event-stream|multipart/x-mixed-replace)(?![^;\s])~i';

    /** A heuristic life is this part of the time since the last change (RFC 9111, section 4.2.2), and a day at most. */
    private const PART = 10;
    private const DAY = 86_400;

    /**
     * Seconds that a page which says nothing about it may be served stale if the application fails: an application that
     * answers with a 5xx counts as one that cannot be reached (RFC 9111, sections 4.2.4 and 4.3.3).
     */
    private const BROKEN = 86_400;

    /**
     * Seconds that a 5xx is kept at the most, whatever it says: often it has the header of the page that the application was
     * about to make. No visitor has to wait longer for the page, and a failing application has a pause.
     */
    private const ERROR = 10;

    /**
     * @param string $reason why it is not stored; '': it is
     * @param int    $life   seconds from its making at which it becomes stale
     * @param int    $age    seconds that it is old already
     * @param int    $stale  seconds that it may be served stale while one request renews it (stale-while-revalidate)
     * @param int    $broken seconds that it may be served stale if the application fails (stale-if-error)
     * @param bool   $strict never served stale, nor to a request that asks for stale (must-revalidate and its like)
     */
    private function __construct(
        public string $reason,
        public int $life = 0,
        public int $age = 0,
        public int $stale = 0,
        public int $broken = 0,
        public bool $strict = false,
    ) {}

    /**
     * @param array<string, list<string>> $fields by name in small letters
     * @param int                         $now    Unix time at which the response was made
     * @param ?int                        $ttl    seconds that a response without a word about it is fresh; null: it is not stored
     * @param int                         $stale  seconds that a response without a word about it may be served stale
     */
    public static function of(int $status, array $fields, int $now, ?int $ttl, int $stale = 0): self
    {
        $directives = self::targeted($fields);
        $isTargeted = $directives !== null;
        $control = \implode(', ', $fields['cache-control'] ?? []);
        $directives ??= CacheControl::parse($control);
        $vary = self::members($fields['vary'] ?? []);
        $understood = \in_array($status, self::UNDERSTOOD, true);
        $reason = match (true) {
            isset($fields['status']) && (int) $fields['status'][0] !== $status => 'Status: the web server may take it for the response\'s',
            $status < 200 || $status === 206 || $status === 304 => "status $status is no whole response",
            isset($directives['must-understand']) && !$understood => "must-understand: status $status is not understood",
            isset($directives['no-store']) && !isset($directives['must-understand']) => 'no-store',
            isset($directives['private']) => 'private',
            !$isTargeted && !CacheControl::isWellFormed($control) => 'Cache-Control is malformed',
            isset($fields['set-cookie']) => 'Set-Cookie',
            // It would take the cookies from everybody who gets the page, as a logout does.
            isset($fields['clear-site-data']) => 'Clear-Site-Data',
            isset($fields['transfer-encoding']) => 'Transfer-Encoding',
            ($file = \array_intersect(self::FILES, \array_keys($fields))) !== [] => \reset($file) . ' is an order to the web server',
            \preg_grep(self::STREAMS, $fields['content-type'] ?? []) !== [] => 'its type is that of a stream',
            \preg_grep('/^attachment(?![^;\s])/i', $fields['content-disposition'] ?? []) !== [] => 'it is a download',
            // Of another unit, or malformed, it means nothing (RFC 9110, section 14.4).
            \preg_grep('/^bytes\s/i', $fields['content-range'] ?? []) !== [] => 'Content-Range: it is a part',
            \in_array('*', $vary, true) => 'Vary: *',
            \preg_grep(CacheControl::TOKEN, $vary, \PREG_GREP_INVERT) !== [] => 'Vary is malformed',
            default => '',
        };
        if ($reason !== '') {
            return new self($reason);
        }
        $age = self::age($fields);
        $life = self::life($status, $fields, $directives, $isTargeted, $now, $ttl);
        if ($life === null) {
            return new self('it says nothing about its life');
        }
        if (isset($directives['no-cache'])) {
            $life = 0;
        }
        $age = \max($age, $now - (HttpDate::parse($fields['date'][0] ?? '') ?? $now));
        $isError = $status >= 500;
        $life = $isError ? \min($life, $age + self::ERROR) : $life;
        // An error that is old is worth nothing: the application fails no worse.
        $strict = $isError || isset($directives['must-revalidate']) || isset($directives['proxy-revalidate']) || isset($directives['s-maxage']) || isset($directives['no-cache']);

        return new self(
            $life > $age || isset($fields['etag']) || isset($fields['last-modified']) ? '' : 'it is stale from the start, and has no validator',
            $life,
            $age,
            $strict ? 0 : CacheControl::seconds($directives, 'stale-while-revalidate') ?? $stale,
            $strict ? 0 : CacheControl::seconds($directives, 'stale-if-error') ?? \max($stale, self::BROKEN),
            $strict,
        );
    }

    /**
     * @param array<string, list<string>> $fields
     * @param array<string, mixed>        $directives
     */
    private static function life(int $status, array $fields, array $directives, bool $isTargeted, int $now, ?int $ttl): ?int
    {
        $life = CacheControl::seconds($directives, 's-maxage') ?? CacheControl::seconds($directives, 'max-age');
        if ($life !== null) {
            return $life;
        }
        if (isset($directives['no-cache'])) {
            return 0;
        }
        $date = HttpDate::parse($fields['date'][0] ?? '') ?? $now;
        if (isset($fields['expires']) && !$isTargeted) {
            // A date that is none means the past (RFC 9111, section 5.3); so do several.
            $expires = \count($fields['expires']) === 1 ? HttpDate::parse($fields['expires'][0]) : null;

            return $expires === null ? 0 : \max(0, $expires - $date);
        }
        if (!\in_array($status, self::HEURISTIC, true) && !isset($directives['public'])) {
            return null;
        }
        if (\stripos(\implode(',', $fields['pragma'] ?? []), 'no-cache') !== false) {
            // Means nothing in a response (RFC 9111, section 5.4), but an application that says it wants no life made up.
            return null;
        }
        $modified = HttpDate::parse($fields['last-modified'][0] ?? '');

        return $modified === null || $modified > $date ? $ttl : \min(self::DAY, \intdiv($date - $modified, self::PART));
    }

    /**
     * The directives of the first targeted field that is there and well-formed; they replace Cache-Control and Expires.
     *
     * @param array<string, list<string>> $fields
     *
     * @return ?array<string, mixed>
     */
    private static function targeted(array $fields): ?array
    {
        foreach (self::TARGETED as $name) {
            $members = isset($fields[$name]) ? StructuredField::dictionary(\implode(', ', $fields[$name])) : null;
            // A string or a word is no number of seconds. What forbids counts all the same.
            $wrong = \array_filter(\array_intersect_key($members ?? [], self::SECONDS), static fn(array $member): bool => !\is_int($member[0]));
            if ($members !== null && $members !== [] && ($wrong === [] || \array_intersect_key($members, self::FORBIDDING) !== [])) {
                return \array_filter(\array_map(static fn(array $member): mixed => $member[0], $members), static fn(mixed $value): bool => $value !== false);
            }
        }

        return isset($fields['surrogate-control']) ? SurrogateControl::parse(\implode(', ', $fields['surrogate-control'])) : null;
    }

    /**
     * The seconds of Age: of several the first, and none if that is no number (RFC 9111, section 5.1).
     *
     * @param array<string, list<string>> $fields
     */
    private static function age(array $fields): int
    {
        return CacheControl::seconds(['age' => \trim(\explode(',', $fields['age'][0] ?? '')[0])], 'age') ?? 0;
    }

    /**
     * @param list<string> $lines of a field that is a list
     *
     * @return list<string> in small letters
     */
    public static function members(array $lines): array
    {
        return \array_values(\array_filter(\array_map(static fn(string $member): string => \strtolower(\trim($member)), \explode(',', \implode(',', $lines))), static fn(string $member): bool => $member !== ''));
    }
}
