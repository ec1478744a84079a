<?php

declare(strict_types=1);

namespace Larder\Lab\Payload;

/**
 * The news of WordPress's dashboard as it lies in the cache: not the page, but all that SimplePie parsed of the feed.
 *
 * WP_Feed_Cache_Transient::save() stores SimplePie's property $data as it is: trees of arrays, five keys to each
 * element ("data", "attribs", "xml_base", "xml_base_explicit", "xml_lang") and "child" where it has any, by name
 * space, name and number (SimplePie/Parser.php). Recent versions of WordPress keep the answer's headers in an object of
 * theirs; here they are an array, for the lab does not have their class.
 */
final readonly class WordPressFeed
{
    private const ATOM = 'http://www.w3.org/2005/Atom';
    private const CONTENT = 'http://purl.org/rss/1.0/modules/content/';
    private const DUBLIN_CORE = 'http://purl.org/dc/elements/1.1/';
    private const SYNDICATION = 'http://purl.org/rss/1.0/modules/syndication/';
    private const ADDITIONS = 'com-wordpress:feed-additions:1';

    /** SIMPLEPIE_TYPE_RSS_20 */
    private const RSS_20 = 128;

    private const ITEMS = 30;

    public function __construct(private Prose $prose) {}

    /** @return array{child: array<string, mixed>, type: int, headers: array<string, string>, build: string} */
    public function data(): array
    {
        $items = [];
        for ($i = 0; $i < self::ITEMS; ++$i) {
            $items[] = $this->item(WordPressCorpus::NOW - $i * 37_000, 18_900 - $i * 7);
        }
        $channel = self::element("\n" . \str_repeat("\t\n", 9), [], [
            '' => [
                'title' => [self::element('WordPress News')],
                'link' => [self::element('https://news.example.org')],
                'description' => [self::element($this->prose->sentence())],
                'lastBuildDate' => [self::element(\gmdate(\DATE_RSS, WordPressCorpus::NOW))],
                'language' => [self::element('en-US')],
                'generator' => [self::element('https://wordpress.org/?v=6.8.1')],
                'item' => $items,
            ],
            self::ATOM => ['link' => [self::element('', ['' => ['href' => 'https://news.example.org/feed/', 'rel' => 'self', 'type' => 'application/rss+xml']])]],
            self::SYNDICATION => ['updatePeriod' => [self::element("\n\thourly\t")], 'updateFrequency' => [self::element("\n\t1\t")]],
        ]);
        $rss = self::element("\n\n", ['' => ['version' => '2.0']], ['' => ['channel' => [$channel]]]);

        return [
            'child' => ['' => ['rss' => [$rss]]],
            'type' => self::RSS_20,
            'headers' => [
                'server' => 'nginx',
                'date' => \gmdate(\DATE_RFC7231, WordPressCorpus::NOW),
                'content-type' => 'application/rss+xml; charset=UTF-8',
                'vary' => 'Accept-Encoding',
                'last-modified' => \gmdate(\DATE_RFC7231, WordPressCorpus::NOW - 9_000),
                'etag' => "\"{$this->prose->hex(32)}\"",
                'content-encoding' => 'gzip',
            ],
            'build' => '20240502133330',
        ];
    }

    /** @return array<string, mixed> */
    private function item(int $time, int $id): array
    {
        $this->prose->turn();
        $title = $this->prose->title(4, 9);
        $link = \gmdate('\h\t\t\p\s://\n\e\w\s.\e\x\a\m\p\l\e.\o\r\g/Y/m/', $time) . Prose::slug($title) . '/';
        $categories = [];
        for ($count = $this->prose->int(2, 5); $count > 0; --$count) {
            $categories[] = self::element($this->prose->name());
        }

        return self::element("\n\t\t" . \str_repeat("\n\t\t", 9) . "\n\t", [], [
            '' => [
                'title' => [self::element($title)],
                'link' => [self::element($link)],
                'pubDate' => [self::element(\gmdate(\DATE_RSS, $time))],
                'category' => $categories,
                'guid' => [self::element("https://news.example.org/?p=$id", ['' => ['isPermaLink' => 'false']])],
                'description' => [self::element($this->prose->paragraph(2, 3) . ' [&#8230;]')],
            ],
            self::DUBLIN_CORE => ['creator' => [self::element("{$this->prose->name()} {$this->prose->name()}")]],
            self::CONTENT => ['encoded' => [self::element($this->html())]],
            self::ADDITIONS => ['post-id' => [self::element((string) $id)]],
        ]);
    }

    /** An article of that blog: paragraphs with links, headings, lists, pictures in several widths. */
    private function html(): string
    {
        $prose = $this->prose;
        $html = '';
        for ($part = $prose->int(6, 9); $part > 0; --$part) {
            $html .= match ($prose->int(0, 5)) {
                0 => "\n\n\n\n<h2 class=\"wp-block-heading\"><strong>{$prose->title()}</strong></h2>",
                1 => $this->image(),
                2 => "\n\n\n\n<ul class=\"wp-block-list\">\n<li>{$prose->sentence()}</li>\n\n\n\n<li>{$prose->sentence()}</li>\n\n\n\n<li><a href=\"https://make.example.org/{$prose->rare()}/\">{$prose->title()}</a>&#8217;s {$prose->word()}</li>\n</ul>",
                default => '',
            };
            $html .= "\n\n\n\n<p>{$prose->paragraph(2, 5)} <a href=\"https://make.example.org/{$prose->rare()}/{$prose->rare()}/\">{$prose->word()} {$prose->word()}</a>, {$prose->sentence()}</p>";
        }

        return \ltrim($html) . "\n";
    }

    private function image(): string
    {
        $file = "https://i0.example.org/news/files/2025/06/{$this->prose->rare()}-{$this->prose->rare()}";
        $widths = [];
        foreach ([1024 => 683, 300 => 200, 768 => 512, 1536 => 1024, 2048 => 1365] as $width => $height) {
            $widths[] = "$file.png?resize={$width}%2C$height&amp;ssl=1 {$width}w";
        }
        $id = $this->prose->int(10_000, 19_000);

        return "\n\n\n\n<figure class=\"wp-block-image size-large\"><img data-recalc-dims=\"1\" fetchpriority=\"high\" decoding=\"async\" width=\"1024\" height=\"683\" src=\"$file.png?resize=1024%2C683&#038;ssl=1\" alt=\"{$this->prose->sentence()}\" class=\"wp-image-$id\" srcset=\"" . \implode(', ', $widths) . '" sizes="(max-width: 1000px) 100vw, 1000px" /></figure>';
    }

    /**
     * @param array<string, array<string, string>> $attributes by name space
     * @param array<string, array<string, mixed>>  $children   by name space, then by name
     *
     * @return array<string, mixed>
     */
    private static function element(string $data, array $attributes = [], array $children = []): array
    {
        $element = ['data' => $data, 'attribs' => $attributes, 'xml_base' => '', 'xml_base_explicit' => false, 'xml_lang' => ''];

        return $children === [] ? $element : $element + ['child' => $children];
    }
}
