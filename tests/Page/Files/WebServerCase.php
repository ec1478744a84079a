<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Page\Middleware;
use Larder\Page\PageCache;
use Larder\Tests\Support\Process;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\Attributes\AfterClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

/** What every web server must do with the files of pages. */
abstract class WebServerCase extends TestCase
{
    /** Of a page whose file went just when the web server wanted to open it. */
    protected const STATUS_OF_GONE = 200;

    private static ?Site $site = null;

    /** nginx or apache */
    abstract protected static function kind(): string;

    #[AfterClass]
    public static function stopSite(): void
    {
        self::$site?->stop();
        self::$site = null;
    }

    protected static function site(): Site
    {
        self::$site ??= new Site(static::kind(), ['ignoredQuery' => ['utm_*', 'gclid'], 'varyCookies' => ['language']]);
        self::$site->answers('page');

        return self::$site;
    }

    public function testTheWebServerSendsAPageByItself(): void
    {
        $site = self::site();
        $first = $site->get('/one/');
        $second = $site->get('/one/');

        self::assertSame(200, $first[0], $first[2] . $site->complaints());
        self::assertStringContainsString('fwd=uri-miss; stored', $first[1]['cache-status'] ?? '');
        self::assertSame($first[2], $second[2]);
        self::assertSame('Larder; hit; detail="file"', $second[1]['cache-status'] ?? '', $site->complaints());
        self::assertSame('text/html; charset=utf-8', \strtolower($second[1]['content-type'] ?? ''));
        self::assertSame((string) \strlen($second[2]), $second[1]['content-length'] ?? '');
        self::assertSame('no-cache', $second[1]['cache-control'] ?? '');
        self::assertSame('Accept-Encoding', $second[1]['vary'] ?? '');
        self::assertArrayHasKey('etag', $second[1]);
        self::assertArrayNotHasKey('last-modified', $second[1]);
        self::assertCount(1, \array_keys($site->runs(), '/one/', true));
    }

    /** An application may repeat it. */
    public function testTheHostAsItIsSpelledHasAFileOfItsOwn(): void
    {
        $site = self::site();
        $site->answers('page at {host}');
        $host = $site->host();
        [$name, $port] = \explode(':', $host);
        foreach ([$name, $host, "$name:0$port", $name, $host] as $i => $spelled) {
            [, $header, $body] = $site->get('/spelled', ["Host: $spelled"]);
            self::assertStringStartsWith("page at $spelled of", $body);
            self::assertSame($i > 2, \str_contains($header['cache-status'] ?? '', 'detail="file"'));
        }
        (new PageCache($site->cache()))->purge("http://$name/spelled");
        $site->answers('new page at {host}');
        foreach ([$name, $host, "$name:0$port"] as $spelled) {
            self::assertStringStartsWith("new page at $spelled of", $site->get('/spelled', ["Host: $spelled"])[2]);
        }
    }

    public function testItSendsTheFormThatTheVisitorTakes(): void
    {
        $site = self::site();
        [, , $body] = $site->get('/coded');
        [, $plain] = $site->get('/coded');
        [$status, $header, $coded] = $site->get('/coded', ['Accept-Encoding: deflate, gzip;q=0.8']);

        self::assertSame([200, 'gzip', 'Accept-Encoding'], [$status, $header['content-encoding'] ?? '', $header['vary'] ?? '']);
        self::assertSame($body, \gzdecode($coded));
        self::assertSame((string) \strlen($coded), $header['content-length'] ?? '');
        self::assertSame('text/html; charset=utf-8', \strtolower($header['content-type'] ?? ''));
        self::assertNotSame($plain['etag'] ?? '', $header['etag'] ?? '');
        self::assertStringStartsWith('"', $header['etag'] ?? '');
        foreach (['gzip;q=0', 'identity', 'gzip;q=0.0', 'xgzip'] as $other) {
            [, $header, $same] = $site->get('/coded', ["Accept-Encoding: $other"]);
            self::assertArrayNotHasKey('content-encoding', $header, $other);
            self::assertSame($body, $same);
            self::assertSame('Accept-Encoding', $header['vary'] ?? '');
        }
    }

