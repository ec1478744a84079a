<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\Lab\WordPress\Response;
use PHPUnit\Framework\Attributes\Group;

/** The page, its buttons and the line in the admin bar, on a real site over HTTP. */
#[Group('wordpress')]
final class AdminPageTest extends SharedSiteTestCase
{
    private const PAGE = '/wp-admin/tools.php?page=larder';

    /** Says at a request's end which of the plugin's files it had loaded; or what a form of this user would have in it. */
    private const PROBE = <<<'PHP'
        <?php

        add_action('init', static function (): void {
            if (isset($_GET['nonce'])) {
                exit(wp_create_nonce('larder_flush-site'));
            }
        });
        isset($_GET['loaded']) && register_shutdown_function(static function (): void {
            echo "\nloaded: ", implode(' ', array_map('basename', preg_grep('~/plugins/larder/src/(Admin/|Statistics)~', get_included_files())));
        });
        PHP;

    /** @var array<string, string> */
    private static array $admin = [];

    /** @var array<string, string> */
    private static array $author = [];

    protected static function make(): InstalledSite
    {
        $site = new InstalledSite();
        $site->write('mu-plugins/admin.php', self::PROBE);
        $site->site->cli('wp_insert_user(["user_login" => "author", "user_pass" => "author", "role" => "author", "user_email" => "a@example.org"]);');
        self::$admin = $site->site->login();
        self::$author = $site->site->login('author', 'author');

        return $site;
    }

    public function testItShowsTheFiguresOfEachHour(): void
    {
        $this->forget();
        // Many, so that what this test's own requests add is nothing.
        $this->keep(5, ['requests' => 160, 'hits' => 900_000_000, 'misses' => 40_000_000, 'seconds' => 0.1, 'round_trips' => 9, 'bytes' => 3_000_000, 'tiers' => ['near' => ['hits' => 1, 'misses' => 2], 'disk' => ['hits' => 100_000_000, 'misses' => 40_000_000]]]);

        $page = $this->page(self::PAGE, self::$admin);

        self::assertMatchesRegularExpression('~<h1>Larder</h1>~', $page);
        // 900 of 940, and never rounded up.
        self::assertStringContainsString('95.7 %', $page);
        $table = \explode('</table>', \explode('<details class="larder-hours">', $page)[1])[0];
        self::assertSame(168, \substr_count($table, '<th scope="row">'));
        $cells = [[160, '160'], [799_999_999, '799,999,999'], [1, '1'], [2, '2'], [100_000_000, '100,000,000'], [40_000_000, '40,000,000'], [40_000_000, '40,000,000']];
        $row = '';
        foreach ($cells as [$value, $text]) {
            $row .= '<td class="larder-number" data-value="' . $value . "\">$text</td>";
        }
        self::assertStringContainsString("</th>$row<td class=\"larder-number\">71.4 %</td><td class=\"larder-number\">2.9 MB</td></tr>", $table);
        $style = $this->found('~href=["\']([^"\']+assets/admin\.css)~', $page);
        self::assertSame(200, $this->site->site->get(\explode($this->site->site->url(), $style)[1])->status);
        self::assertDoesNotMatchRegularExpression('~ on[a-z]+=|<script~', $this->inside($page));
    }

