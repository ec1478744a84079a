<?php

declare(strict_types=1);

namespace Larder\Tests\Page;

use Larder\Cache;
use Larder\Page\Middleware;
use Larder\Page\PageCache;
use Larder\Page\Pages;
use Larder\Store\Change;
use Larder\System\Failure;
use Larder\Tests\Support\HookedStore;
use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Nyholm\Psr7\ServerRequest;
use Nyholm\Psr7\Stream;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Server\RequestHandlerInterface;

final class MiddlewareTest extends TestCase implements RequestHandlerInterface
{
    private Cache $cache;
    private int $runs = 0;
    private ?ServerRequestInterface $asked = null;

    /** @var \Closure(ServerRequestInterface): ResponseInterface */
    private \Closure $application;

    protected function setUp(): void
    {
        $this->cache = Cache::open('memory://');
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60', 'Content-Type' => 'text/plain'], 'page');
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->runs++;
        $this->asked = $request;

        return ($this->application)($request);
    }

    public function testTheSecondRequestIsAnsweredFromWhatTheFirstStored(): void
    {
        $first = $this->get('/');
        $second = $this->get('/');

        self::assertSame('Larder; fwd=uri-miss; stored', $first->getHeaderLine('Cache-Status'));
        self::assertSame('page', (string) $first->getBody());
        self::assertStringStartsWith('Larder; hit; ttl=', $second->getHeaderLine('Cache-Status'));
        self::assertSame('page', (string) $second->getBody());
        self::assertTrue($second->hasHeader('Age'));
        self::assertSame(1, $this->runs);
    }