    public function testItAnswersConditionalRequestsRangesAndHead(): void
    {
        $site = self::site();
        [, , $body] = $site->get('/conditional');
        $etag = $site->get('/conditional')[1]['etag'] ?? '';
        self::assertNotSame('', $etag);

        [$status, $header, $none] = $site->get('/conditional', ["If-None-Match: \"x\", $etag"]);
        self::assertSame([304, '', $etag, 'no-cache'], [$status, $none, $header['etag'] ?? '', $header['cache-control'] ?? '']);
        self::assertSame(200, $site->get('/conditional', ['If-None-Match: "other"'])[0]);
        // The time of a file is none.
        foreach ([\time(), (int) \filemtime((\glob("$site->static/*/http/*/conditional.html") ?: [''])[0])] as $time) {
            self::assertSame(200, $site->get('/conditional', ['If-Modified-Since: ' . \gmdate('D, d M Y H:i:s', $time) . ' GMT'])[0]);
        }
        [$status, $header, $part] = $site->get('/conditional', ['Range: bytes=2-5']);
        self::assertSame([206, \substr($body, 2, 4), 'bytes 2-5/' . \strlen($body)], [$status, $part, $header['content-range'] ?? '']);
        self::assertSame(206, $site->get('/conditional', ['Range: bytes=2-5', "If-Range: $etag"])[0]);
        self::assertSame([200, $body], [$site->get('/conditional', ['Range: bytes=2-5', 'If-Range: "other"'])[0], $site->get('/conditional', ['Range: bytes=2-5', 'If-Range: "other"'])[2]]);
        self::assertSame(416, $site->get('/conditional', ['Range: bytes=90000-'])[0]);
        [$status, $header, $none] = $site->get('/conditional', [], 'HEAD');
        self::assertSame([200, '', (string) \strlen($body)], [$status, $none, $header['content-length'] ?? '']);
        self::assertCount(1, \array_keys($site->runs(), '/conditional', true));
    }

    /** @return iterable<string, array{list<string>, 2?: string}> fields and method of requests that no file may answer */
    public static function requestsForPhp(): iterable
    {
        yield 'a session' => [['Cookie: session=1']];
        yield 'a session among others' => [['Cookie: _ga=1; session=1; _fbp=2']];
        yield 'a session in a field of its own' => [['Cookie: _ga=1', 'Cookie: session=1']];
        yield 'a session behind a comma' => [['Cookie: _ga=1;,session=1']];
        yield 'no value' => [['Cookie: session']];
        yield 'WordPress' => [['Cookie: wordpress_logged_in_0123=me%7C1']];
        yield 'a cookie that pages vary by' => [['Cookie: language=de']];
        yield 'a name that only begins like one' => [['Cookie: _gax=1']];
        yield 'a name in other letters' => [['Cookie: _GA=1']];
        yield 'Authorization' => [['Authorization: Basic eDp5']];
        yield 'a user whom a proxy names' => [['Remote-User: joe']];
        yield 'a certificate' => [['Client-Cert: :x:']];
        yield 'another host for links' => [['X-Forwarded-Host: evil.example']];
        yield 'another scheme' => [['X-Forwarded-Proto: https']];
        yield 'Forwarded' => [['Forwarded: host=evil.example']];
        yield 'another path' => [['X-Original-URL: /admin']];
        yield 'another path, in the other way' => [['X-Rewrite-URL: /admin']];
        yield 'another method' => [['X-HTTP-Method-Override: DELETE']];
        yield 'by script' => [['X-Requested-With: XMLHttpRequest']];
        yield 'data wanted' => [['Accept: application/json']];
        yield 'data wanted rather than a page' => [['Accept: application/json, text/html;q=0.1']];
        yield 'data as welcome as a page' => [['Accept: text/html, application/json']];
        yield 'a part of the page wanted' => [['HX-Request: true']];
        yield 'another site\'s script' => [['Origin: http://x.example']];
        yield 'a new one wanted' => [['Cache-Control: no-cache']];
        yield 'a new one wanted, in the old way' => [['Pragma: no-cache']];
        yield 'another host' => [['Host: other.example']];
        yield 'POST' => [['Content-Length: 0'], 'POST'];
        yield 'OPTIONS' => [[], 'OPTIONS'];
    }

    /** @param list<string> $fields */
    #[DataProvider('requestsForPhp')]
    public function testARequestThatTheFileMayNotAnswerGoesToPhp(array $fields, string $method = 'GET'): void
    {
        $site = self::site();
        $site->get('/guarded');
        $site->isFile('/guarded') || $site->get('/guarded');
        self::assertTrue($site->isFile('/guarded'));

        self::assertFalse($site->isFile('/guarded', $fields, $method));
    }

    /** @return iterable<string, array{list<string>}> */
    public static function requestsForFiles(): iterable
    {
        yield 'cookies of scripts' => [['Cookie: _ga=GA1.1; _ga_ABC=x=y; cmplz_marketing=deny']];
        yield 'with white space' => [['Cookie:   _ga=1 ;  _gid ;; _fbp=a b; ']];
        yield 'an empty one' => [['Cookie: ']];
        yield 'a long one' => [['Cookie: ' . \str_repeat('_ga=x ; ', 700)]];
        yield 'a browser\'s' => [['User-Agent: Mozilla/5.0', 'Accept: text/html,*/*', 'Accept-Language: de', 'Sec-Fetch-Mode: navigate', 'Upgrade-Insecure-Requests: 1', 'Referer: http://x.example/']];
        yield 'Chrome\'s' => [['Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7']];
    }

