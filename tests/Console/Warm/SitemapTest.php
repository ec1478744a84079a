<?php

declare(strict_types=1);

namespace Larder\Tests\Console\Warm;

use Larder\Console\Warm\NoSitemap;
use Larder\Console\Warm\Sitemap;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

#[CoversClass(Sitemap::class)]
final class SitemapTest extends TestCase
{
    private const BEGIN = '<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">';

    /** @return iterable<string, array{string, list<string>}> text and pages */
    public static function texts(): iterable
    {
        $one = self::BEGIN . '<url><loc>https://a.example/</loc><lastmod>2026-01-01</lastmod></url></urlset>';
        yield 'one' => [$one, ['https://a.example/']];
        yield 'with a byte order mark' => ["\xEF\xBB\xBF$one", ['https://a.example/']];
        yield 'packed' => [(string) \gzencode($one), ['https://a.example/']];
        yield 'packed twice' => [(string) \gzencode((string) \gzencode($one)), ['https://a.example/']];
        yield 'none' => [self::BEGIN . '</urlset>', []];
        yield 'empty element' => ['<urlset/>', []];
        yield 'entities, white space' => [self::BEGIN . "<url>\n <loc>\n https://a.example/?a=1&amp;b=&#x27;2&apos; \n</loc></url></urlset>\n", ['https://a.example/?a=1&b=\'2\'']];
        yield 'CDATA' => [self::BEGIN . '<url><loc><![CDATA[https://a.example/?a=1&b=2]]></loc></url></urlset>', ['https://a.example/?a=1&b=2']];
        yield 'comments' => [self::BEGIN . '<!-- <url><loc>https://a.example/no</loc></url> --><url><loc>https://a.example/</loc></url></urlset><!-- made by x -->', ['https://a.example/']];
        yield 'images' => [self::BEGIN . '<url><loc>https://a.example/</loc><image:image><image:loc>https://a.example/i.png</image:loc></image:image></url></urlset>', ['https://a.example/']];
        yield 'a prefix' => ['<s:urlset xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"><s:url><s:loc>https://a.example/</s:loc></s:url></s:urlset>', ['https://a.example/']];
        yield 'a stylesheet' => ['<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="x.xsl"?><urlset><url><loc>https://a.example/</loc></url></urlset>', ['https://a.example/']];
        yield 'lines' => ["https://a.example/\r\nhttps://a.example/b\n\n", ['https://a.example/', 'https://a.example/b']];
    }

    /** @param list<string> $pages */
    #[DataProvider('texts')]
    public function testItListsPages(string $text, array $pages): void
    {
        $map = Sitemap::parse($text);

        self::assertSame([$pages, []], [$map->pages, $map->sitemaps]);
    }

    public function testAnIndexListsSitemaps(): void
    {
        $map = Sitemap::parse('<sitemapindex><sitemap><loc>https://a.example/1.xml.gz</loc></sitemap><sitemap><loc>https://a.example/2.xml</loc></sitemap></sitemapindex>');

        self::assertSame([[], ['https://a.example/1.xml.gz', 'https://a.example/2.xml']], [$map->pages, $map->sitemaps]);
    }

    /** @return iterable<string, array{string}> */
    public static function others(): iterable
    {
        yield 'nothing' => [''];
        yield 'a page' => ['<!doctype html><title>Not found</title>'];
        yield 'a feed' => ['<?xml version="1.0"?><rss><channel></channel></rss>'];
        yield 'words' => ["https://a.example/\nand more"];
        yield 'cut' => [self::BEGIN . '<url><loc>https://a.example/</loc></url>'];
        yield 'damaged gzip' => [\substr((string) \gzencode('<urlset/>'), 0, 12)];
    }

    #[DataProvider('others')]
    public function testAnythingElseIsNone(string $text): void
    {
        $this->expectException(NoSitemap::class);
        Sitemap::parse($text);
    }

    public function testItNamesTheLineOfAListThatIsNoUrl(): void
    {
        $this->expectException(NoSitemap::class);
        $this->expectExceptionMessage('line 4 is no URL: "www.a.example/b"');
        Sitemap::parse("https://a.example/\n\nhttps://a.example/a\r\nwww.a.example/b\nc\n");
    }
}
