<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Page\PageCache;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Varnish before the page cache, with the VCL that `page:config` prints. */
#[Group('web')]
final class VarnishTest extends TestCase
{
    private static ?Site $site = null;

    #[AfterClass]
    public static function stopSite(): void
    {
        self::$site?->stop();
        self::$site = null;
    }

    private static function site(): Site
    {
        self::$site ??= new Site('varnish', ['ignoredQuery' => ['utm_*'], 'varyCookies' => ['language']]);
        self::$site->answers('page');

        return self::$site;
    }

    public function testVarnishKeepsWhatThePageCacheHasStored(): void
    {
        $site = self::site();
        self::assertFalse($this->isKept('/kept'));
        self::assertFalse($this->isKept('/kept'));
        [$status, $header, $body] = $site->get('/kept', ['Cookie: _ga=1; _gid=2']);

        self::assertSame(200, $status);
        self::assertStringStartsWith('page of /kept', $body);
        self::assertMatchesRegularExpression('/^Larder; hit; ttl=\d+, Varnish; hit$/', $header['cache-status'] ?? '');
        self::assertArrayNotHasKey('larder-tags', $header);
        self::assertTrue($this->isKept('/kept?utm_source=x'));
        self::assertFalse($this->isKept('/kept?page=2'));
    }

    /** @return iterable<string, array{list<string>, 1?: string}> */
    public static function requestsForPhp(): iterable
    {
        yield from \array_intersect_key(\iterator_to_array(WebServerCase::requestsForPhp()), \array_flip([
            'a session', 'a session among others', 'a session in a field of its own', 'WordPress', 'a cookie that pages vary by', 'Authorization', 'a user whom a proxy names', 'another host for links', 'another path', 'another method',
            'data wanted', 'a new one wanted', 'another host', 'POST',
        ]));
    }

    /** @param list<string> $fields */
    #[DataProvider('requestsForPhp')]
    public function testARequestThatMayGetAnotherPageGoesToPhp(array $fields, string $method = 'GET'): void
    {
        $this->keep('/guarded');

        self::assertFalse($this->isKept('/guarded', $fields, $method));
    }

    public function testAPrivatePageIsNotKept(): void
    {
        $site = self::site();
        foreach (['Cache-Control: private, max-age=60', 'Cache-Control: no-store', 'X-Nothing: said', 'Set-Cookie: session=1'] as $i => $line) {
            $site->answers('private', [$line]);
            for ($visit = 0; $visit < 3; $visit++) {
                self::assertFalse($this->isKept("/private-$i"), $line);
            }
        }
    }

    public function testDataOfAPagesUrlIsNotKeptAsThePage(): void
    {
        $site = self::site();
        foreach (['{}', 'page'] as $text) {
            $site->answers($text);
            for ($visit = 0; $visit < 2; $visit++) {
                self::assertStringStartsWith("$text of /data", $site->get('/data', $text === '{}' ? ['Accept: application/json'] : [])[2]);
            }
        }
    }

    public function testAPurgeCountsAtOnce(): void
    {
        $site = self::site();
        $pages = new PageCache($site->cache(), ['proxies' => [$site->host()]]);
        $site->answers('page', ['Cache-Control: max-age=3600', 'Cache-Tags: menu, home']);
        $this->keep('/other', ['Cache-Control: max-age=3600']);
        foreach ([
            static fn(): bool => $pages->purge('/purged'),
            static fn(): bool => $pages->purgeTags('menu'),
            static fn(): bool => $pages->expireTags('home'),
            static fn(): bool => $pages->expire("http://{$site->host()}/purged"),
        ] as $purge) {
            $this->keep('/purged', ['Cache-Control: max-age=3600', 'Cache-Tags: menu, home']);
            self::assertTrue($purge());
            self::assertFalse($this->isKept('/purged'));
            self::assertTrue($this->isKept('/other'));
        }
        self::assertTrue($pages->purgeAll());
        self::assertFalse($this->isKept('/other'));
    }

    public function testAPurgeThatVarnishDoesNotHearIsTold(): void
    {
        self::assertFalse((new PageCache(self::site()->cache(), ['proxies' => ['127.0.0.1:1']]))->purge('/purged'));
    }

    public function testAPurgeIsNoRegularExpressionOfAnybody(): void
    {
        $this->keep('/banned');
        foreach (['.', '', '.*', 'aaaaaaaaaaaaaaaa || obj.status == 200', 'aaaaaaaaaaaaaaaa|'] as $tags) {
            self::assertSame(400, self::site()->get('/banned', ["Larder-Tags: $tags"], 'BAN')[0], $tags);
        }
        self::assertTrue($this->isKept('/banned'));
    }

    /** @param list<string> $header */
    private function keep(string $target, array $header = ['Cache-Control: max-age=3600']): void
    {
        self::site()->answers('page', $header);
        for ($visit = 0; !$this->isKept($target) && $visit < 50; $visit++) {
            // A page that has expired is renewed behind the visitor.
            \usleep(20_000);
        }
        self::assertTrue($this->isKept($target));
    }

    /** @param list<string> $fields */
    private function isKept(string $target, array $fields = [], string $method = 'GET'): bool
    {
        return \str_contains(self::$site?->get($target, $fields, $method)[1]['cache-status'] ?? '', 'Varnish; hit');
    }
}