    /** @param list<string> $fields */
    #[DataProvider('requestsForFiles')]
    public function testCookiesOfScriptsDoNotMatter(array $fields): void
    {
        $site = self::site();
        $site->get('/public');

        self::assertTrue($site->isFile('/public', $fields));
    }

    public function testALongCookieThatIsPrivateAtItsEndTakesNoTime(): void
    {
        $site = self::site();
        $site->get('/cookie');
        [$status, $header] = $site->get('/cookie', ['Cookie: ' . \str_repeat('_ga=x  ; ', 700) . 'session=1']);

        self::assertSame(200, $status);
        self::assertStringContainsString('session', $header['cache-status'] ?? '');
    }

    public function testIgnoredParametersDoNotMatterAndOthersDo(): void
    {
        $site = self::site();
        $site->get('/query');
        foreach (['?utm_source=a', '?gclid=1&utm_x=', '?utm_a'] as $query) {
            self::assertTrue($site->isFile("/query$query"), $query);
        }
        foreach (['?', '?page=2', '?utm_source=a&page=2', '?page=2&utm_source=a', '?utm_source=a&', '?&utm_source=a', '?utm', '?xutm_source=1', '?gclid[]=1', '?utm_source=a?page=2;gclid=1&x'] as $query) {
            self::assertFalse($site->isFile("/query$query"), $query);
        }
    }

    /** @return iterable<string, array{string}> */
    public static function detours(): iterable
    {
        foreach (['/x/../detour', '/./detour', '//detour', '/detour//', '/%64etour', '/detour%2f', '/detour/%2e%2e/detour', '/detour.html', '/detour@.html', '/detour@', '/detour.html.gz', '/detour.php', '/index.php/detour', '/detour;a=b', '/Detour', '/detour/.', '/detour%20', '/detour%00', '/%2e%2e/state/index', '/../state/index', '/state/index', '/static/state/index', '/x/../../../../etc/passwd', '/detour\\'] as $target) {
            yield $target => [$target];
        }
    }

    #[DataProvider('detours')]
    public function testAnotherSpellingIsNotThePage(string $target): void
    {
        $site = self::site();
        $site->get('/detour');
        self::assertTrue($site->isFile('/detour'));
        [, $header, $body] = $site->get($target);

        self::assertStringNotContainsString('detail="file"', $header['cache-status'] ?? '');
        self::assertStringNotContainsString('root:', $body);
        self::assertStringNotContainsString('page of /detour for', $body);
    }

    public function testPagesOfSeveralHostsAreKeptApart(): void
    {
        $site = self::site();
        foreach (['a.example', 'b.example', 'a.example:8080'] as $i => $host) {
            $site->answers("page of host $i");
            $site->get('/hosts', ["Host: $host"]);
        }
        foreach (['a.example', 'b.example', 'a.example:8080'] as $i => $host) {
            [, $header, $body] = $site->get('/hosts', ["Host: $host"]);
            self::assertStringContainsString('detail="file"', $header['cache-status'] ?? '', $host);
            self::assertStringStartsWith("page of host $i ", $body);
        }
        foreach (['../state', '..', 'a.example/../b.example', 'a.example:', '.', 'a.example:80:80'] as $host) {
            self::assertFalse($site->isFile('/hosts', ["Host: $host"]), $host);
        }
    }

    public function testAHostWithAPortThatNeedsNoNameIsAnotherKey(): void
    {
        $site = self::site();
        if (\preg_match('/LARDER_ZONE:([^,\]]+)/', $site->configuration, $zone) === 1) {
            $_SERVER['LARDER_ZONE'] = $zone[1];
            $_SERVER['LARDER_CLOCK'] = (new \DateTimeImmutable('now', new \DateTimeZone($zone[1])))->format('YmdHis');
        }
        $factory = new Psr17Factory();
        $handler = new class implements RequestHandlerInterface {
            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return new Response(200, ['Content-Type' => 'text/html; charset=utf-8', 'Cache-Control' => 'max-age=3600'], 'of the name alone');
            }
        };
        // As the web server's own port is another one, a page of the usual port comes by another door.
        (new Middleware($site->cache(), ['static' => $site->static], $factory, $factory))->process(new ServerRequest('GET', 'http://usual.example/ports'), $handler);
        unset($_SERVER['LARDER_ZONE'], $_SERVER['LARDER_CLOCK']);
        self::assertNotSame([], \glob("$site->static/*/http/usual.example:80@usual.example/ports.html"));

