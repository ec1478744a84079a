<?php

declare(strict_types=1);

namespace Larder\Page;

use Larder\Page\Http\HttpDate;
use Larder\Page\Http\NoVarySearch;
use Larder\System\Memory;

/**
 * Makes the stored form of a response: its header without what belongs to one connection, and its body in all the content
 * codings that PHP has here, compressed once.
 *
 * @phpstan-import-type Page from StoredReply
 */
final class ResponseEncoder
{
    private const COMPRESSIBLE = '~^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|javascript|xhtml|rss|atom|manifest|ld)|image/svg|font/(?:ttf|otf))~i';

    /** What stands in a page as a number. */
    private const NUMBERS = ['made', 'age', 'life', 'stale', 'broken', 'status', 'modified', 'date'];

    /** Copies of a page that are in memory while its codings are made, or while a store serializes, writes and reads it. */
    private const COPIES = 6;

    /** Bytes beside them: PHP's allocator takes so many at once. */
    private const SPARE = 2 << 20;

    public const NO_MEMORY = 'PHP has too little memory left to store it (memory_limit)';

    /** A shorter body gains nothing. */
    private const SHORTEST = 256;

    /** Whether PHP has memory left to store a page of so many bytes: without it the application would end with an error. */
    public static function fitsMemory(int $bytes): bool
    {
        return Memory::left() >= self::COPIES * $bytes + self::SPARE;
    }

    /**
     * @param array<string, list<string>> $fields  of the response
     * @param list<string>                $ignored parameters of the query that the owner ignores
     * @param ?list<string>               $vary    set to the names of the fields that it depends on
     *
     * @param-out list<string> $vary
     *
     * @return array{page: Page, body: string}
     */
    public static function page(Reply $response, array $fields, Policy $policy, array $ignored, string $url, ?array &$vary): array
    {
        $vary = Policy::members($fields['vary'] ?? []);
        $isCoded = isset($fields['content-encoding']);
        // Cookies are in the key; what they are not, the owner ignores. The codings are made here, unless the application did.
        $vary = \array_values(\array_diff(\array_unique([...$vary, ...($isCoded ? ['accept-encoding'] : [])]), ['cookie', 'authorization', ...($isCoded ? [] : ['accept-encoding'])]));
        \sort($vary);
        $bodies = ['' => $response->body];
        if (!$isCoded && \strlen($response->body) >= self::SHORTEST && \preg_match(self::COMPRESSIBLE, $fields['content-type'][0] ?? '') === 1
            && !isset(Http\CacheControl::parse(\implode(', ', $fields['cache-control'] ?? []))['no-transform'])) {
            $bodies += self::coded($response->body);
        }
        $kept = $response->kept();
        $lines = Reply::outward($kept);
        $changed = \array_map(Reply::name(...), \array_diff($kept, $lines));
        if (($isCoded || \count($bodies) > 1) && !\in_array('accept-encoding', Policy::members($fields['vary'] ?? []), true)) {
            $lines[] = 'Vary: Accept-Encoding';
        }
        isset($fields['date']) || $lines[] = 'Date: ' . HttpDate::format(\time());
        $named = \array_values(\array_filter($ignored, static fn(string $name): bool => $name[-1] !== '*'));
        if ($named !== [] && !isset($fields['no-vary-search'])) {
            $lines[] = 'No-Vary-Search: ' . NoVarySearch::field($named);
        }
        $asked = \preg_match('~^(?:W/)?"[\x21\x23-\x7E\x80-\xFF]*"$~D', \implode(', ', $fields['etag'] ?? [])) === 1 ? $fields['etag'][0] : '';
        $etag = $asked !== '' || $response->status !== 200 ? $asked : '"' . \substr(\hash('sha256', $response->body), 0, 32) . '"';

        return ['page' => [
            'url' => $url,
            'made' => \time(),
            'age' => $policy->age,
            'life' => $policy->life,
            'stale' => $policy->stale,
            'broken' => $policy->broken,
            'strict' => $policy->strict,
            'status' => $response->status,
            'headers' => $lines,
            'ours' => \array_values(\array_filter($kept, static fn(string $line): bool => \in_array(Reply::name($line), $changed, true))),
            'etag' => $etag,
            'asked' => $asked,
            'modified' => HttpDate::parse($fields['last-modified'][0] ?? '') ?? 0,
            'date' => HttpDate::parse($fields['date'][0] ?? '') ?? \time(),
            'forms' => \array_map(\strlen(...), $bodies),
        ], 'body' => \implode('', $bodies)];
    }

    /**
     * Whether it is a page as page() makes them, and not of the future. Another program, or another version of this one, may
     * have written it.
     *
     * @phpstan-assert-if-true array{page: Page, body: string} $stored
     */
    public static function isWhole(mixed $stored): bool
    {
        $page = \is_array($stored) ? $stored['page'] ?? null : null;
        $body = \is_array($stored) ? $stored['body'] ?? null : null;
        $lines = \is_array($page) && \is_array($page['headers'] ?? null) && \is_array($page['ours'] ?? null) ? [...$page['headers'], ...$page['ours']] : null;
        $forms = \is_array($page) ? $page['forms'] ?? null : null;
        if (!\is_array($page) || !\is_array($lines) || !\is_array($forms) || !\is_string($body)) {
            return false;
        }
        foreach (self::NUMBERS as $name) {
            if (!\is_int($page[$name] ?? null)) {
                return false;
            }
        }
        if (!\is_string($page['url'] ?? null) || !\is_string($page['etag'] ?? null) || !\is_string($page['asked'] ?? null) || !\is_bool($page['strict'] ?? null)) {
            return false;
        }
        foreach ($lines as $line) {
            if (!\is_string($line) || \strpbrk($line, "\r\n\0") !== false || (int) \strpos($line, ':') === 0) {
                return false;
            }
        }
        $length = 0;
        foreach ($forms as $part) {
            if (!\is_int($part) || $part < 0) {
                return false;
            }
            $length += $part;
        }

        return isset($forms['']) && $length === \strlen($body) && $page['status'] >= 200 && $page['status'] < 1_000 && $page['made'] <= \time() + StoredReply::SKEW;
    }

    /** @return array<string, string> by content coding, those that are shorter */
    private static function coded(string $body): array
    {
        $coded = [];
        foreach (StoredReply::CODINGS as $coding) {
            $made = match (true) {
                $coding === 'gzip' => \function_exists('gzencode') ? \gzencode($body, 6) : false,
                $coding === 'br' => \function_exists('brotli_compress') ? \brotli_compress($body, 5) : false,
                default => \function_exists('zstd_compress') ? \zstd_compress($body, 6) : false,
            };
            if (\is_string($made) && \strlen($made) < \strlen($body)) {
                $coded[$coding] = $made;
            }
        }

        return $coded;
    }
}
