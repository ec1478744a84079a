<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Attack;

use Larder\Page\PageCache;
use Larder\Page\Pages;
use Nyholm\Psr7\Response;
use PHPUnit\Framework\Attributes\CoversNothing;
use Psr\Http\Message\ServerRequestInterface;

/** A process that answers many requests (RoadRunner, FrankenPHP, Swoole): nothing of one comes into another. */
#[CoversNothing]
final class OneProcessTest extends AttackCase
{
    /** Octane's applications kept the last visitor's request in a static property, and answered the next one for him. */
    public function testAVisitorBetweenTwoOthers(): void
    {
        $this->prints(static fn(ServerRequestInterface $request): string => 'page of ' . $request->getHeaderLine('Cookie') . ' at ' . $request->getRequestTarget());
        $ann = self::request('/account', ['Cookie' => 'session=ann']);
        for ($time = 0; $time < 3; $time++) {
            self::assertSame('page of session=ann at /account', (string) $this->ask($ann)->getBody());
            self::assertSame('page of  at /account', (string) $this->get('/account')->getBody());
            self::assertSame('page of session=bob at /other', (string) $this->get('/other', ['Cookie' => 'session=bob'])->getBody());
        }
        self::assertSame(7, $this->runs);
    }

    /** Nothing is read from the process's own request, nor written to it. */
    public function testTheProcesssOwnVariablesAreLeftAlone(): void
    {
        $before = [$_SERVER, $_GET, $_COOKIE, $_REQUEST];
        $_SERVER['HTTP_COOKIE'] = 'session=of the process';
        $_SERVER['HTTP_AUTHORIZATION'] = 'Basic x';
        try {
            $this->assertUnharmed(self::request());
            self::assertSame(['session=of the process', $before[1], $before[2], $before[3]], [$_SERVER['HTTP_COOKIE'], $_GET, $_COOKIE, $_REQUEST]);
        } finally {
            [$_SERVER, $_GET, $_COOKIE, $_REQUEST] = $before;
        }
    }

    /** Tags of a request that failed are not the next page's, which would go whenever the first one's did. */
    public function testTagsOfARequestThatFailed(): void
    {
        $this->runs(static function (): never {
            PageCache::tag('of the failure');
            throw new \RuntimeException();
        });
        try {
            $this->get('/failing');
        } catch (\RuntimeException) {
        }
        $this->prints('page');
        $this->get('/');
        (new PageCache($this->cache))->purgeTags('of the failure');
        $this->get('/');
        self::assertSame(2, $this->runs);
    }

    /** A request within a request, as fragments of a page are made: each has its own tags, and the outer one does not lose its. */
    public function testARequestWithinARequest(): void
    {
        $this->runs(function (ServerRequestInterface $request): Response {
            if ($request->getRequestTarget() === '/fragment') {
                PageCache::tag('of the fragment');

                return new Response(200, self::PAGE, 'fragment of ' . $request->getHeaderLine('Host'));
            }
            PageCache::tag('of the page');
            $fragment = $this->ask(self::request('/fragment', ['Host' => 'fragments.example', 'Cookie' => 'session=inner']));

            return new Response(200, self::PAGE, 'page with ' . $fragment->getBody());
        });
        $this->assertUnharmed(self::request());
        (new PageCache($this->cache))->purgeTags('of the page');
        $before = $this->runs;
        $this->get();
        self::assertSame($before + 2, $this->runs);
    }

    /** After an exception nobody waits for the page: it is known to fail. */
    public function testAPageThatThrows(): void
    {
        $this->runs(static fn(): never => throw new \RuntimeException());
        try {
            $this->get();
        } catch (\RuntimeException) {
        }
        self::assertStringContainsString('RuntimeException', (string) (new Pages($this->cache))->notes()->mark('http://shop.example/'));
    }
}