    public function testAnHourWithoutFiguresIsAGapInTheDrawing(): void
    {
        $hour = static fn(int $kept, int $missed, ?int $bytes): array => ['requests' => 1_600, 'hits' => $kept, 'misses' => $missed, 'bytes' => $bytes, 'tiers' => ['disk' => ['hits' => $kept, 'misses' => $missed]]];

        [$rate, $size] = $this->drawings([0 => $hour(600, 200, 4_000_000), 1 => $hour(400, 400, 2_000_000), 67 => $hour(0, 800, null), 117 => $hour(0, 0, null)]);

        self::assertSame('Hit rate by hour', $rate['title']);
        self::assertStringStartsWith('In 3 hours the hit rate was from 0.0 % to 75.0 %.', $rate['desc']);
        self::assertSame(['M0,100V25H1V50H2V100ZM67,100V100H68V100Z', 'M0,25H1V50H2M67,100H68'], $rate['paths']);
        self::assertSame('Size of the cache by hour', $size['title']);
        self::assertSame(['M0,100V0H1V50H2V100Z', 'M0,0H1V50H2'], $size['paths']);
        self::assertSame([3, 2], [\count($rate['hours']), \count($size['hours'])]);
        self::assertMatchesRegularExpression('~ · hit rate 75\.0 % · size 3\.8 MB · requests 1,600$~', $rate['hours'][0]);
    }

    public function testTheDrawingIsReadAloudAndHasTheColoursOfItsSurroundings(): void
    {
        $this->keep(5, ['requests' => 16, 'hits' => 1, 'misses' => 1, 'bytes' => 1, 'tiers' => ['disk' => ['hits' => 1, 'misses' => 1]]]);

        $page = $this->page(self::PAGE, self::$admin);

        \preg_match_all('~<svg .*?</svg>~s', $page, $match);
        $ids = [];
        foreach (\array_filter($match[0], static fn(string $svg): bool => \str_contains($svg, 'larder-')) as $svg) {
            self::assertSame(1, \preg_match('~^<svg [^>]* role="img" aria-labelledby="(\S+) (\S+)"~', $svg, $label));
            self::assertStringContainsString("<title id=\"$label[1]\">", $svg);
            self::assertStringContainsString("<desc id=\"$label[2]\">", $svg);
            self::assertDoesNotMatchRegularExpression('~#[0-9a-f]{3}|style=|fill=|stroke=~i', $svg);
            \array_push($ids, $label[1], $label[2]);
        }
        self::assertCount(4, \array_unique($ids));
        $rules = \preg_match_all('~^\.larder-(?:area|line|plot rect|plot svg)\S* \{(.*)\}$~m', (string) \file_get_contents(__DIR__ . '/../../wordpress/assets/admin.css'), $match);
        self::assertGreaterThan(3, $rules);
        self::assertDoesNotMatchRegularExpression('~(?<!--wp-admin-theme-color, )#[0-9a-f]{3}~', \implode("\n", $match[1]));
    }

    public function testItSaysThatNothingWasCountedYet(): void
    {
        // One in 16 of these requests is counted too, at its end.
        for ($try = 0, $page = ''; $try < 12 && !\str_contains($page, 'Nothing has been counted yet'); $try++) {
            $this->forget();
            $page = $this->page(self::PAGE, self::$admin);
        }

        self::assertStringContainsString('Nothing has been counted yet', $page);
        self::assertStringNotContainsString('larder-timeline', $page);
    }

    public function testRequestsAreCounted(): void
    {
        $this->forget();
        $counted = 0;
        // One in 16 is: that none of 400 was would happen once in 160 thousand million runs.
        for ($i = 0; $i < 400 && $counted === 0; $i++) {
            $this->site->site->get('/');
            $counted = $i % 20 === 19 ? $this->counted() : 0;
        }

        self::assertGreaterThan(0, $counted);
        self::assertSame(0, $counted % 16);
    }

