<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\HttpDate;

/**
 * What a request gets of a stored page: whether it takes a page of that age (RFC 9111, section 4), and which form, range or 304
 * of it. Stands alone, as Serve does.
 *
 * @phpstan-type Page array{url: string, made: int, age: int, life: int, stale: int, broken: int, strict: bool, status: int, headers: list<string>, ours: list<string>, etag: string, asked: string, modified: int, date: int, forms: array<string, int>}
 */
final class StoredReply
{
    /** Seconds that the clocks of two servers may differ. A page that is further ahead was made before a clock was set back. */
    public const SKEW = 10;

    /** The content codings, best first: of equally welcome ones the first is taken. */
    public const CODINGS = ['br', 'zstd', 'gzip'];

    /** Fields of a stored response that a 304 repeats (RFC 9110, section 15.4.5). */
    private const OF_NOT_MODIFIED = ['cache-control', 'content-location', 'date', 'expires', 'vary', 'cdn-cache-control', 'cache-tags', 'surrogate-key', 'cache-groups', 'no-vary-search'];

    /**
     * Whether the request takes a stored response of this age without asking the application (RFC 9111, sections 4.2.4 and
     * 5.2.1).
     *
     * @param int  $age    seconds
     * @param int  $life   seconds
     * @param bool $strict never stale
     */
    public static function accepts(int $age, int $life, bool $strict): bool
    {
        $staleness = $age - $life;
        $given = RequestKey::variable('HTTP_CACHE_CONTROL');
        if ($given === null) {
            $pragma = RequestKey::variable('HTTP_PRAGMA');

            return $staleness < 0 && ($pragma === null || \stripos($pragma, 'no-cache') === false);
        }
        foreach (\explode(',', \strtolower($given)) as $directive) {
            [$name, $value] = \explode('=', \trim($directive), 2) + [1 => null];
            $seconds = $value === null ? null : (int) \trim($value, '" ');
            if ($name === 'no-cache' || $name === 'no-store' || ($name === 'max-age' && $age >= $seconds) || ($name === 'min-fresh' && -$staleness < $seconds)) {
                return false;
            }
            if ($name === 'max-stale' && !$strict && ($seconds === null || $staleness < $seconds)) {
                $staleness = -1;
            }
        }

        return $staleness < 0;
    }

    /**
     * What the request gets of a page: all of it or a range, in the form that it takes best, or a 304.
     *
     * @param Page   $page
     * @param string $how  the parameters of Cache-Status (RFC 9211): "hit", or "fwd=stale"
     *
     * @return array{int, list<string>, int, int} the status, the header's lines, and which bytes of all forms are the body:
     *                                            the first one and how many
     */
    public static function reply(array $page, int $age, string $how): array
    {
        $forms = $page['forms'];
        $form = self::form($forms);
        $etag = $page['etag'] === '' ? '' : self::tagOf($page['etag'], $form);
        $lines = $page['headers'];
        $isSame = $page['status'] === 200 && self::isSame($page['etag'], $etag, $page['modified'] ?: $page['date']);
        if ($isSame) {
            $lines = \array_values(\array_filter($lines, static fn(string $line): bool => \in_array(\strtolower(\substr($line, 0, (int) \strpos($line, ':'))), self::OF_NOT_MODIFIED, true)));
        }
        $etag === '' || $lines[] = "ETag: $etag";
        $age < 0 || $lines[] = "Age: $age";
        $lines[] = "Cache-Status: Larder; $how" . ($age < 0 ? '' : '; ttl=' . ($page['life'] - $age));
        if ($isSame) {
            return [304, $lines, 0, 0];
        }
        $from = 0;
        if ($form !== '') {
            $lines[] = "Content-Encoding: $form";
            foreach ($forms as $name => $length) {
                if ($name === $form) {
                    break;
                }
                $from += $length;
            }
        }
        $length = $forms[$form] ?? 0;
        $status = $page['status'];
        $range = $status === 200 ? self::range($length, $etag, $page['modified'] < $page['date'] ? $page['modified'] : 0) : null;
        if ($range === []) {
            // Nothing of the page's own header: it describes the page.
            return [416, ["Content-Range: bytes */$length", 'Content-Length: 0', "Cache-Status: Larder; $how"], 0, 0];
        }
        if ($range !== null) {
            $status = 206;
            $lines = \array_values(\array_filter($lines, static fn(string $line): bool => \stripos($line, 'content-range:') !== 0));
            $lines[] = "Content-Range: bytes $range[0]-$range[1]/$length";
            $from += $range[0];
            $length = $range[1] - $range[0] + 1;
        }
        if ($status !== 204) {
            $lines[] = "Content-Length: $length";
        }

        return [$status, $lines, $from, $length];
    }

