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
            $this->cache = $this->server('b');
            $this->get('/page');
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

    /** Seen to fail: it noted what it had read before, and took out the page for a purge that was applied already. */
    public function testAFollowerLeavesPagesThatAreMadeWhileItNotesWhatItHasRead(): void
    {
        [, $there] = $this->twoServers();
        $this->static = $there;
        // It notes by a rename, which takes it half a second here. (With -D it is this process's child, and not strace.)
        $follower = new Process(['strace', '-D', '-f', '-o', '/dev/null', '-e', 'trace=rename', '-e', 'inject=rename:delay_enter=500000', \PHP_BINARY, \dirname(__DIR__, 3) . '/bin/larder', 'page:follow', '--dsn=' . $this->dsn('b')]);
        // What its first looks find.
        $this->awaitNote();
        $this->server('a')->set('no page', 1);
        self::await(fn(): bool => $this->notes() !== []);
        self::assertTrue((new PageCache($this->server('a')))->purge('/page'));
        $this->cache = $this->server('b');
        $this->get('/page');
        self::assertNotSame([], $this->all());
        $this->awaitNote();
        $this->awaitNote();
        self::assertNotSame([], $this->all());
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
        // A busy machine's server is not taken for one that is down, for which no file is written.
        return "redis://{$this->redis->socket}?timeout=5&near=sqlite://" . $this->directory->file("near-$name");
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
        self::await(fn(): bool => $this->all() === []);
    }

    /** Until the follower has noted another change, which concerns no page, and all before it. */
    private function awaitNote(): void
    {
        $file = "$this->static/state/applied";
        self::assertTrue($this->server('a')->set('no page', \random_bytes(8)));
        $mark = $this->server('b')->internals()->journal()['mark'] ?? '';
        self::await(static fn(): bool => \is_file($file) && \file_get_contents($file) === $mark);
    }

    /** @return list<string> what the follower is about to note */
    private function notes(): array
    {
        return \glob("$this->static/state/new-*") ?: [];
    }

    /** @param \Closure(): bool $condition */
    private static function await(\Closure $condition): void
    {
        for ($end = \hrtime(true) + 20_000_000_000; !$condition() && \hrtime(true) < $end;) {
            \usleep(2_000);
        }
        self::assertTrue($condition());
    }
}