    public function testWhatLiesInTheCacheIsShownAndEscaped(): void
    {
        $this->site->web('return wp_cache_set("<script>alert(1)</script>", str_repeat("x", 500000), "<b>hostile</b>") && wp_cache_set("plain", [1], "larder_shown");');

        $page = $this->page(self::PAGE, self::$admin);

        self::assertStringContainsString('&lt;script&gt;alert(1)&lt;/script&gt;', $page);
        self::assertStringContainsString('&lt;b&gt;hostile&lt;/b&gt;', $page);
        self::assertStringNotContainsString('<script>alert', $page);
        self::assertStringNotContainsString('<b>hostile', $page);
        self::assertMatchesRegularExpression('~<th scope="row" dir="ltr">larder_shown</th><td[^>]+>1</td>~', $page);
        self::assertStringNotContainsString('~larder', $page);
        $keys = \explode('id="larder-keys"', $page)[1];
        self::assertMatchesRegularExpression('~alert\(1\).*?data-value="500\d\d\d"~s', $keys);
        self::assertMatchesRegularExpression('~<td class="larder-number" data-label="Read">[\d.]+ ms</td>~', $keys);
        self::assertStringContainsString('aria-sort="descending"><a href="' . $this->site->site->url() . '/wp-admin/tools.php?page=larder&#038;larder-sort=time', $this->page(self::PAGE . '&larder-sort=time', self::$admin));
    }

    public function testWhoHasFlushedIsShownAndEscaped(): void
    {
        $this->site->web('return wp_cache_flush_group("<script>alert(2)</script>");');
        $this->press('site');

        $flushes = \explode('id="larder-flushes"', $this->page(self::PAGE, self::$admin))[1] ?? '';
        self::assertMatchesRegularExpression('~>everything<.*POST /wp-admin/.*&lt;script&gt;alert\(2\)&lt;/script&gt;~s', $flushes);
        self::assertStringNotContainsString('<script>alert(2)', $flushes);
    }

    public function testAButtonFlushesTheSite(): void
    {
        $this->site->web('return wp_cache_set("a", 1, "larder_group");');
        $this->keep(5, ['requests' => 16]);

        $response = $this->press('site');

        self::assertContains(16, \array_column((array) $this->site->web('return Larder\WordPress\Statistics::hours($GLOBALS["wp_object_cache"]->larder()->group("~larder", true), 8);'), 'requests'), 'What was counted stays.');
        self::assertSame([302, $this->site->site->url() . self::PAGE . '&larder-notice=site'], [$response->status, $response->header('location')]);
        self::assertFalse($this->site->web('return wp_cache_get("a", "larder_group");'));
        self::assertStringContainsString('The cache of this site was flushed.', $this->page(self::PAGE . '&larder-notice=site', self::$admin));
    }

    public function testAButtonFlushesOneGroup(): void
    {
        $this->site->web('return wp_cache_set("a", 1, "it\'s a group") && wp_cache_set("a", 2, "larder_other");');

        $response = $this->press('group', ['group' => "it's a group"]);

        self::assertStringEndsWith('&larder-notice=group', $response->header('location'));
        self::assertSame([false, 2], $this->site->web('return [wp_cache_get("a", "it\'s a group"), wp_cache_get("a", "larder_other")];'));
        self::assertStringEndsWith('&larder-notice=failed', $this->press('group', ['group' => ' '])->header('location'));
    }

    public function testNobodyElsesFormFlushes(): void
    {
        $this->site->web('return wp_cache_set("a", 1, "larder_group");');
        $there = fn(): mixed => $this->site->web('return wp_cache_get("a", "larder_group");');
        $nonce = self::nonce('value="site"', $this->page(self::PAGE, self::$admin));
        $post = fn(array $fields, array $cookies): int => $this->site->site->post('/wp-admin/admin-post.php', ['action' => 'larder_flush'] + $fields, $cookies)->status;

        self::assertSame(403, $post(['what' => 'site', '_wpnonce' => 'forged'], self::$admin));
        self::assertSame(403, $post(['what' => 'site'], self::$admin));
        // Of another button.
        self::assertSame(403, $post(['what' => 'group', 'group' => 'larder_group', '_wpnonce' => $nonce], self::$admin));
        self::assertSame(403, $post(['what' => 'everything', '_wpnonce' => $nonce], self::$admin));
        self::assertSame(403, $post(['what' => ['site'], '_wpnonce' => $nonce], self::$admin));
        self::assertSame(403, $post(['what' => 'site', '_wpnonce' => $this->site->site->get('/?nonce', self::$author)->body], self::$author));
        self::assertSame(400, $post(['what' => 'site', '_wpnonce' => $nonce], []), 'Nobody is asked for it who is not logged in.');
        self::assertSame(403, $this->site->site->get('/wp-admin/admin-post.php?action=larder_flush&what=site&_wpnonce=' . $nonce, self::$admin)->status, 'A link flushes nothing.');
        self::assertSame(1, $there());
    }

