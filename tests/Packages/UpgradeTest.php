<?php

declare(strict_types=1);

namespace Larder\Tests\Packages;

use Larder\Tests\Packages\Upgrade\PreviousRelease;
use Larder\Tests\Packages\Upgrade\Releases;
use Larder\Tests\Packages\Upgrade\SharedCache;
use Larder\Tests\Packages\Upgrade\Values;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\AssertionFailedError;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Process\Process;

/**
 * What docs/upgrade.md promises of the cache: over an update it may begin empty, nothing of one release is read as something
 * else by the other, and nothing old comes back; also while both work on it, and on the way back.
 */
#[CoversNothing]
#[Group('long')]
final class UpgradeTest extends TestCase
{
    private static ?RedisServer $redis = null;
    private static ?MemcachedServer $memcached = null;

    public static function tearDownAfterClass(): void
    {
        self::$redis = self::$memcached = null;
        Releases::forget();
    }

    /** @return iterable<string, array{0: array<string, mixed>, 1: int, 2?: true}> configuration, how many servers share it, and whether each release has its own extension */
    public static function caches(): iterable
    {
        yield 'SQLite' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'none'], 1];
        yield 'files' => [['dsn' => 'file://{directory}/cache', 'near' => 'none'], 1];
        yield 'Redis' => [['dsn' => 'redis://{redis}', 'near' => 'none'], 2];
        yield 'Redis, signed' => [['dsn' => 'redis://{redis}', 'near' => 'none', 'secret' => 'a secret of enough characters'], 2];
        yield 'Memcached' => [['dsn' => 'memcached://{memcached}', 'near' => 'none'], 2];
        yield 'APCu over SQLite' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'apcu'], 1];
        yield 'APCu over Redis' => [['dsn' => 'redis://{redis}', 'near' => 'apcu'], 2];
        yield 'APCu over Memcached' => [['dsn' => 'memcached://{memcached}', 'near' => 'apcu'], 2];
        yield 'SQLite over Redis' => [['dsn' => 'redis://{redis}', 'near' => 'sqlite://{directory}/near{server}', 'secret' => 'a secret of enough characters'], 2];
        if (\extension_loaded('larder')) {
            yield 'the segment over SQLite' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'segment'], 1];
            yield 'the segment over Redis' => [['dsn' => 'redis://{redis}', 'near' => 'segment'], 2];
            yield 'the segment over SQLite, by extensions of both' => [['dsn' => 'sqlite://{directory}/cache', 'near' => 'segment'], 1, true];
            yield 'the segment over Redis, by extensions of both' => [['dsn' => 'redis://{redis}', 'near' => 'segment'], 2, true];
        }
    }

    /** @param array<string, mixed> $config */
    #[DataProvider('caches')]
    public function testNothingIsMisreadAndNothingComesBack(array $config, int $servers, bool $haveExtensions = false): void
    {
        $releases = new Releases($servers, $haveExtensions);
        $cache = $this->cache($releases, $config, $servers);

        $this->store($cache, Releases::OLD);
        [$there, $held] = $cache->check(Releases::NEW);
        self::assertContains($there, [$held, 0], "the new release reads all of $held values, or begins empty");
        $this->takeAway($cache, Releases::OLD);
        $this->checkAll($cache, Releases::NEW);
        $this->change($cache, Releases::NEW);
        // The way back.
        $this->checkAll($cache, Releases::OLD);
        $this->store($cache, Releases::NEW);
        $this->takeAway($cache, Releases::NEW);
        $this->checkAll($cache, Releases::OLD);
        $this->change($cache, Releases::OLD);
        $this->checkAll($cache, Releases::NEW);
        self::assertSame('', $releases->complaints());
    }

    /** @param array<string, mixed> $config */
    #[DataProvider('caches')]
    public function testRequestsOfBothReleasesInTurn(array $config, int $servers, bool $haveExtensions = false): void
    {
        $releases = new Releases($servers, $haveExtensions);
        $cache = $this->cache($releases, $config, $servers);
        $seed = \random_int(0, 1_000_000);
        \mt_srand($seed);
        $release = static fn(): string => \mt_rand(0, 1) === 0 ? Releases::OLD : Releases::NEW;
        $there = 0;
        for ($i = 0; $i < 60; $i++) {
            $number = \mt_rand(0, 3);
            $group = ['', 'group'][\mt_rand(0, 1)];
            [$method, $arguments] = match (\mt_rand(0, 15)) {
                0, 1, 2 => ['set', ["key $number", "set $i"]],
                3, 4, 5 => ['set', ["tagged $number", "set $i", 0, ["tag $number", 'tag']]],
                6 => ['add', ["key $number", "add $i"]],
                7 => ['replace', ["key $number", "replace $i"]],
                8 => ['remember', ["key $number", "remember $i"]],
                9 => ['update', ["key $number", "update $i"]],
                10, 11 => ['increment', ["count $number", $i + 1]],
                12 => ['delete', [['key ', 'tagged ', 'count '][\mt_rand(0, 2)] . $number]],
                13 => ['invalidateTags', ["tag $number"]],
                14 => ['invalidateTags', ['tag']],
                15 => ['flush', []],
            };
            $reads = !\in_array($method, ['flush', 'invalidateTags'], true) && \mt_rand(0, 1) === 0;
            $cache->call($release(), $method, $arguments, $group, \mt_rand(0, $servers - 1), reads: $reads);
            $there += $cache->check($release(), \mt_rand(0, $servers - 1), "after $i calls, seed $seed")[0];
        }
        self::assertGreaterThan(0, $there);
        self::assertSame('', $releases->complaints());
    }

    /** @param array<string, mixed> $config */
    #[DataProvider('caches')]
    public function testProcessesOfBothReleasesAtOnce(array $config, int $servers, bool $haveExtensions = false): void
    {
        $releases = new Releases($servers, $haveExtensions);
        $cache = $this->cache($releases, $config, $servers);
        // What is read after a set has returned is that value or a newer one, whichever release has set it.
        $write = <<<'PHP'
            $cache = Larder\Cache::open($a[0]);
            for ($n = 1, $failed = 0; $n <= 200; $n++) {
                $failed += (int) !($n % 10 === 0 ? $cache->delete($a[1]) && $cache->set($a[1], $n) : $cache->set($a[1], $n));
                file_put_contents("$a[2].new", (string) $n);
                rename("$a[2].new", $a[2]);
                $cache->refresh();
            }

            return $failed;
            PHP;
        $read = <<<'PHP'
            $cache = Larder\Cache::open($a[0]);
            for ($least = 0; $least < 200;) {
                $least = (int) file_get_contents($a[2]);
                $cache->refresh();
                $found = $cache->get($a[1]);
                if ($found !== null && (!is_int($found) || $found < $least)) {
                    return "$found after $least";
                }
            }

            return 'never older';
            PHP;
        $requests = [];
        foreach ([Releases::OLD, Releases::NEW] as $writer) {
            $arguments = static fn(int $server): array => [$cache->config($server), "by $writer", $releases->file("written by $writer")];
            \file_put_contents($releases->file("written by $writer"), '0');
            $requests[] = [$reader = Releases::other($writer), $releases->begin($reader, $read, $arguments($servers - 1), $servers - 1)];
            $requests[] = [$writer, $releases->begin($writer, $write, $arguments(0))];
        }
        foreach ($requests as [$release, $request]) {
            $result = $releases->end($release, $request);
            $releases->isRefused($release) && \is_int($result) || self::assertContains($result, [0, 'never older'], "the $release release: " . $releases->complaints());
        }
        self::assertSame('', $releases->complaints());
    }

    /** @param array<string, mixed> $config */
    #[DataProvider('caches')]
    public function testTimesAndTagsAreRead(array $config, int $servers, bool $haveExtensions = false): void
    {
        $releases = new Releases($servers, $haveExtensions);
        $cache = $this->cache($releases, $config, $servers);
        foreach ([Releases::OLD, Releases::NEW] as $writer) {
            $reader = Releases::other($writer);
            $read = static fn(string $code): mixed => $releases->run($reader, '$cache = Larder\Cache::open($a[0]);' . $code, [$cache->config($servers - 1), $writer], $servers - 1);
            $before = \microtime(true);
            $stored = $releases->run($writer, <<<'PHP'
                $cache = Larder\Cache::open($a[0]);

                return $cache->set("$a[1] ends", 1, 1) && $cache->set("$a[1] is renewed", 'old', 3600, soft: 1) && $cache->set("$a[1] tagged", 1, 3600, ['a', 'b'], 1800);
                PHP, [$cache->config(0), $writer]);
            $releases->isRefused($writer) || self::assertTrue($stored);
            $about = $read('return array_slice($cache->inspect("$a[1] tagged"), -1)[0];');
            self::assertIsArray($about, Values::print($about));
            if ($about['found'] === true) {
                $passed = \microtime(true) - $before;
                self::assertSame(['a', 'b'], $about['tags']);
                self::assertEqualsWithDelta(3_600 - $passed / 2, $about['ttl'], 2 + $passed / 2);
                self::assertEqualsWithDelta($passed / 2, $about['age'], 2 + $passed / 2);
            }
            Wait::until(static fn(): bool => $read('return $cache->get("$a[1] ends");') === null, "the end of what the $writer release has stored");
            Wait::until(static fn(): bool => $read('return $cache->remember("$a[1] is renewed", static fn(): string => "new", 3600, soft: 1);') === 'new', "the renewal of what the $writer release has stored");
        }
        self::assertSame('', $releases->complaints());
    }

    /** Without the history nothing is skipped: the advice is to fetch it. */
    public function testAShallowClone(): void
    {
        $clone = new TemporaryDirectory('larder-shallow');
        (new Process(['git', 'clone', '--quiet', '--depth=1', 'file://' . \dirname(__DIR__, 2), $clone->file('clone')]))->mustRun();
        $this->expectException(AssertionFailedError::class);
        $this->expectExceptionMessage('git fetch --unshallow --tags');
        new PreviousRelease($clone->file('clone'));
    }

    private function store(SharedCache $cache, string $release): void
    {
        $serializers = ['php', ...\array_filter(['igbinary', 'msgpack'], \extension_loaded(...))];
        foreach ($serializers as $serializer) {
            foreach (Values::all() as $name => $value) {
                $cache->call($release, 'set', ["$serializer $name", $value, 0, $name === 'list' ? ['lists'] : []], options: ['serializer' => $serializer]);
            }
        }
        $cache->call($release, 'set', ['compressed', \str_repeat('long ', 4_000)], options: ['compressor' => 'gzip']);
        foreach (['', 'group', 'flushed'] as $group) {
            foreach (['deleted', 'replaced', 'stays', 'added'] as $key) {
                $cache->call($release, 'set', [$key, "$release $group $key"], $group);
            }
            $cache->call($release, 'set', ['tagged', "$release $group", 0, ['one', 'two']], $group);
            $cache->call($release, 'set', ['of another tag', "$release $group", 3_600, ['two']], $group);
            $cache->call($release, 'increment', ['count', 5], $group);
            $cache->call($release, 'remember', ['computed', "$release $group computed"], $group);
        }
    }

    private function takeAway(SharedCache $cache, string $release): void
    {
        // Near tiers have copies then of what goes.
        $this->checkAll($cache, Releases::OLD);
        $this->checkAll($cache, Releases::NEW);
        foreach (['', 'group'] as $group) {
            $cache->call($release, 'delete', ['deleted'], $group);
            $cache->call($release, 'delete', ['added'], $group);
            $cache->call($release, 'set', ['replaced', "$release $group newer"], $group);
            $cache->call($release, 'invalidateTags', ['one'], $group);
        }
        $cache->call($release, 'flush', [], 'flushed');
        $cache->call($release, 'set', ['after the flush', $release, 0, ['one']], 'flushed');
    }

    private function change(SharedCache $cache, string $release): void
    {
        foreach (['', 'group', 'flushed'] as $group) {
            $cache->call($release, 'add', ['added', "$release $group added"], $group);
            $cache->call($release, 'increment', ['count', 3], $group);
            $cache->call($release, 'replace', ['replaced', "$release $group newest"], $group);
            $cache->call($release, 'update', ['stays', "$release $group updated"], $group, reads: true);
            $cache->call($release, 'remember', ['computed', "$release $group computed anew"], $group);
            $cache->call($release, 'invalidateTags', ['two'], $group);
        }
        $cache->call($release, 'invalidateTags', ['lists']);
        $cache->call($release, 'flush', [], 'group');
    }

    /** Twice on each server: the second time from near tiers. */
    private function checkAll(SharedCache $cache, string $release): void
    {
        for ($server = 0; $server < $cache->servers; $server++) {
            foreach (['at first', 'again'] as $when) {
                $cache->check($release, $server, $when);
            }
        }
    }

    /** @param array<string, mixed> $config */
    private function cache(Releases $releases, array $config, int $servers): SharedCache
    {
        self::$redis ??= new RedisServer();
        self::$memcached ??= new MemcachedServer();
        $places = ['{directory}' => \dirname($releases->file('.')), '{redis}' => self::$redis->socket, '{memcached}' => self::$memcached->address[0]];
        $config = \array_map(static fn(mixed $value): mixed => \is_string($value) ? \strtr($value, $places) : $value, $config);

        return new SharedCache($releases, $config + ['prefix' => 'p' . \bin2hex(\random_bytes(5)), 'timeout' => 5.0], $servers);
    }
}
