<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Page\PageCache;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use Psr\Http\Message\ServerRequestInterface;

/** A request whose header, host, method or body changes the page that others then get. */
#[CoversNothing]
final class PoisonedRequestsTest extends AttackCase
{
    /**
     * Hosts and schemes that applications believe: Ratpack (CVE-2021-29479), Symfony's X-Forwarded-Prefix (CVE-2021-41267),
     * and the sites of the first publications on web cache poisoning.
     */
    #[TestWith(['X-Forwarded-Host', 'evil.example'])]
    #[TestWith(['X-Forwarded-Prefix', '/evil'])]
    #[TestWith(['X-Forwarded-Proto', 'https'])]
    #[TestWith(['X-Forwarded-Proto', 'nothttps'])]
    #[TestWith(['X-Forwarded-Scheme', 'nothttps'])]
    #[TestWith(['X-Forwarded-Port', '1337'])]
    #[TestWith(['X-Forwarded-Ssl', 'on'])]
    #[TestWith(['X-Forwarded-Server', 'evil.example'])]
    #[TestWith(['X-Forwarded-Path', '/evil'])]
    #[TestWith(['X-Forwarded-Uri', '/evil'])]
    #[TestWith(['Forwarded', 'host=evil.example;proto=https'])]
    #[TestWith(['X-Host', 'evil.example'])]
    #[TestWith(['X-HTTP-Host-Override', 'evil.example'])]
    #[TestWith(['X-Original-Host', 'evil.example'])]
    #[TestWith(['X-Backend-Host', 'evil.example'])]
    #[TestWith(['X-Url-Scheme', 'https'])]
    #[TestWith(['Front-End-Https', 'on'])]
    #[TestWith(['CloudFront-Forwarded-Proto', 'https'])]
    #[TestWith(['Base-Url', 'http://evil.example'])]
    #[TestWith(['X-Original-URI', '<evil>'])]
    #[TestWith(['X-Original-Path', '<evil>'])]
    #[TestWith(['X-Original-Scheme', '<evil>'])]
    #[TestWith(['X-Forwarded-Protocol', '<evil>'])]
    #[TestWith(['X-Forwarded-Context', '<evil>'])]
    #[TestWith(['X-Forwarded-PathBase', '<evil>'])]
    #[TestWith(['X-Forwarded-Hostname', '<evil>'])]
    #[TestWith(['X-Rewrite-URI', '<evil>'])]
    #[TestWith(['X-Override-URL', '<evil>'])]
    #[TestWith(['X-Script-Name', '<evil>'])]
    #[TestWith(['X-Scheme', '<evil>'])]
    #[TestWith(['X-Proto', '<evil>'])]
    #[TestWith(['X-Port', '<evil>'])]
    #[TestWith(['X-HTTPS', '<evil>'])]
    #[TestWith(['X-Server-Name', '<evil>'])]
    #[TestWith(['Forwarded-Host', '<evil>'])]
    #[TestWith(['X-Envoy-Original-Path', '<evil>'])]
    #[TestWith(['X-Replaced-Path', '<evil>'])]
    #[TestWith(['X-Request-Uri', '<evil>'])]
    #[TestWith(['X-Original-Method', '<evil>'])]
    #[TestWith(['X-Forwarded-Method', '<evil>'])]
    #[TestWith(['X-Override-Method', '<evil>'])]
    #[TestWith(['X-Waws-Unencoded-Url', '<evil>'])]
    #[TestWith(['X-MS-Original-Url', '<evil>'])]
    #[TestWith(['WL-Proxy-SSL', '<evil>'])]
    #[TestWith(['Fastly-SSL', '<evil>'])]
    #[TestWith(['X-Original-Forwarded-For', '<evil>'])]
    #[TestWith(['HX-Target', 'menu'])]
    #[TestWith(['X-PJAX-Container', '#menu'])]
    #[TestWith(['X-Inertia', 'true'])]
    #[TestWith(['X-Up-Target', '#menu'])]
    #[TestWith(['Client-Ip', '<script>'])]
    #[TestWith(['X-Forwarded-For', '<script>'])]
    #[TestWith(['X-Appengine-User-IP', '<script>'])]
    #[TestWith(['X-Sucuri-ClientIP', '<script>'])]
    public function testAFieldThatApplicationsTakeForTheServersWord(string $name, string $value): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'link to ' . $request->getHeaderLine($name));
        $this->assertUnharmed(self::request(), self::request('/', [$name => $value]));
    }

    /** Several of them at once led where one did not: a redirect to the host of another field (HackerOne's own site). */
    public function testSeveralForwardingFieldsAtOnce(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->getHeaderLine('X-Forwarded-Scheme') === 'http'
            ? new Response(301, ['Location' => 'https://' . $request->getHeaderLine('X-Forwarded-Host')] + self::PAGE)
            : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['X-Forwarded-Scheme' => 'http', 'X-Forwarded-Host' => 'evil.example']));
    }

    /** Symfony, Drupal and SilverStripe took another target from these (CVE-2018-14773, CVE-2019-19326). */
    #[TestWith(['X-Original-URL'])]
    #[TestWith(['X-Rewrite-URL'])]
    public function testAnotherTargetInAField(string $name): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page ' . $request->getHeaderLine($name));
        $this->assertUnharmed(self::request(), self::request('/', [$name => '/admin']));
    }

    /** A GET that the application takes for another method (CVE-2019-10913, and Drupal's page cache in 2025). */
    #[TestWith(['X-HTTP-Method-Override', 'POST'])]
    #[TestWith(['X-HTTP-Method', 'HEAD'])]
    #[TestWith(['X-Method-Override', 'DELETE'])]
    public function testAnotherMethodInAField(string $name, string $method): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->hasHeader($name) ? '' : 'page');
        $this->assertUnharmed(self::request(), self::request('/', [$name => $method]));
    }

    /** Password resets of WordPress went to the host of the request (CVE-2017-8295), CMS Made Simple kept it (CVE-2016-2784). */
    #[TestWith(['evil.example'])]
    #[TestWith(['shop.example.evil.example'])]
    #[TestWith(['shop.example:1337'])]
    #[TestWith(['shop.example:80'])]
    #[TestWith(['shop.example:00080'])]
    #[TestWith(['shop.example.'])]
    #[TestWith(['SHOP.example'])]
    #[TestWith(['shop.example, evil.example'])]
    #[TestWith(["' onload='javascript:alert(1)"])]
    #[TestWith(['shop.example/path'])]
    #[TestWith(['shop.example#fragment'])]
    #[TestWith(['shop.example\\@evil.example'])]
    #[TestWith(['user@shop.example'])]
    #[TestWith(['shop.example:@evil.example'])]
    #[TestWith(['[::1]'])]
    #[TestWith(['[::1]:80'])]
    #[TestWith(['[shop.example]'])]
    #[TestWith(['127.0.0.1'])]
    #[TestWith(['shop.example:99999999'])]
    #[TestWith(['shop.example:'])]
    #[TestWith(['sh%6fp.example'])]
    #[TestWith(['shop..example'])]
    public function testAnotherHost(string $host): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'link to ' . $request->getHeaderLine('Host'));
        $this->assertUnharmed(self::request('/', ['Host' => 'shop.example']), self::request('/', ['Host' => $host]));
    }

    /** The server's own port may stand in the field or not: an application that repeats the field gives each its own links. */
    #[TestWith(['intranet:8080', 'intranet'])]
    #[TestWith(['intranet', 'intranet:8080'])]
    #[TestWith(['intranet:8080', 'intranet:08080'])]
    #[TestWith(['intranet:8080', 'Intranet:8080'])]
    #[TestWith(['intranet', 'intranet:80'])]
    public function testAnotherSpellingOfTheHost(string $host, string $other): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'link to ' . $request->getHeaderLine('Host'));
        $request = static fn(string $host): ServerRequest => new ServerRequest('GET', 'http://intranet:8080/', ['Host' => $host]);
        $this->assertUnharmed($request($host), $request($other));
        (new PageCache($this->cache))->purge('http://intranet:8080/');
        self::assertStringContainsString('uri-miss', $this->ask($request($host))->getHeaderLine('Cache-Status'));
        self::assertStringContainsString('uri-miss', $this->ask($request($other))->getHeaderLine('Cache-Status'));
    }

    /** Two sites of one web server share a cache, and a request names them both: the server goes by the one, the key by the other. */
    #[TestWith([['SERVER_NAME' => 'other.example']])]
    #[TestWith([['SERVER_NAME' => '']])]
    #[TestWith([['SERVER_NAME' => '*.example']])]
    public function testAnotherSiteThatTheWebServerTakesTheRequestFor(array $server): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'site ' . ($request->getServerParams()['SERVER_NAME'] ?? ''));
        $request = static fn(array $server): ServerRequest => new ServerRequest('GET', 'http://shop.example/', ['Host' => 'shop.example'], null, '1.1', $server);
        $this->assertUnharmed($request(['SERVER_NAME' => 'shop.example']), $request($server));
        $this->assertUnharmed($request($server), $request(['SERVER_NAME' => 'shop.example']));
    }

    /** Squid believed the host of an absolute target over the field (CVE-2016-4553). */
    #[TestWith(['http://evil.example/'])]
    #[TestWith(['http://shop.example/'])]
    #[TestWith(['//evil.example/'])]
    #[TestWith(['*'])]
    #[TestWith(['evil.example:443'])]
    public function testATargetThatIsNoPath(string $target): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'target ' . $request->getRequestTarget());
        $this->assertUnharmed(self::request(), self::request($target));
    }

    /** A GET with a body: PHP frameworks read parameters from it, and no cache has it in its key. */
    #[TestWith(['application/json', '{"user":"evil"}'])]
    #[TestWith(['application/x-www-form-urlencoded', 'user=evil'])]
    public function testABodyInAGet(string $type, string $body): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page ' . $request->getBody());
        $this->assertUnharmed(self::request(), self::request('/', ['Content-Type' => $type, 'Content-Length' => (string) \strlen($body)], 'GET', $body));
    }

    /** The same in chunks, without a length. */
    public function testABodyInChunksInAGet(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page ' . $request->getHeaderLine('Transfer-Encoding'));
        $this->assertUnharmed(self::request(), self::request('/', ['Transfer-Encoding' => 'chunked']));
    }

    /** A body that another middleware has read already. */
    public function testAParsedBodyInAGet(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page ' . \json_encode($request->getParsedBody()));
        $this->assertUnharmed(self::request(), self::request()->withParsedBody(['user' => 'evil']));
    }

    /** Discourse's visitors got JSON in the place of the front page (GHSA-249g-pc77-65hp). */
    #[TestWith(['Accept', 'application/json'])]
    #[TestWith(['Accept', 'application/json, text/html;q=0.1'])]
    #[TestWith(['Accept', 'text/html;q=0.1, application/json'])]
    #[TestWith(['Accept', 'text/html, application/json'])]
    #[TestWith(['Accept', 'text/html, application/xml'])]
    #[TestWith(['Accept', 'text/html;q=0'])]
    #[TestWith(['Accept', 'text/html+json'])]
    #[TestWith(['Accept', 'text/vnd.turbo-stream.html, text/html, application/xhtml+xml'])]
    #[TestWith(['HX-Request', 'true'])]
    #[TestWith(['Turbo-Frame', 'menu'])]
    #[TestWith(['X-PJAX', 'true'])]
    #[TestWith(['X-Requested-With', 'XMLHttpRequest'])]
    #[TestWith(['Origin', 'https://evil.example'])]
    public function testAFieldByWhichFrameworksChooseAnotherFormOfThePage(string $name, string $value): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->getHeaderLine($name) === $value ? '{}' : '<p>');
        $this->assertUnharmed(self::request('/', ['Accept' => 'text/html,*/*;q=0.8']), self::request('/', [$name => $value]));
        self::assertSame('{}', (string) $this->get('/', [$name => $value])->getBody());
    }

    /** Browsers' requests for a page share it, and so do tools. */
    #[TestWith(['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7'])]
    #[TestWith(['text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/png,image/svg+xml,*/*;q=0.8'])]
    #[TestWith(['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'])]
    #[TestWith(['text/html, application/xhtml+xml, image/jxr, */*'])]
    #[TestWith(['text/html'])]
    #[TestWith(['*/*'])]
    public function testWhoWantsAPageGetsThatOfAllOthers(string $accept): void
    {
        $this->prints(static fn(): string => 'page');
        $this->ask(self::request());
        self::assertStringContainsString('; hit', $this->ask(self::request('/', ['Accept' => $accept]))->getHeaderLine('Cache-Status'));
    }

    /** A header over the application's limit gave an error page that all then got (CPDoS, 2019); so did odd characters in one. */
    #[TestWith([400])]
    #[TestWith([413])]
    #[TestWith([431])]
    #[TestWith([500])]
    #[TestWith([502])]
    #[TestWith([503])]
    public function testAnErrorThatARequestCausesIsNotStored(int $status): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader('X-Oversized') ? new Response($status, [], 'error') : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['X-Oversized' => \str_repeat('x', 20_000)]));
    }

    /** Whoever asks for a part of the page gets the part, and nobody else (CVE-2017-7529 was nginx's turn with ranges). */
    public function testAPartThatTheApplicationMakesIsNotThePage(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader('Range')
            ? new Response(206, ['Content-Range' => 'bytes 0-1/4'] + self::PAGE, 'pa')
            : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['Range' => 'bytes=0-1']));
    }

    /** An application that forgets the status of its partial answer. */
    public function testAPartWithTheStatusOfAWhole(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader('Range')
            ? new Response(200, ['Content-Range' => 'bytes 0-1/4'] + self::PAGE, 'pa')
            : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['Range' => 'bytes=0-1']));
    }

    /** Hundreds of ranges in one request took Apache's memory (CVE-2011-3192): they are answered by the whole page, once. */
    public function testAFloodOfRanges(): void
    {
        $page = \str_repeat('0123456789', 100);
        $this->prints($page);
        $this->get();
        $flood = $this->get('/', ['Range' => 'bytes=0-,' . \implode(',', \array_map(static fn(int $from): string => "5-$from", \range(6, 1_300)))]);
        self::assertSame([200, $page], [$flood->getStatusCode(), (string) $flood->getBody()]);
    }

    /** Ranges whose numbers overflow, as in nginx's CVE-2017-7529. */
    #[TestWith(['bytes=-9223372036854775808'])]
    #[TestWith(['bytes=0-18446744073709551615'])]
    #[TestWith(['bytes=-999999999999999'])]
    #[TestWith(['bytes=--1'])]
    #[TestWith(['bytes=999999999999999-'])]
    #[TestWith(['bytes=3-1'])]
    #[TestWith(['bytes= 0-1'])]
    #[TestWith(['pages=0-1'])]
    public function testARangeWithOddNumbers(string $range): void
    {
        $this->get();
        $answer = $this->get('/', ['Range' => $range]);
        self::assertContains($answer->getStatusCode(), [200, 206, 416]);
        self::assertSame($answer->getStatusCode() === 416 ? '' : 'page', (string) $answer->getBody());
        self::assertSame((string) \strlen((string) $answer->getBody()), $answer->getHeaderLine('Content-Length'));
    }

    /** HEAD runs the code of GET, with a body or an empty one: neither is the page. */
    public function testAHeadIsNotThePage(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->getMethod() === 'HEAD' ? '' : 'page');
        $this->assertUnharmed(self::request(), self::request('/', [], 'HEAD'));
        self::assertSame('', (string) $this->ask(self::request('/', [], 'HEAD'))->getBody());
    }

    /** Methods that are no GET: QUERY has a body (RFC 10008), TRACE shows its request to everybody, CONNECT has no path. */
    #[TestWith(['QUERY'])]
    #[TestWith(['TRACE'])]
    #[TestWith(['OPTIONS'])]
    #[TestWith(['PROPFIND'])]
    #[TestWith(['get'])]
    #[TestWith(['Get'])]
    #[TestWith(['GET '])]
    #[TestWith(['GETS'])]
    public function testAnotherMethod(string $method): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'by ' . $request->getMethod());
        $this->assertUnharmed(self::request(), self::request('/', [], $method));
        self::assertSame("by $method", (string) $this->ask(self::request('/', [], $method))->getBody());
    }

    /** A forged order to renew: whoever sends it gets the stored page, and the application does not run for him. */
    #[TestWith(['x'])]
    #[TestWith([''])]
    #[TestWith(['1'])]
    #[TestWith(['0123456789abcdef0123456789abcdef'])]
    public function testAForgedOrderToRenew(string $token): void
    {
        $this->get();
        self::assertStringContainsString('hit', $this->get('/', ['Larder-Renewal' => $token])->getHeaderLine('Cache-Status'));
        self::assertSame(1, $this->runs);
    }

    /** The order to renew is the cache's own: the application never sees it. */
    public function testTheApplicationDoesNotSeeAnOrderToRenew(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page ' . $request->getHeaderLine('Larder-Renewal'));
        $this->assertUnharmed(self::request(), self::request('/', ['Larder-Renewal' => 'x']));
    }

    /** Fields that only a cache says, said by a visitor. */
    #[TestWith(['Age', '999999'])]
    #[TestWith(['Cache-Status', 'Larder; hit'])]
    #[TestWith(['Surrogate-Control', 'max-age=999999'])]
    #[TestWith(['Surrogate-Key', 'all'])]
    #[TestWith(['CDN-Cache-Control', 'max-age=999999'])]
    #[TestWith(['Cache-Tags', 'all'])]
    #[TestWith(['Vary', '*'])]
    #[TestWith(['ETag', '"1"'])]
    #[TestWith(['Expires', 'Fri, 01 Jan 2100 00:00:00 GMT'])]
    #[TestWith(['Date', 'Fri, 01 Jan 2100 00:00:00 GMT'])]
    public function testAFieldOfResponsesInARequest(string $name, string $value): void
    {
        $first = $this->get('/', [$name => $value]);
        $second = $this->get('/', [$name => $value]);
        self::assertSame(['Larder; fwd=uri-miss; stored', ''], [$first->getHeaderLine('Cache-Status'), $first->getHeaderLine('Age')]);
        self::assertMatchesRegularExpression('/^Larder; hit; ttl=(60|59)$/D', $second->getHeaderLine('Cache-Status'));
        foreach (['ETag', 'Date', 'Expires', 'Vary'] as $field) {
            self::assertNotSame($value, $second->getHeaderLine($field));
        }
    }

    /** A visitor told intermediaries to take fields off the request or the answer (Varnish, CVE-2022-45059). */
    #[TestWith(['close, Cookie'])]
    #[TestWith(['close, Authorization'])]
    #[TestWith(['Content-Length'])]
    #[TestWith(['Cache-Control, Vary, Host'])]
    public function testAConnectionThatNamesOtherFields(string $connection): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine('Cookie'));
        $this->assertUnharmed(self::request(), self::request('/', ['Connection' => $connection, 'Cookie' => 'session=1']), self::request('/', ['Connection' => $connection]));
        self::assertSame('4', $this->get('/four', ['Connection' => $connection])->withHeader('Content-Length', '4')->getHeaderLine('Content-Length'));
    }

    /** A visitor cannot make the store keep more, or less, by what he says of himself. */
    #[TestWith(['max-age=99999999999999999999'])]
    #[TestWith(['max-stale=99999999999999999999'])]
    #[TestWith(['min-fresh=-1'])]
    #[TestWith(['max-age=-1'])]
    #[TestWith(['max-age="60"'])]
    #[TestWith([',,,=,;,"'])]
    #[TestWith(['no-store'])]
    public function testARequestsCacheControlDoesNotHarmOthers(string $control): void
    {
        $this->assertUnharmed(self::request(), self::request('/', ['Cache-Control' => $control]));
    }

    /** Clients that send no-cache all the time, to make the server work: the owner may tell that they are not listened to. */
    public function testAFloodOfNoCache(): void
    {
        $this->options = ['clientControl' => false];
        foreach (['no-cache', 'no-store', 'max-age=0', 'only-if-cached, max-age=0'] as $control) {
            $this->get('/', ['Cache-Control' => $control, 'Pragma' => 'no-cache']);
        }
        self::assertSame(1, $this->runs);
    }

    /** An answer to a browser's guess was kept as the page (Next.js kept empty ones, CVE-2023-46298). */
    public function testWhatAPrefetchGotIsNotThePage(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader('Sec-Purpose') ? new Response(204, ['Cache-Control' => 'no-store']) : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['Sec-Purpose' => 'prefetch;prerender']));
    }

    /** An application with an empty answer for prefetches that says nothing about its life, where the owner gives one. */
    #[TestWith(['Sec-Purpose', 'prefetch'])]
    #[TestWith(['Purpose', 'prefetch'])]
    #[TestWith(['X-Moz', 'prefetch'])]
    public function testAnEmptyAnswerToAPrefetchIsNotThePage(string $name, string $value): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(ServerRequestInterface $request): Response => $request->hasHeader($name) ? new Response(200) : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', [$name => $value]));
    }

    /** A proxy setting of the visitor's (httpoxy, CVE-2016-5385) stays out of what others get. */
    public function testAProxyField(): void
    {
        $this->assertUnharmed(self::request(), self::request('/', ['Proxy' => 'http://evil.example']));
    }

    /** A name or a value of bytes that are no text; a key is bytes. */
    public function testHostileBytesInFieldsThatPagesVaryBy(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => \bin2hex($request->getHeaderLine('Accept-Language')), ['Vary' => 'Accept-Language']);
        $this->assertUnharmed(
            self::request('/', ['Accept-Language' => 'de']),
            self::request('/', ['Accept-Language' => "\xFF\xFE"]),
            self::request('/', ['Accept-Language' => \str_repeat("\x80", 10_000)]),
            self::request('/', ['Accept-Language' => 'de:x']),
            self::request(),
        );
    }

    /** Without a host there is nothing to tell one site of the server from another. */
    public function testNoHost(): void
    {
        $this->assertNeverStored((new ServerRequest('GET', '/'))->withoutHeader('Host'), 'host');
    }
}