    public function testWhatSaysNothingAboutItsLifeIsNotStored(): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, [], 'page');
        $this->get('/');
        $this->get('/');

        self::assertSame(2, $this->runs);
    }

    public function testAPurgeOfTheUrlOrATagRemovesThePage(): void
    {
        $pages = new PageCache($this->cache);
        $this->application = static function (): ResponseInterface {
            PageCache::tag('product-7');

            return new Response(200, ['Cache-Control' => 'max-age=60', 'Cache-Tags' => 'menu'], 'page');
        };
        foreach (['purge' => 'http://shop.example/a', 'purgeTags' => 'product-7'] as $method => $what) {
            $this->get('/a');
            $this->get('/a');
            self::assertTrue($pages->$method($what));
            $before = $this->runs;
            $this->get('/a');
            self::assertSame($before + 1, $this->runs, $method);
        }
        self::assertTrue($pages->purge('/a'));
        $this->get('/a');
        self::assertTrue($pages->purgeTags('menu'));
        $this->get('/a');
        self::assertSame(5, $this->runs);
    }

    public function testAPagePurgedWhileItIsMadeIsNotStored(): void
    {
        $pages = new PageCache($this->cache);
        $this->application = static function () use ($pages): ResponseInterface {
            $pages->purgeTags('menu');

            return new Response(200, ['Cache-Control' => 'max-age=60', 'Cache-Tags' => 'menu'], 'an older page');
        };
        self::assertSame('Larder; fwd=uri-miss; detail="it was purged while it was made, or the cache could not be written"', $this->get('/')->getHeaderLine('Cache-Status'));
        $this->get('/');
        self::assertSame(2, $this->runs);
        // The next one may be stored, so others wait for it.
        self::assertNull((new Pages($this->cache))->notes()->mark('http://shop.example/'));
    }

    /** Of a visitor who has waited for another one in vain, and of one who renews a stale page. */
    // Seen to fail: "stored" was said of a page that the cache had refused when it wrote it.
    public function testAPagePurgedWhileItIsWrittenIsNotSaidToBeStored(): void
    {
        foreach ([[], ['Vary' => 'Accept-Language']] as $fields) {
            $store = new HookedStore();
            $this->cache = $store->cache();
            $this->application = static fn(): ResponseInterface => new Response(200, $fields + ['Cache-Control' => 'max-age=60'], 'page');
            $store->before = static function (string $call, array $changes) use ($store): void {
                if ($call === 'write' && \array_filter($changes, static fn(mixed $change): bool => $change instanceof Change && \str_starts_with($change->key, 'e:page:phttp')) !== []) {
                    $store->before = null;
                    self::assertTrue((new PageCache($store->cache()))->purge('/'));
                }
            };
            $status = $this->get('/')->getHeaderLine('Cache-Status');
            self::assertNull($store->before, 'It was written.');
            self::assertStringStartsWith('Larder; fwd=uri-miss; detail=', $status);
            self::assertStringContainsString('stored', $this->get('/')->getHeaderLine('Cache-Status'));
            self::assertStringContainsString('hit', $this->get('/')->getHeaderLine('Cache-Status'));
        }
    }

    /** The cache is busy when a visitor asks for the right to build, and has given it to another one. */
    // Seen to fail: unasked() that builds without a second look.
    public function testAVisitorWhoCannotAskForTheRightToBuildWaitsForTheBuilder(): void
    {
        $this->application = static function (): ResponseInterface {
            \Fiber::getCurrent() === null || \Fiber::suspend();

            return new Response(200, ['Cache-Control' => 'max-age=60'], 'page');
        };
        $store = new HookedStore();
        $factory = new Psr17Factory();
        $builder = new \Fiber(fn() => (new Middleware((new HookedStore($store->inner))->cache(), [], $factory, $factory))->process(new ServerRequest('GET', 'http://shop.example/'), $this));
        $reads = 0;
        $store->before = static function (string $call) use ($builder, &$reads): void {
            if ($call === 'write' && !$builder->isStarted()) {
                $builder->start();

                throw Failure::because('hooked', 'another process has been writing for too long');
            }
            $builder->isSuspended() && ++$reads > 10 && $builder->resume();
        };
        $this->cache = $store->cache();
        self::assertSame('page', (string) $this->get('/')->getBody());
        self::assertTrue($builder->isTerminated());
        self::assertSame(1, $this->runs);
    }

    public function testAPagePurgedWhileItIsMadeWithoutTheRightToIsNotStored(): void
    {
        $factory = new Psr17Factory();
        $get = fn(string $target): ResponseInterface => (new Middleware($this->cache, ['wait' => 0], $factory, $factory))->process(new ServerRequest('GET', "http://shop.example$target"), $this);
        $purging = function (string $target): void {
            $this->application = function () use ($target): ResponseInterface {
                (new PageCache($this->cache))->purge($target);

                return new Response(200, ['Cache-Control' => 'max-age=60'], 'an older page');
            };
        };
        self::assertTrue((new Pages($this->cache))->builders()->take('http://shop.example/waited'));
        $purging('/waited');
        $get('/waited');
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60, stale-while-revalidate=60', 'Age' => '100', 'ETag' => '"1"'], 'stale');
        $get('/renewed');
        $purging('/renewed');
        self::assertSame('an older page', (string) $get('/renewed')->getBody());

        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60'], 'newer');
        self::assertSame(['newer', 'newer'], [(string) $get('/waited')->getBody(), (string) $get('/renewed')->getBody()]);
    }

    public function testAnExpiredPageIsMadeAnew(): void
    {
        $pages = new PageCache($this->cache);
        $this->get('/');
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60'], 'newer');
        self::assertTrue($pages->expire('/'));
        $this->get('/');

        self::assertSame('newer', (string) $this->get('/')->getBody());
        self::assertSame(2, $this->runs);
    }

    /** Seen to fail: whatever the page said, since it was younger than its life. */
    #[TestWith(['max-age=60'])]
    #[TestWith(['max-age=60, must-revalidate'])]
    #[TestWith(['max-age=60, s-maxage=50, stale-while-revalidate=60'])]
    #[TestWith(['max-age=60, proxy-revalidate, stale-while-revalidate=60'])]
    #[TestWith(['max-age=60, stale-while-revalidate=0'])]
    public function testAnExpiredPageIsNotServedIfItMayNotBeStale(string $control): void
    {
        $pages = new PageCache($this->cache);
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => $control], 'older');
        $this->get('/');
        self::assertSame('older', (string) $this->get('/')->getBody());
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => $control], 'newer');
        self::assertTrue($pages->expire('/'));

        self::assertSame('newer', (string) $this->get('/')->getBody());
    }

    public function testAVisitorWithAnUnknownCookieGetsAPageOfHisOwn(): void
    {
        $this->get('/');
        $private = $this->get('/', ['Cookie' => '_ga=1; session=x']);
        self::assertSame(2, $this->runs);
        self::assertStringContainsString('(session)', $private->getHeaderLine('Cache-Status'));
        $this->get('/', ['Cookie' => '_ga=1; _fbp=2']);
        self::assertSame(2, $this->runs);
    }

    public function testEachVariantIsStored(): void
    {
        $this->application = static fn(ServerRequestInterface $request): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60', 'Vary' => 'Accept-Language'], $request->getHeaderLine('Accept-Language'));
        foreach (['de', 'fr', 'de', 'fr'] as $language) {
            self::assertSame($language, (string) $this->get('/', ['Accept-Language' => $language])->getBody());
        }
        self::assertSame(2, $this->runs);
    }

    public function testAStaleValidatorIsConfirmedByTheApplication(): void
    {
        $this->application = static fn(ServerRequestInterface $request): ResponseInterface => $request->getHeaderLine('If-None-Match') === '"1"'
            ? new Response(304, ['ETag' => '"1"', 'Cache-Control' => 'max-age=60', 'X-New' => 'yes'])
            : new Response(200, ['ETag' => '"1"', 'Cache-Control' => 'max-age=0', 'Content-Type' => 'text/plain'], 'page');
        $this->get('/');
        $confirmed = $this->get('/');
        self::assertSame([200, 'page', 'yes'], [$confirmed->getStatusCode(), (string) $confirmed->getBody(), $confirmed->getHeaderLine('X-New')]);
        $this->get('/');
        self::assertSame(2, $this->runs);
    }

    public function testAFailingApplicationIsAnsweredByTheStalePage(): void
    {
        foreach (['throws' => static fn(): ResponseInterface => throw new \DomainException('broken'), 'answers 503' => static fn(): ResponseInterface => new Response(503, ['Cache-Control' => 'max-age=60'], 'broken')] as $how => $failing) {
            $target = '/' . \md5($how);
            $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60, stale-if-error=100', 'Age' => '100', 'ETag' => '"1"'], 'page');
            $this->get($target);
            $this->application = $failing;
            for ($visit = 0; $visit < 2; $visit++) {
                $response = null;
                $log = $this->logged(function () use ($target, &$response): void {
                    $response = $this->get($target);
                });
                self::assertInstanceOf(ResponseInterface::class, $response);
                self::assertSame([200, 'page', 'Larder; fwd=stale; fwd-status=' . ($how === 'throws' ? 500 : 503)], [$response->getStatusCode(), (string) $response->getBody(), \preg_replace('/; ttl=.*/', '', $response->getHeaderLine('Cache-Status'))]);
                self::assertSame($how === 'throws', \str_contains($log, 'DomainException: broken'), $log);
                self::assertFalse((new Pages($this->cache))->builders()->isBuilt("http://shop.example$target"));
            }
        }
    }

    public function testAnExceptionPassesOnAndNobodyWaits(): void
    {
        $failure = new \DomainException('broken');
        $this->application = static fn(): ResponseInterface => throw $failure;
        for ($visit = 0; $visit < 2; $visit++) {
            try {
                $this->get('/');
                self::fail('The exception has not passed on.');
            } catch (\DomainException $thrown) {
                self::assertSame($failure, $thrown);
            }
            self::assertFalse((new Pages($this->cache))->builders()->isBuilt('http://shop.example/'));
        }
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60'], 'page');
        $this->get('/');
        self::assertStringStartsWith('Larder; hit', $this->get('/')->getHeaderLine('Cache-Status'));
    }

    /** As where start() runs before a framework that has the middleware too: the inner one would wait for the outer one. */
    public function testTheSameRequestDoesNotWaitForItself(): void
    {
        $factory = new Psr17Factory();
        $options = ['overflow' => 'busy', 'waiters' => 0];
        $inner = new Middleware($this->cache, $options, $factory, $factory);
        $outer = new Middleware($this->cache, $options, $factory, $factory);
        $between = new class ($inner, $this) implements RequestHandlerInterface {
            public function __construct(private readonly Middleware $inner, private readonly RequestHandlerInterface $application) {}

            public function handle(ServerRequestInterface $request): ResponseInterface
            {
                return $this->inner->process($request, $this->application);
            }
        };
        $request = new ServerRequest('GET', 'http://shop.example/');

        self::assertSame([200, 'page'], [($response = $outer->process($request, $between))->getStatusCode(), (string) $response->getBody()]);
        $response = $outer->process($request, $between);
        self::assertStringStartsWith('Larder; hit', $response->getHeaderLine('Cache-Status'));
        self::assertSame(1, $this->runs);
        self::assertFalse((new Pages($this->cache))->builders()->isBuilt('http://shop.example/'));

        // Nor does it renew a stale page with that page.
        self::assertTrue((new PageCache($this->cache))->purge('/'));
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60, stale-while-revalidate=60', 'Age' => '100', 'ETag' => '"1"'], 'stale');
        $outer->process($request, $between);
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60'], 'renewed');
        $outer->process($request, $between);
        self::assertSame('renewed', (string) $outer->process($request, $between)->getBody());
    }

    public function testAStreamKeepsItsOwnHeader(): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60', 'Age' => '100', 'ETag' => '"1"', 'X-Of' => 'the page'], 'page');
        $this->get('/');
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=70', 'X-Of' => 'the stream'], \str_repeat('x', (8 << 20) + 1));
        $stream = $this->get('/');

        self::assertSame((8 << 20) + 1, $stream->getBody()->getSize());
        self::assertSame(['the stream', 'max-age=70'], [$stream->getHeaderLine('X-Of'), $stream->getHeaderLine('Cache-Control')]);
        self::assertStringContainsString('stream', $stream->getHeaderLine('Cache-Status'));
    }

    /** A body that has no end yet reaches the visitor as it comes. */
    public function testAStreamIsNotRead(): void
    {
        $pipe = \popen('printf page; exec sleep 2', 'r');
        self::assertIsResource($pipe);
        $body = Stream::create($pipe);
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60'], $body);
        $response = $this->get('/');
        self::assertStringContainsString('stream', $response->getHeaderLine('Cache-Status'));
        self::assertSame('page', $response->getBody()->read(4));
    }

    public function testAPageThatThereIsNoMemoryForIsNotStored(): void
    {
        $this->application = static fn(): ResponseInterface => new Response(200, ['Cache-Control' => 'max-age=60', 'Content-Type' => 'text/html'], \str_repeat('page', 1 << 20));
        $limit = (string) \ini_get('memory_limit');
        \ini_set('memory_limit', (string) (\memory_get_usage(true) + (12 << 20)));
        try {
            $response = $this->get('/');
        } finally {
            \ini_set('memory_limit', $limit);
        }
        self::assertStringContainsString('memory_limit', $response->getHeaderLine('Cache-Status'));
        self::assertSame(4 << 20, \strlen((string) $response->getBody()));
    }

    /** @param \Closure(): void $work */
    private function logged(\Closure $work): string
    {
        $file = (string) \tempnam(\sys_get_temp_dir(), 'log');
        $before = \ini_set('error_log', $file);
        try {
            $work();
        } finally {
            \ini_set('error_log', (string) $before);
        }
        $log = (string) \file_get_contents($file);
        \unlink($file);

        return $log;
    }

    /** @param array<string, string> $fields */
    private function get(string $target, array $fields = []): ResponseInterface
    {
        $factory = new Psr17Factory();

        return (new Middleware($this->cache, [], $factory, $factory))->process(new ServerRequest('GET', "http://shop.example$target", $fields), $this);
    }
}