    public function testOnlyAdministratorsSeeIt(): void
    {
        self::assertSame(403, $this->site->site->get(self::PAGE, self::$author)->status);
        self::assertSame(302, $this->site->site->get(self::PAGE)->status);
        self::assertStringNotContainsString('wp-admin-bar-larder', $this->site->site->get('/wp-admin/profile.php', self::$author)->body);
    }

    public function testTheAdminBarHasTheWholeRequestsFigures(): void
    {
        $page = $this->site->site->get('/', self::$admin)->body;

        $early = $this->found('~id=[\'"]wp-admin-bar-larder-hits[\'"].*?>Hits: ([\d,]+)~s', $page);
        $final = $this->found('~<template id="larder-bar">.*<i data-node="larder-hits">Hits: ([\d,]+)</i>~s', $page);
        self::assertGreaterThan(\strrpos($page, 'wp-admin-bar-'), \strpos($page, '<template id="larder-bar">'));
        self::assertGreaterThan((int) \str_replace(',', '', $early), (int) \str_replace(',', '', $final));
        self::assertMatchesRegularExpression('~assets/bar\.js\?ver=\d+~', $page);
        self::assertStringContainsString($this->site->site->url() . self::PAGE, $page);
        self::assertMatchesRegularExpression('~data-node="larder">Larder [\d.]+ % · [\d.,]+ ms</i>.*Misses: \d+</i>.*Time in the store: [\d.,]+ ms</i>.*Round trips: \d+</i>~s', $page);
    }

    public function testAVisitorsPageLoadsNoneOfIt(): void
    {
        $loaded = fn(array $cookies): string => $this->found('~\nloaded: ?(.*)$~', $this->site->site->get('/?loaded=1', $cookies)->body);
        // One request in 16 is recorded in the statistics.
        $visits = [];
        for ($i = 0; $i < 8; $i++) {
            $visits[] = \str_replace('Statistics.php', '', $loaded([]));
        }

        self::assertSame([''], \array_values(\array_unique($visits)));
        self::assertStringContainsString('Bar.php', $loaded(self::$admin));
        self::assertStringNotContainsString('Page.php', $loaded(self::$admin));
    }

    public function testWithoutACacheItSaysWhy(): void
    {
        $nonce = self::nonce('value="site"', $this->page(self::PAGE, self::$admin));
        $this->site->site->define(['LARDER_DSN' => 'nonsense']);
        $page = $this->page(self::PAGE, self::$admin);
        $response = $this->press('site', nonce: $nonce);
        // The configuration's mistake, once a request.
        self::assertMatchesRegularExpression('~^(\[[^]]+\] Larder: the object cache is not persistent: This is not a DSN:[^\n]*(\n|$))+$~D', \substr($this->site->site->errors(), \strlen(self::$known)));
        self::$known = $this->site->site->errors();

        self::assertStringContainsString('No persistent cache is in use.', $page);
        self::assertStringContainsString('site-health.php', $page);
        self::assertStringNotContainsString('larder-flush', $page);
        self::assertStringEndsWith('larder-notice=failed', $response->header('location'));
    }

    public function testAMissIsOneWhereSomethingCouldBeKept(): void
    {
        $missed = $this->site->site->cli(<<<'PHP'
            $cache = $GLOBALS['wp_object_cache'];
            $before = $cache->report()['misses'];
            wp_cache_add_non_persistent_groups('fleeting');
            wp_cache_get('none', 'fleeting');
            echo $cache->report()['misses'] - $before, ' ';
            wp_cache_get('none', 'kept');
            echo $cache->report()['misses'] - $before;
            PHP);

        self::assertSame('0 1', $missed);
    }

