<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Page\PageCache;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\Stream;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use Psr\Http\Message\ServerRequestInterface;

/** An application that says odd things, by mistake or because a visitor made it: the cache keeps none that is not a page. */
#[CoversNothing]
final class HostileResponsesTest extends AttackCase
{
    /** An order to the web server to send a file, which the application has given to one visitor after it asked who he is. */
    #[TestWith(['X-Accel-Redirect'])]
    #[TestWith(['X-Sendfile'])]
    #[TestWith(['x-lighttpd-send-file'])]
    #[TestWith(['X-LiteSpeed-Location'])]
    #[TestWith(['X-Lighttpd-Send-Tempfile'])]
    #[TestWith(['X-Sendfile-Temporary'])]
    public function testAnOrderToSendAFile(string $name): void
    {
        $this->prints('x', [$name => '/protected/invoice.pdf']);
        $this->assertNeverStored(self::request('/invoice'), 'order');
    }

    /** An application that forwards another server's answer leaves its framing in, which is not true of the body any more. */
    public function testAFramingThatIsNotThePages(): void
    {
        $this->prints("4\r\npage\r\n0\r\n\r\n", ['Transfer-Encoding' => 'chunked']);
        $this->assertNeverStored(self::request(), 'Transfer-Encoding');
    }

    /** A body that is shorter or longer than it says: it was cut off, or another one's. */
    #[TestWith(['3'])]
    #[TestWith(['5'])]
    #[TestWith(['4, 4'])]
    #[TestWith(['-4'])]
    #[TestWith(['0x4'])]
    public function testALengthThatIsNotThePages(string $length): void
    {
        $this->prints('page', ['Content-Length' => $length]);
        $this->assertNeverStored(self::request(), 'Length');
    }

    /** A part that nobody has asked for, a 304 to nobody, what is not final. */
    #[TestWith([206])]
    #[TestWith([304])]
    #[TestWith([100])]
    #[TestWith([103])]
    public function testAStatusThatIsNoPage(int $status): void
    {
        $this->runs(static fn(): Response => new Response($status, self::PAGE, 'pa'));
        $this->assertNeverStored(self::request());
    }

