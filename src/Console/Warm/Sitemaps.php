<?php

declare(strict_types=1);

namespace Larder\Console\Warm;

use Larder\Console\Page\Visit;
use Larder\Page\Url;
use Larder\System\Quiet;

/** Collects the pages of a sitemap, and of all sitemaps that it lists. */
final class Sitemaps
{
    private const MOST_REDIRECTS = 5;

    /** Sitemaps in one index (sitemaps.org, protocol). */
    private const MOST = 50_000;

    /** @var list<string> what was left out and why, for people */
    public array $complaints = [];

    /** @var array<string, true> in the sitemaps' order */
    private array $pages = [];

    /** @var array<string, true> that were read, or wait in $queue */
    private array $seen = [];

    /** @var list<string> */
    private array $queue = [];

    /** The only host whose pages and sitemaps are wanted; null: any. */
    private ?string $host = null;

    /**
     * @param Visit   $visit   its fields are sent
     * @param ?string $to      host and port that are asked in the place of the URLs'
     * @param float   $timeout seconds for each sitemap
     */
    public function __construct(private readonly Visit $visit, private readonly ?string $to, private readonly float $timeout) {}

    /**
     * @param string           $from      URL, or name of a file
     * @param \Closure(): bool $isStopped asked before each sitemap
     *
     * @return list<string> URLs in normal form, each once
     *
     * @throws NoSitemap the first one cannot be read
     */
    public function pages(string $from, \Closure $isStopped): array
    {
        $isUrl = \preg_match('~^https?://~i', $from) === 1;
        // A site's word counts for its own host; a file is the owner's word.
        $this->host = $isUrl ? self::hostOf($from) : null;
        $this->add(Sitemap::parse($isUrl ? $this->fetch($from) : self::file($from)));
        while ($this->queue !== [] && !$isStopped()) {
            $next = (string) \array_shift($this->queue);
            try {
                $this->add(Sitemap::parse($this->fetch($next)));
            } catch (NoSitemap $none) {
                $this->complaints[] = "$next: " . $none->getMessage();
            }
        }

        return \array_map(\strval(...), \array_keys($this->pages));
    }

    private function add(Sitemap $sitemap): void
    {
        foreach ($sitemap->pages as $url) {
            $page = $this->wanted($url);
            $page === null || $this->pages[$page] = true;
        }
        foreach ($sitemap->sitemaps as $url) {
            $next = $this->wanted($url);
            if ($next !== null && !isset($this->seen[$next]) && \count($this->seen) < self::MOST) {
                $this->seen[$next] = true;
                $this->queue[] = $next;
            }
        }
    }

    private function wanted(string $url): ?string
    {
        $normal = Url::normal($url);
        if ($normal === null || ($this->host !== null && self::hostOf($normal) !== $this->host)) {
            $this->complaints[] = "$url: " . ($normal === null ? 'no URL of a page' : 'another host than the sitemap\'s');

            return null;
        }

        return $normal;
    }

    private function fetch(string $url): string
    {
        for ($i = 0; $i <= self::MOST_REDIRECTS; $i++) {
            $transfer = Transfer::begin($this->visit->to(Url::normal($url) ?? throw new NoSitemap("$url is no URL")), $this->to, true, $this->timeout);
            while (Transfer::advance([$transfer], 0.2) === []);
            if ($transfer->failure !== '') {
                throw new NoSitemap($transfer->failure);
            }
            $location = \in_array($transfer->status, [301, 302, 303, 307, 308], true) ? Url::resolve($transfer->fields['location'] ?? '', $url) : null;
            if ($location === null) {
                return $transfer->status === 200 ? $transfer->body : throw new NoSitemap("status $transfer->status");
            }
            $url = $location;
        }

        throw new NoSitemap('it is redirected more than ' . self::MOST_REDIRECTS . ' times');
    }

    private static function file(string $name): string
    {
        $text = Quiet::call(static fn(): string|false => \file_get_contents($name, length: Sitemap::LONGEST));

        return $text === false ? throw new NoSitemap('this file cannot be read') : $text;
    }

    private static function hostOf(string $url): string
    {
        return (string) \preg_replace('~^\w+://([^/?#:]*).*$~s', '$1', \strtolower($url));
    }
}
