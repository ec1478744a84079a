<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Files;

use Larder\Cache;
use Larder\Page\PageCache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;

/** Two servers with a directory each, over one Redis. */
final class ServersTest extends FilesCase
{
    private RedisServer $redis;

    protected function setUp(): void
    {
        $this->redis = new RedisServer();
        parent::setUp();
    }

    public function testAnotherServersPurgeTakesTheFilesAtOnceHereAndAtTheNextRequestThere(): void
    {
        [$files, $there] = $this->twoServers();
        self::assertTrue((new PageCache($this->server('a')))->purge('/page'));

        self::assertSame([], $this->all());
        $this->static = $there;
        self::assertSame($files, $this->all());
        $this->cache = $this->server('b');
        $this->get('/private', ['Cookie' => 'session=1']);
        self::assertSame([], $this->all());
    }

    public function testAFollowerTakesThemWithoutARequest(): void
    {
        [, $there] = $this->twoServers();
        $follower = new Process([\PHP_BINARY, \dirname(__DIR__, 3) . '/bin/larder', 'page:follow', '--dsn=' . $this->dsn('b')]);
        $cache = new PageCache($this->server('a'));
        $this->static = $there;
        for ($round = 0; $round < 3; $round++) {
            self::assertNotSame([], $this->all());
            self::assertTrue($cache->purge('/page'));
            $this->awaitNone();
            // A page that is made while the follower is still at it may go too.
            for ($try = 0; $this->all() === [] && $try < 100; ++$try) {
                $this->cache = $this->server('b');
                $this->get('/page');
                \usleep(20_000);
            }
        }
        // It goes on when Redis has been away, in which time something was purged.
        $this->redis->stop();
        \usleep(300_000);
        self::assertNotSame([], $this->all());
        $this->redis->start();
        $this->awaitNone();
        $follower->signal(\SIGTERM);
        self::assertSame(0, $follower->wait());
    }

    public function testAFileLivesAMinuteWhereNobodyFollows(): void
    {
        $now = \time();
        $this->cache = $this->server('a');
        $this->get('/page');
        $ends = \array_map(static fn(string $file): int => ((int) \explode('/', $file)[0] + 1) * (\strlen(\explode('/', $file)[0]) === 9 ? 10 : 1_000), $this->all());

        self::assertNotSame([], $ends);
        self::assertLessThan($now + 62, \max($ends));
    }

    protected function other(): Cache
    {
        return $this->server('a');
    }

    private function dsn(string $name): string
    {
        return 'sqlite://' . $this->directory->file("near-$name") . "?far=redis://{$this->redis->socket}";
    }

    private function server(string $name): Cache
    {
        return Cache::open($this->dsn($name));
    }

    /** @return array{list<string>, string} the files, and the second server's directory; the first one is in $static */
    private function twoServers(): array
    {
        $there = $this->directory->file('static-b');
        $here = $this->static;
        $files = [];
        foreach (['b' => $there, 'a' => $here] as $name => $static) {
            $this->static = $static;
            $this->cache = $this->server($name);
            $this->get('/page');
            self::assertNotSame([], $this->all());
            $name === 'b' && $files = $this->all();
        }

        return [$files, $there];
    }

    private function awaitNone(): void
    {
        for ($end = \hrtime(true) + 20_000_000_000; $this->all() !== [] && \hrtime(true) < $end;) {
            \usleep(2_000);
        }
        self::assertSame([], $this->all());
    }
}
