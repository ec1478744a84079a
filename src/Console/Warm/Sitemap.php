<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

use Larder\Console\Support\Text;

/** What a sitemap lists (sitemaps.org, protocol): pages, or further sitemaps; XML or a line each, with gzip or not. */
final readonly class Sitemap
{
    /** Bytes, uncompressed: the protocol's own limit. */
    public const LONGEST = 52_428_800;

    private const GZIP = "\x1f\x8b";

    /**
     * @param list<string> $pages    URLs
     * @param list<string> $sitemaps URLs
     */
    private function __construct(public array $pages, public array $sitemaps) {}

    /** @throws NoSitemap */
    public static function parse(string $text): self
    {
        // A file that is compressed may have been compressed once more on its way.
        $text = self::unpacked(self::unpacked($text));
        $text = (string) \preg_replace('/^\xEF\xBB\xBF/', '', $text);
        if (!\str_starts_with(\ltrim($text), '<')) {
            $lines = \array_filter(\array_map(\trim(...), \explode("\n", $text)), static fn(string $line): bool => $line !== '');
            /** @var array<int, string> $wrong */
            $wrong = \preg_grep('~^https?://\S+$~iD', $lines, \PREG_GREP_INVERT) ?: [];
            if ($lines === [] || $wrong !== []) {
                $which = $wrong === [] ? 'it is empty' : 'line ' . (\array_key_first($wrong) + 1) . ' is no URL: "' . Text::line(\reset($wrong), 100) . '"';
                throw new NoSitemap("it is neither XML nor a list of URLs: $which");
            }

            return new self(\array_values($lines), []);
        }
        $text = (string) \preg_replace('/<!--.*?-->/s', '', $text);
        if (\preg_match('~^\s*(?:<\?xml[^>]*>\s*|<\?xml-stylesheet[^>]*>\s*)*<((?:[\w.-]+:)?)(urlset|sitemapindex)[\s>/]~', $text, $root) !== 1) {
            throw new NoSitemap('its root is neither urlset nor sitemapindex');
        }
        if (\preg_match("~(?:</$root[1]$root[2]\s*>|<$root[1]$root[2][^>]*/>)\s*$~D", $text) !== 1) {
            throw new NoSitemap('its end is missing');
        }
        // Other elements' locations (of images, videos) have another prefix.
        \preg_match_all('~<' . \preg_quote($root[1], '~') . 'loc>\s*(<!\[CDATA\[)?(.*?)(?(1)\]\]>)\s*</' . \preg_quote($root[1], '~') . 'loc\s*>~s', $text, $found, \PREG_SET_ORDER);
        $urls = \array_map(static fn(array $loc): string => \trim($loc[1] === '' ? \html_entity_decode($loc[2], \ENT_QUOTES | \ENT_XML1, 'UTF-8') : $loc[2]), $found);

        return $root[2] === 'urlset' ? new self($urls, []) : new self([], $urls);
    }

    private static function unpacked(string $text): string
    {
        if (!\str_starts_with($text, self::GZIP)) {
            return $text;
        }
        if (!\function_exists('gzdecode')) {
            throw new NoSitemap('it is compressed, and this PHP lacks the extension zlib');
        }
        \set_error_handler(static fn(): bool => true);
        try {
            $plain = \gzdecode($text, self::LONGEST);
        } finally {
            \restore_error_handler();
        }

        return $plain === false ? throw new NoSitemap('its gzip is damaged, or longer than ' . self::LONGEST . ' bytes') : $plain;
    }
}