    public function testANoticeIsOneOfOurs(): void
    {
        $page = $this->page(self::PAGE . '&larder-notice=%3Cscript%3E&larder-notice[]=x', self::$admin);

        self::assertStringNotContainsString('notice-success', $this->inside($page));
        self::assertStringNotContainsString('<script>', $this->inside($page));
    }

    /** What is ours of a page. */
    private function inside(string $page): string
    {
        return $this->found('~<div class="wrap larder">(.*)<div class="clear"></div></div><!-- wpbody-content -->~s', $page);
    }

    /** @param array<string, string> $fields */
    private function press(string $what, array $fields = [], ?string $nonce = null): Response
    {
        return $this->site->site->post('/wp-admin/admin-post.php', ['action' => 'larder_flush', 'what' => $what, '_wpnonce' => $nonce ?? self::nonce("value=\"$what\"", $this->page(self::PAGE, self::$admin))] + $fields, self::$admin);
    }

    private function found(string $pattern, string $text): string
    {
        self::assertSame(1, \preg_match($pattern, $text, $match), $text);

        return $match[1];
    }

    private function forget(): void
    {
        $this->site->web('foreach (range(0, 168) as $hour) { $GLOBALS["wp_object_cache"]->larder()->group("~larder", true)->delete("hour-" . (intdiv(time(), 3600) - $hour)); } return true;');
    }

    /** @param array<string, mixed> $row of that many hours ago */
    private function keep(int $ago, array $row): void
    {
        self::assertTrue($this->site->web('return $GLOBALS["wp_object_cache"]->larder()->group("~larder", true)->set("hour-" . (intdiv(time(), 3600) - ' . $ago . '), ' . \var_export($row, true) . ');'));
    }

    /**
     * @param array<int, array<string, mixed>> $rows by hour, of 168
     *
     * @return list<array{title: string, desc: string, paths: list<string>, hours: list<string>}>
     */
    private function drawings(array $rows): array
    {
        $html = $this->site->web('$rows = ' . \var_export($rows, true) . ';' . <<<'PHP'
            for ($hours = [], $hour = 0; $hour < 168; $hour++) {
                $hours[] = ($rows[$hour] ?? []) + ['hour' => 1_800_000_000 + $hour * 3600, 'requests' => 0, 'hits' => 0, 'misses' => 0, 'seconds' => 0.0, 'round_trips' => 0, 'bytes' => null, 'tiers' => []];
            }
            ob_start();
            (new Larder\WordPress\Admin\Timeline(new Larder\WordPress\Admin\Figures($hours)))->render();
            return ob_get_clean();
            PHP);
        self::assertIsString($html);
        $drawings = [];
        \preg_match_all('~<svg viewBox="0 0 168 100".*?</svg>~s', $html, $match);
        foreach ($match[0] as $svg) {
            $xml = \simplexml_load_string($svg);
            self::assertInstanceOf(\SimpleXMLElement::class, $xml);
            $paths = [];
            foreach ($xml->path ?? [] as $path) {
                $paths[] = (string) $path['d'];
            }
            $hours = [];
            foreach ($xml->rect ?? [] as $rect) {
                $hours[] = (string) $rect->title;
            }
            $drawings[] = ['title' => (string) $xml->title, 'desc' => (string) $xml->desc, 'paths' => $paths, 'hours' => $hours];
        }
        self::assertCount(2, $drawings);

        return $drawings;
    }

    private function counted(): int
    {
        $rows = $this->site->web('return Larder\WordPress\Statistics::hours($GLOBALS["wp_object_cache"]->larder()->group("~larder", true), 2);');
        self::assertIsArray($rows);

        return (int) \array_sum(\array_column($rows, 'requests'));
    }
}
