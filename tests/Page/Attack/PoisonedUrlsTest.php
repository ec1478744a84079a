<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Page\PageCache;
use Nyholm\Psr7\Response;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use Psr\Http\Message\ServerRequestInterface;

/** URLs that the cache and the application read differently, and pages stored under a URL that looks public. */
#[CoversNothing]
final class PoisonedUrlsTest extends AttackCase
{
    /** Web cache deception (PayPal 2017, ChatGPT 2023): the account's page under the name of a static file. */
    #[TestWith(['/account/x.css'])]
    #[TestWith(['/account;x.css'])]
    #[TestWith(['/account%2fx.css'])]
    #[TestWith(['/account%00.css'])]
    #[TestWith(['/account%0A.css'])]
    #[TestWith(['/account%3Fx.css'])]
    #[TestWith(['/account%23x.css'])]
    #[TestWith(['/static/..%2faccount'])]
    #[TestWith(['/static/../account'])]
    #[TestWith(['/assets/%2e%2e/account.js'])]
    #[TestWith(['/favicon.ico/../account'])]
    #[TestWith(['/account?x.css'])]
    #[TestWith(['/account/robots.txt'])]
    public function testAnAccountUnderTheNameOfAFile(string $target): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'account of ' . $request->getHeaderLine('Cookie'));
        $this->assertNeverStored(self::request($target, ['Cookie' => 'session=1']), 'session');
        self::assertSame('account of ', (string) $this->get($target)->getBody());
    }

    /** The same where the account's page says only that it is private. */
    public function testAPrivatePageUnderTheNameOfAFile(): void
    {
        $this->prints('account', ['Cache-Control' => 'private', 'Content-Type' => 'text/css']);
        $this->assertNeverStored(self::request('/account/x.css'), 'private');
    }

    /** A parameter of campaigns is left out of the key and still printed by the application. */
    #[TestWith(['/?utm_source=<script>'])]
    #[TestWith(['/?utm_source=%3Cscript%3E'])]
    #[TestWith(['/?utm_source[]=x'])]
    #[TestWith(['/?utm_source[x]=%3Cscript%3E'])]
    #[TestWith(['/?utm_source'])]
    #[TestWith(['/?utm_source=1&utm_source=2'])]
    #[TestWith(['/?utm_source=1;evil=1'])]
    #[TestWith(['/?utm_source=1%26evil=1'])]
    #[TestWith(['/?&utm_source=1&'])]
    #[TestWith(['/?utm.source=1'])]
    #[TestWith(['/?utm%5Fsource=1'])]
    #[TestWith(['/?%75tm_source=1'])]
    #[TestWith(['/?UTM_SOURCE=1'])]
    #[TestWith(['/?+utm_source=1'])]
    public function testAnIgnoredParameterIsNotInThePage(string $target): void
    {
        $this->options = ['ignoredQuery' => ['utm_*']];
        $this->prints(static fn(ServerRequestInterface $request): string => \json_encode([$request->getQueryParams(), $request->getUri()->getQuery(), $request->getRequestTarget()], \JSON_THROW_ON_ERROR));
        $this->assertUnharmed(self::request(), self::request($target)->withUri(self::request()->getUri()->withQuery(\explode('?', $target, 2)[1])));
    }

    /** Parameter cloaking: a separator that only the application knows (CVE-2021-23336, CVE-2020-28473). */
    #[TestWith(['/?id=1;id=2'])]
    #[TestWith(['/?id=1&id=2'])]
    #[TestWith(['/?id=2&id=1'])]
    #[TestWith(['/?id[]=1'])]
    #[TestWith(['/?id%00=2'])]
    #[TestWith(['/?%69d=2'])]
    #[TestWith(['/?ID=1'])]
    #[TestWith(['/?id=1#id=2'])]
    #[TestWith(['/?id=1&'])]
    #[TestWith(['/?id=%31'])]
    #[TestWith(['/??id=1'])]
    #[TestWith(['/?'])]
    public function testAQueryThatTheApplicationMayReadDifferently(string $target): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->getRequestTarget());
        $this->assertUnharmed(self::request('/?id=1'), self::request($target));
        $this->assertUnharmed(self::request(), self::request($target));
    }

    /** Django forgot a parameter in its key: two orders, two pages. */
    public function testTheOrderOfParameters(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->getRequestTarget());
        $this->assertUnharmed(self::request('/?a=1&b=2'), self::request('/?b=2&a=1'));
    }

    /** Paths that servers take for the same and applications need not. */
    #[TestWith(['//about'])]
    #[TestWith(['/./about'])]
    #[TestWith(['/x/../about'])]
    #[TestWith(['/%61bout'])]
    #[TestWith(['/About'])]
    #[TestWith(['/about/'])]
    #[TestWith(['/about/.'])]
    #[TestWith(['/about%2f'])]
    #[TestWith(['/about%20'])]
    #[TestWith(['/about%00'])]
    #[TestWith(['/about%5c'])]
    #[TestWith(['/%2e/about'])]
    #[TestWith(['\\about'])]
    #[TestWith(['/\\about'])]
    #[TestWith(['/about\\'])]
    #[TestWith(["/about\0"])]
    #[TestWith(["/about\r\nX: y"])]
    #[TestWith(["/about\xC3\xA4"])]
    #[TestWith(['/about;v=1'])]
    #[TestWith(['/about#x'])]
    #[TestWith(['/index.php/about'])]
    public function testAnotherSpellingOfAPath(string $target): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => $request->getRequestTarget());
        $this->assertUnharmed(self::request('/about'), self::evil($target));
    }

    /** W3 Total Cache printed its key into the page (CVE-2014-8724): nothing of a request comes into a stored page or its header. */
    public function testTheKeyIsNotShown(): void
    {
        foreach ([1, 2] as $time) {
            $answer = $this->get('/?secret-of-the-key=' . \str_repeat('x', 100), ['Accept-Language' => 'secret-of-the-key', 'User-Agent' => 'secret-of-the-key']);
            self::assertStringNotContainsString('secret', (string) $answer->getBody() . \json_encode($answer->getHeaders()));
        }
    }

    /** A page's text is text: no directive in it runs (W3 Total Cache CVE-2013-2010 and CVE-2025-9501, WP Super Cache CVE-2013-2009). */
    #[TestWith(['<!--mfunc eval(1); --><!--/mfunc-->'])]
    #[TestWith(['<!--dynamic-cached-content--><?php echo 1; ?>'])]
    #[TestWith(['<?php system("id"); ?>'])]
    #[TestWith(['<esi:include src="http://evil.example/"/>'])]
    #[TestWith(['<!--#exec cmd="id"-->'])]
    public function testCodeInAPageStaysText(string $code): void
    {
        $this->prints($code);
        $this->get();
        self::assertSame($code, (string) $this->get()->getBody());
    }

    /** Longer targets than any browser's are not kept: each would cost memory. */
    public function testAVeryLongTarget(): void
    {
        $this->assertNeverStored(self::request('/?' . \str_repeat('x', 4_000)), 'longer');
    }

    /** A redirect to where the attacker said, by a parameter that is in the key. */
    public function testARedirectByAParameter(): void
    {
        $this->options = ['ignoredQuery' => ['utm_*']];
        $this->runs(static fn(ServerRequestInterface $request): Response => new Response(301, ['Location' => '/new?' . $request->getUri()->getQuery()] + self::PAGE));
        $this->get('/old?utm_source=evil');
        self::assertSame('/new?', $this->get('/old')->getHeaderLine('Location'));
    }

    /** A purge by a path that leads elsewhere purges nothing else, and one without a host all hosts and no more. */
    public function testAPurgeOfAnOddUrlPurgesNothingElse(): void
    {
        $pages = new PageCache($this->cache);
        $this->get('/about');
        foreach (['http://shop.example/about/..', 'http://shop.example/abou', 'http://shop.example/about?', 'http://evil.example/about', '/', '/about/', '/abo*'] as $url) {
            self::assertTrue($pages->purge($url));
        }
        $this->get('/about');
        self::assertSame(1, $this->runs);
        $pages->purge('/about#part');
        $this->get('/about');
        self::assertSame(2, $this->runs);
    }

    /** As it comes from a server that lets it through: PSR-7 itself refuses white space. */
    private static function evil(string $target): ServerRequestInterface
    {
        try {
            return self::request($target);
        } catch (\InvalidArgumentException) {
            return self::request('/refused-by-psr-7');
        }
    }
}