        foreach (['usual.example:80', 'usual.example:080'] as $host) {
            self::assertStringStartsWith('page of /ports', $site->get('/ports', ["Host: $host"])[2], $host);
        }
    }

    public function testAPurgeCountsAtOnce(): void
    {
        $site = self::site();
        $cache = new PageCache($site->cache());
        for ($i = 0; $i < 20; $i++) {
            $site->answers("version $i", ['Cache-Control: max-age=3600', 'Cache-Tags: menu']);
            for ($end = \time() + 10; !\str_starts_with($body = $site->get('/purged')[2], "version $i ") && \time() < $end; \usleep(10_000)) {
                // What has expired is sent until it is renewed.
                self::assertContains($i % 4, [3, 0], $body);
            }
            self::assertStringStartsWith("version $i ", $body);
            $site->get('/purged');
            self::assertTrue($site->isFile('/purged'));
            self::assertTrue(match ($i % 4) {
                0 => $cache->purge('/purged'),
                1 => $cache->purgeTags('menu'),
                2 => $cache->expireTags('menu'),
                default => $cache->expire("http://{$site->host()}/purged"),
            });
            self::assertFalse($site->isFile('/purged', [], 'HEAD'));
        }
    }

    public function testAPageEndsWithItsLife(): void
    {
        $site = self::site();
        $site->answers('short-lived', ['Cache-Control: max-age=24']);
        $made = \microtime(true);
        $site->get('/ends');
        self::assertTrue($site->isFile('/ends'));
        $site->answers('anew', ['Cache-Control: max-age=24']);
        do {
            $body = $site->get('/ends')[2];
            $now = \microtime(true);
            \usleep(100_000);
        } while (\str_starts_with($body, 'short-lived') && $now < $made + 60);

        self::assertStringStartsWith('anew', $body);
        self::assertLessThan(26.0, $now - $made);
    }

    public function testAPageWithAnAmpleLifeIsStillThereInTheNextBucket(): void
    {
        $site = self::site();
        $site->get('/goes-on');
        for ($end = \time() + 12; \time() < $end; \usleep(200_000)) {
            self::assertTrue($site->isFile('/goes-on'));
        }
    }

    public function testWithoutTheDirectoryTheSiteGoesOn(): void
    {
        $site = self::site();
        $site->get('/removed');
        self::assertTrue($site->isFile('/removed'));
        \rename($site->static, "$site->static-away");
        [$status, , $body] = $site->get('/removed', ['Cookie: session=1']);
        $isFile = $site->isFile('/removed');
        // Made anew meanwhile.
        \is_dir($site->static) && \rename($site->static, "$site->static-new");
        \rename("$site->static-away", $site->static);

        self::assertSame([200, false], [$status, $isFile]);
        self::assertStringContainsString('page of /removed', $body);
    }

    public function testAFileThatGoesBetweenTheLookForItAndItsOpeningIsMadeUpFor(): void
    {
        $site = self::site();
        $site->get('/gone');
        self::assertTrue($site->isFile('/gone'));
        $command = ['strace', '-f', '-e', 'trace=openat', '-e', 'inject=openat:error=ENOENT'];
        foreach (\glob("$site->static/*/http/*/gone.html*") ?: [] as $file) {
            \array_push($command, '-P', $file);
        }
        foreach ($site->pids() as $pid) {
            \array_push($command, '-p', (string) $pid);
        }
        $strace = new Process($command);
        for ($end = \hrtime(true) + 20_000_000_000; \substr_count($strace->errors(), 'attached') < \count($site->pids()) && \hrtime(true) < $end;) {
            \usleep(10_000);
        }
        [$status, $header, $body] = $site->get('/gone');
        $strace->signal(\SIGTERM);
        $strace->wait();

        self::assertStringContainsString('INJECTED', $strace->errors());
        self::assertStringContainsString('Larder; hit; ttl=', $header['cache-status'] ?? '');
        self::assertStringStartsWith('page of /gone', $body);
        self::assertSame(static::STATUS_OF_GONE, $status);
    }

    public function testOtherFilesAreTheWebServers(): void
    {
        self::assertSame([200, 'p { }'], [self::site()->get('/style.css')[0], self::site()->get('/style.css')[2]]);
    }

    public function testALetterOfAnotherAlphabetIsFoundAsItWasSent(): void
    {
        $site = self::site();
        $site->get('/%D1%87%d0%b0%d0%b9/');

        self::assertTrue($site->isFile('/%D1%87%d0%b0%d0%b9/'));
        self::assertFalse($site->isFile('/%D1%87%D0%B0%D0%B9/'));
    }
}