    /** Next.js kept an empty 204 in the place of a page (CVE-2025-49826): one that nobody gives a life is not kept. */
    #[TestWith([201])]
    #[TestWith([202])]
    #[TestWith([205])]
    #[TestWith([302])]
    #[TestWith([303])]
    #[TestWith([307])]
    #[TestWith([400])]
    #[TestWith([401])]
    #[TestWith([403])]
    #[TestWith([418])]
    #[TestWith([429])]
    #[TestWith([500])]
    #[TestWith([503])]
    #[TestWith([299])]
    #[TestWith([599])]
    public function testAStatusThatNobodyGivesALife(int $status): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(): Response => new Response($status, [], 'x'));
        $this->assertNeverStored(self::request());
    }

    // Seen to fail: who named the server's own port, behind a proxy that hides it, sent all others around in a circle.
    #[TestWith(['/p?q=1', 'https://shop.example/p?q=1'])]
    #[TestWith(['/p', 'https://shop.example:8443/p#top'])]
    #[TestWith(['/p', '//shop.example/p'])]
    #[TestWith(['/', 'http://SHOP.example:80'])]
    #[TestWith(['/p?utm_source=x&q=1', '/p?q=1'])]
    public function testARedirectToItself(string $target, string $to): void
    {
        $this->options = ['ignoredQuery' => ['utm_*']];
        $this->prints('', ['Location' => $to], 301);
        $this->assertNeverStored(self::request($target), 'leads to the same URL');
    }

    #[TestWith(['/p', 'https://www.shop.example/p'])]
    #[TestWith(['/p', '/p/'])]
    #[TestWith(['/p?q=1', '/p?q=2'])]
    public function testARedirectElsewhereIsStored(string $target, string $to): void
    {
        $this->prints('', ['Location' => $to], 301);
        $this->get($target);
        self::assertSame($to, $this->get($target)->getHeaderLine('Location'));
        self::assertSame(1, $this->runs);
    }

    /** A white page: the application died before it printed a byte, and the server said 200. */
    public function testAnEmptyPage(): void
    {
        $this->options = ['ttl' => 600];
        $this->runs(static fn(): Response => new Response(200, [], ''));
        $this->assertNeverStored(self::request(), 'empty');
    }

    /** While the application fails, the page that it made before is not replaced. */
    #[TestWith([500])]
    #[TestWith([503])]
    #[TestWith([504])]
    public function testAFailureDoesNotReplaceAPage(int $status): void
    {
        $pages = new PageCache($this->cache);
        $this->prints('page', ['Cache-Control' => 'max-age=60, stale-if-error=60']);
        $this->get();
        $this->prints('failure', ['Cache-Control' => 'max-age=600'], $status);
        $pages->expire('/');
        self::assertSame('page', (string) $this->get()->getBody());
        $this->prints('page again');
        self::assertSame('page again', (string) $this->get()->getBody());
    }

    /** An application that throws: the visitor gets the exception, and the next one does not wait for a builder that is gone. */
    public function testAnExceptionLeavesNothingBehind(): void
    {
        $this->runs(static fn(): never => throw new \RuntimeException('down'));
        foreach ([1, 2] as $time) {
            try {
                $this->get();
                self::fail();
            } catch (\RuntimeException $failure) {
                self::assertSame('down', $failure->getMessage());
            }
        }
        $this->prints('page');
        $this->assertUnharmed(self::request());
    }

    /** A body that breaks off while it is read. */
    public function testABodyThatBreaksOff(): void
    {
        $this->runs(static function (): Response {
            $pipe = \popen('printf half', 'r');
            self::assertIsResource($pipe);

            return new Response(200, ['Content-Length' => '8'] + self::PAGE, Stream::create($pipe));
        });
        $this->assertNeverStored(self::request(), 'stream');
    }

    /** The application compresses by itself and says no Vary: who takes no gzip got bytes that he could not read. */
    public function testACodedPageWithoutVary(): void
    {
        $this->runs(static fn(ServerRequestInterface $request): Response => \str_contains($request->getHeaderLine('Accept-Encoding'), 'gzip')
            ? new Response(200, ['Content-Encoding' => 'gzip'] + self::PAGE, (string) \gzencode('page'))
            : new Response(200, self::PAGE, 'page'));
        $this->assertUnharmed(self::request(), self::request('/', ['Accept-Encoding' => 'gzip']));
    }

    /** A gigabyte of zeros in a megabyte: nobody unpacks what the application has packed. */
    public function testACompressionBomb(): void
    {
        $bomb = (string) \gzencode(\str_repeat("\0", 64 << 20), 9);
        $this->prints($bomb, ['Content-Encoding' => 'gzip', 'Vary' => 'Accept-Encoding']);
        $this->get();
        \memory_reset_peak_usage();
        $before = \memory_get_usage();
        self::assertSame($bomb, (string) $this->get()->getBody());
        self::assertLessThan(4 << 20, \memory_get_peak_usage() - $before);
    }

    /** Squid died of a crafted Vary (CVE-2016-2569); others kept a list that grew with each response. */
    public function testAVaryThatChangesEachTime(): void
    {
        $number = 0;
        $this->runs(static function (ServerRequestInterface $request) use (&$number): Response {
            return new Response(200, ['Cache-Control' => 'max-age=60', 'Vary' => 'X-' . ($number++ % 20)], 'page of ' . $request->getHeaderLine('X-Me'));
        });
        foreach (\range(1, 60) as $visitor) {
            $mine = \array_fill_keys(\array_map(static fn(int $n): string => "X-$n", \range(0, 19)), (string) $visitor) + ['X-Me' => (string) $visitor];
            self::assertSame("page of $visitor", (string) $this->get('/', $mine)->getBody());
            self::assertSame("page of $visitor", (string) $this->get('/', $mine)->getBody());
        }
    }

    /** A Vary of a thousand names, of nothing. */
    #[TestWith(['thousand'])]
    #[TestWith([',,, ,'])]
    public function testAnOddVary(string $vary): void
    {
        $vary = $vary === 'thousand' ? \implode(', ', \array_map(static fn(int $n): string => "X-$n", \range(1, 1_000))) : $vary;
        $this->prints('page', ['Vary' => $vary]);
        $this->assertUnharmed(self::request(), self::request('/', ['X-1' => 'evil']));
    }

    /** Names of bytes, parted by spaces or semicolons, or in quotes: read as one name they hide what the page depends on. */
    #[TestWith(["X-\xFF"])]
    #[TestWith(['X Y'])]
    #[TestWith(['X-A X-B'])]
    #[TestWith(['X-A;X-B'])]
    #[TestWith(['"X-A"'])]
    #[TestWith(['Accept-Language;q=1'])]
    public function testAMalformedVary(string $vary): void
    {
        $this->prints('page', ['Vary' => $vary]);
        $this->assertNeverStored(self::request(), 'Vary is malformed');
    }

    /** Vary: * means that nobody knows what the page depends on; also among others. */
    #[TestWith(['*'])]
    #[TestWith(['Accept, *'])]
    #[TestWith([' * ,'])]
    public function testAVaryOfAnything(string $vary): void
    {
        $this->prints('page', ['Vary' => $vary]);
        $this->assertNeverStored(self::request(), 'Vary');
    }

    /** Millions of tags for few pages filled other caches: a page with too many is not kept, for each read asks for each. */
    public function testAFloodOfTags(): void
    {
        $this->prints('page', ['Cache-Tags' => \implode(', ', \array_map(static fn(int $n): string => "tag-$n", \range(1, 5_000)))]);
        $this->assertNeverStored(self::request(), 'tags');
    }

    public function testAVeryLongTag(): void
    {
        $this->prints('page', ['Cache-Tags' => \str_repeat('x', 100_000)]);
        $this->assertNeverStored(self::request(), 'tags');
    }

    /** Tags of bytes, of the cache's own signs, of nothing: a page that has them is found by them, and by no other. */
    #[TestWith(["\xFF\xFE"])]
    #[TestWith(['~menu'])]
    #[TestWith(['*'])]
    #[TestWith(['%'])]
    #[TestWith(["'; DROP TABLE entries; --"])]
    #[TestWith(['../../etc/passwd'])]
    #[TestWith(['0'])]
    #[TestWith(['url http://shop.example/'])]
    #[TestWith(["\r\nFLUSHALL\r\n"])]
    public function testAHostileTag(string $tag): void
    {
        $pages = new PageCache($this->cache);
        $this->runs(static function () use ($tag): Response {
            PageCache::tag($tag, '', ' ');

            return new Response(200, self::PAGE, 'page');
        });
        $this->get('/');
        $this->prints('page', ['Cache-Tags' => 'menu']);
        $this->get('/other');
        self::assertTrue($pages->purgeTags($tag));
        $this->get('/other');
        self::assertSame(2, $this->runs);
        $this->get('/');
        self::assertSame(3, $this->runs);
    }

    /** A purge by thousands of hostile tags purges what has them, which is nothing. */
    public function testAPurgeByAFloodOfTags(): void
    {
        $this->get();
        self::assertTrue((new PageCache($this->cache))->purgeTags(...\array_map(static fn(int $n): string => "\0$n\xFF" . \str_repeat('x', 300), \range(1, 2_000))));
        $this->get();
        self::assertSame(1, $this->runs);
    }

    /** Numbers that overflow, and fields that break their grammar: the safe side is to be stale, or not to be stored. */
    #[TestWith([['Age' => '99999999999999999999']])]
    #[TestWith([['Age' => '61']])]
    #[TestWith([['Cache-Control' => 'max-age=']])]
    #[TestWith([['Cache-Control' => 'max-age=-1']])]
    #[TestWith([['Cache-Control' => 'max-age=6e9']])]
    #[TestWith([['Cache-Control' => 'max-age=0x3c']])]
    #[TestWith([['Cache-Control' => 's-maxage=0, max-age=60']])]
    #[TestWith([['Cache-Control' => 'no-cache, max-age=60']])]
    #[TestWith([['CDN-Cache-Control' => 'max-age=0']])]
    #[TestWith([['CDN-Cache-Control' => 'no-store']])]
    public function testALifeThatIsNone(array $fields): void
    {
        /** @var array<string, string> $fields */
        $this->runs(static fn(): Response => new Response(200, $fields + self::PAGE, 'page'));
        $this->assertNeverStored(self::request());
    }

    /** An application that calls itself the cache. */
    public function testAForgedCacheStatus(): void
    {
        $this->prints('page', ['Cache-Status' => 'Larder; hit; ttl=999', 'Age' => '0']);
        $this->get();
        self::assertMatchesRegularExpression('/^Larder; hit; ttl=(60|59)$/D', $this->get()->getHeaderLine('Cache-Status'));
    }

    /** Ten thousand lines, each of which every hit would send. */
    #[Group('slow')]
    public function testAFloodOfHeaderLines(): void
    {
        $this->prints('page', \array_fill_keys(\array_map(static fn(int $n): string => "X-$n", \range(1, 10_000)), 'x'));
        $this->get();
        $hit = $this->get();
        self::assertSame('page', (string) $hit->getBody());
        self::assertSame('x', $hit->getHeaderLine('X-10000'));
    }

    /** What belongs to one connection is not sent on another. */
    public function testFieldsOfOneConnection(): void
    {
        $this->prints('page', ['Connection' => 'close, X-Secret', 'Keep-Alive' => 'timeout=5', 'X-Secret' => 'of this connection', 'Proxy-Authenticate' => 'Basic', 'Upgrade' => 'h2c', 'Trailer' => 'X']);
        $this->get();
        $hit = $this->get();
        foreach (['Connection', 'Keep-Alive', 'X-Secret', 'Proxy-Authenticate', 'Upgrade', 'Trailer'] as $name) {
            self::assertFalse($hit->hasHeader($name), $name);
        }
    }

    /** A download of any size passes, and is neither kept nor held in memory. */
    public function testAHugeDownload(): void
    {
        $this->options = ['largest' => 1 << 20];
        $file = \tmpfile();
        self::assertIsResource($file);
        \ftruncate($file, 256 << 20);
        $this->runs(static fn(): Response => new Response(200, self::PAGE, Stream::create($file)));
        \memory_reset_peak_usage();
        $before = \memory_get_usage();
        $this->assertNeverStored(self::request('/download'), 'too long');
        self::assertLessThan(8 << 20, \memory_get_peak_usage() - $before);
    }
}