    /**
     * The form that the request takes best (RFC 9110, section 12.5.3); '' is the body as it is.
     *
     * @param array<string, int> $forms
     */
    public static function form(array $forms): string
    {
        $given = \count($forms) === 1 ? null : RequestKey::variable('HTTP_ACCEPT_ENCODING');
        if ($given === null) {
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
            if (isset($forms[$coding]) && $weight > 0.0 && ($weight > $most || ($best === '' && $weight === $most))) {
                [$best, $most] = [$coding, $weight];
            }
        }

        return $best;
    }

    /**
     * @param Page $page
     *
     * @return list<string> the entity tags of all its forms
     */
    public static function tags(array $page): array
    {
        return $page['etag'] === '' ? [] : \array_map(static fn(string $form): string => self::tagOf($page['etag'], $form), \array_keys($page['forms']));
    }

    /** A strong entity tag names one sequence of bytes (RFC 9110, section 8.8.3.3), so each form has its own. */
    private static function tagOf(string $etag, string $form): string
    {
        return $form === '' || \str_starts_with($etag, 'W/') ? $etag : \substr($etag, 0, -1) . "-$form\"";
    }

    /**
     * Whether the client has the response already (RFC 9110, section 13.2.2). A tag of another form is that of the same
     * response: weak comparison suffices for a GET (section 13.1.2).
     *
     * @param int $modified Unix time; of a page that does not tell it, its Date (RFC 9111, section 4.3.2)
     */
    private static function isSame(string $etag, string $tagOfForm, int $modified): bool
    {
        $given = RequestKey::variable('HTTP_IF_NONE_MATCH');
        if ($given !== null) {
            if (\trim($given) === '*') {
                return true;
            }
            \preg_match_all('~(?:W/)?("[\x21\x23-\x7E\x80-\xFF]*")~', $given, $tags);
            $weak = static fn(string $tag): string => \str_starts_with($tag, 'W/') ? \substr($tag, 2) : $tag;

            return $etag !== '' && (\in_array($weak($etag), $tags[1], true) || \in_array($weak($tagOfForm), $tags[1], true));
        }
        $given = RequestKey::variable('HTTP_IF_MODIFIED_SINCE');
        $since = $given === null ? null : self::date($given);

        return $since !== null && $modified <= $since;
    }

    private static function date(string $date): ?int
    {
        // Clients send the preferred form, and this is all that they cost.
        if (\preg_match('/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/D', $date) === 1) {
            return \strtotime($date) ?: null;
        }
        \class_exists(HttpDate::class) || require __DIR__ . '/Http/HttpDate.php';

        return HttpDate::parse($date);
    }

    /**
     * The first and the last byte that the request wants; empty: there are no such bytes; null: it gets all
     * (RFC 9110, section 14.2). Several ranges are answered by all.
     *
     * @return array{}|array{int, int}|null
     */
    private static function range(int $length, string $etag, int $modified): ?array
    {
        $given = RequestKey::variable('HTTP_RANGE');
        if ($given === null || \preg_match('/^bytes=(\d{0,15})-(\d{0,15})$/iD', \trim($given), $range) !== 1 || $range[1] . $range[2] === '' || RequestKey::variable('REQUEST_METHOD') !== 'GET') {
            return null;
        }
        $if = RequestKey::variable('HTTP_IF_RANGE');
        if ($if !== null && ($if[0] === '"' ? $if !== $etag : $modified === 0 || self::date($if) !== $modified)) {
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
