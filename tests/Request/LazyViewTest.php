<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Store\PendingInvalidations;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** A view that begins with the request's first read, and not when the cache is opened. */
final class LazyViewTest extends TestCase
{
    private static ?RedisServer $server = null;
    private TemporaryDirectory $directory;
    private string $prefix;

    public static function tearDownAfterClass(): void
    {
        self::$server = null;
    }

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->prefix = 't' . \bin2hex(\random_bytes(5));
    }

    /** @return iterable<string, array{string}> */
    public static function engines(): iterable
    {
        yield 'sqlite' => ['sqlite'];
        yield 'redis' => ['redis'];
    }

    #[DataProvider('engines')]
    public function testOneCallReadsAPage(string $engine): void
    {
        $writer = $this->cache($engine, false);
        foreach (\range(1, 30) as $i) {
            $writer->group('a')->set("k$i", \str_repeat("value $i ", 20));
        }
        $reader = $this->cache($engine);
        self::assertSame(0, self::calls($reader));
        $a = $reader->group('a');
        $reader->prefetch([[$a, \array_map(static fn(int $i): string => "k$i", \range(1, 30))]]);
        self::assertSame(\str_repeat('value 7 ', 20), $a->get('k7'));
        self::assertSame(1, self::calls($reader));
        // Over SQLite one each for the end of the journal, for the flush markers, and for the record.
        self::assertSame($engine === 'redis' ? 2 : 3, self::calls($this->read($this->cache($engine, false), 'k7')), 'else it is two');
    }

    /** Redis reads the tags' markers along; other stores in a second call, whatever their number. */
    #[DataProvider('engines')]
    public function testAllTagsAreReadAtOnce(string $engine): void
    {
        $tags = static fn(string $of): array => \array_map(static fn(int $i): string => "$of$i", \range(1, 20));
        $writer = $this->cache($engine, false);
        $writer->set('page', 'p', 60, $tags('a'));
        $writer->set('stamp', 's', 60, [...$tags('b'), 'a1']);
        foreach ([['page' => 'p', 'stamp' => 's'], ['stamp' => 's'], ['page' => 'p'], []] as $i => $left) {
            $reader = $this->cache($engine);
            self::assertEquals($left, $reader->getMultiple(['page', 'stamp']));
            self::assertLessThanOrEqual($engine === 'redis' ? 1 : 2, self::calls($reader));
            if ($i === 0) {
                $writer->invalidateTags('a7');
            } elseif ($i === 1) {
                $writer->invalidateTags('b20');
                $writer->set('page', 'p', 60, $tags('a'));
            } else {
                $writer->invalidateTags('a1');
            }
        }
    }

    #[DataProvider('engines')]
    public function testFromTheFirstReadOnOthersChangesCount(string $engine): void
    {
        $reader = $this->cache($engine);
        $this->cache($engine)->set('other', 1);
        self::assertSame(1, $reader->get('other'), 'what came before it is seen');
        $this->cache($engine)->set('k', 'theirs');
        $reader->set('k', 'from the older view');
        self::assertNull($this->cache($engine)->get('k'), 'neither is kept');
        $this->cache($engine)->set('other', 2);
        self::assertSame(1, $reader->get('other'));
        self::assertTrue($reader->learn());
        self::assertSame(2, $reader->get('other'));
    }

    #[DataProvider('engines')]
    public function testAWriteBeginsItToo(string $engine): void
    {
        foreach (['set' => 'new', 'delete' => null] as $what => $value) {
            $this->cache($engine)->set('k', 'old');
            $writer = $this->cache($engine);
            $this->cache($engine)->set('k', 'theirs');
            self::assertTrue($what === 'set' ? $writer->set('k', 'new') : $writer->delete('k'));
            self::assertSame($value, $this->cache($engine)->get('k'));
        }
        $filler = $this->cache($engine);
        self::assertTrue($filler->fill('filled', 'value'));
        $filler->writeFills();
        self::assertSame('value', $this->cache($engine)->get('filled'));
        self::assertSame('computed', $this->cache($engine)->remember('remembered', static fn(): string => 'computed'));
        self::assertSame('computed', $this->cache($engine)->get('remembered'));
        self::assertTrue($this->cache($engine)->flush());
        self::assertNull($this->cache($engine)->get('remembered'));
        self::assertSame(1, $this->cache($engine)->increment('counter', 1));
        $this->cache($engine)->intend('intended');
    }

    #[DataProvider('engines')]
    public function testARequestAfterARequest(string $engine): void
    {
        $cache = $this->cache($engine);
        $this->cache($engine)->set('k', 1);
        self::assertSame(1, $cache->get('k'));
        $this->cache($engine)->set('k', 2);
        $cache->refresh();
        $this->cache($engine)->set('k', 3);
        self::assertSame(3, $cache->get('k'));
        self::assertTrue($cache->set('k', 4));
        self::assertSame(4, $this->cache($engine)->get('k'));
    }

    public function testWhatWasAppendedBeforeIsInTheView(): void
    {
        $writer = $this->cache('sqlite', false)->group('transients', true);
        $writer->set('k', 'old');
        $reader = $this->cache('sqlite');
        $writer->set('k', 'new');
        $writer->delete('gone');
        self::assertSame('new', $reader->group('transients', true)->get('k'));
    }

    #[DataProvider('engines')]
    public function testWhatWasKeptIsAppliedBeforeTheFirstRead(string $engine): void
    {
        $writer = $this->cache($engine);
        $writer->set('k', 'what could not be deleted');
        $file = \str_replace('/local-', '/kept-', (string) $writer->internals()->local());
        self::assertFileExists($file);
        self::assertTrue((new PendingInvalidations($file))->keep(['e::k']));
        self::assertNull($this->cache($engine)->get('k'));
    }

    /** @return iterable<string, array{string, bool, bool}> engine, whether another process begins anew at once, lazy */
    public static function removals(): iterable
    {
        foreach (['sqlite', 'file'] as $engine) {
            foreach ([false, true] as $isBegunAnew) {
                yield "$engine, " . ($isBegunAnew ? 'begun anew' : 'left empty') => [$engine, $isBegunAnew, true];
                yield "$engine, " . ($isBegunAnew ? 'begun anew' : 'left empty') . ', not lazy' => [$engine, $isBegunAnew, false];
            }
        }
    }

    #[DataProvider('removals')]
    public function testARequestAfterTheDirectoryWasRemovedByAnotherProcessSeesThat(string $engine, bool $isBegunAnew, bool $lazy): void
    {
        $place = $this->directory->path . '/cache';
        $options = ['dsn' => "$engine://$place", 'prefix' => $this->prefix, 'near' => 'none', 'lazy' => $lazy];
        $cache = Cache::open($options);
        $cache->set('k', 'old');
        $cache->group('transients', true)->set('k', 'old');
        $cache->refresh();
        self::assertSame('old', $cache->get('k'));
        \exec('rm -rf ' . \escapeshellarg($place));
        self::assertDirectoryDoesNotExist($place);
        if ($isBegunAnew) {
            $other = \sprintf('require %s; Larder\\Cache::open(%s)->set("k", "new");', \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true), \var_export($options, true));
            \exec(\escapeshellarg(\PHP_BINARY) . ' -r ' . \escapeshellarg($other), result_code: $code);
            self::assertSame(0, $code);
        }
        $cache->refresh();
        self::assertSame($isBegunAnew ? 'new' : null, $cache->get('k'));
        self::assertNull($cache->group('transients', true)->get('k'));
        self::assertTrue($cache->set('k', 'newer'));
        self::assertSame('newer', Cache::open($options)->get('k'));
    }

    public function testANearTierHasToFollowFirst(): void
    {
        if (!\apcu_enabled()) {
            self::markTestSkipped('APCu is off.');
        }
        $options = ['dsn' => 'sqlite://' . $this->directory->path . '/cache', 'near' => 'apcu', 'lazy' => true];
        Cache::open($options)->set('k', 1);
        self::assertSame(1, Cache::open($options)->get('k'));
        Cache::open(['near' => 'none'] + $options)->set('k', 2);
        self::assertSame(2, Cache::open($options)->get('k'));
    }

    /** What another process of the server deleted while it could not reach the store. */
    public function testALongProcessAppliesWhatOthersHaveKept(): void
    {
        $kept = $this->directory->file('kept');
        $reader = (new HookedStore())->cache(pending: new PendingInvalidations($kept), lazy: true);
        $reader->set('k', 'old');
        $reader->refresh();
        self::assertSame('old', $reader->get('k'));
        self::assertTrue((new PendingInvalidations($kept))->keep(['e::k'], 'another00000', (int) \hrtime(true)));
        $reader->refresh();
        self::assertNull($reader->get('k'));
        $reader->set('k', 'old');
        $reader->refresh();
        self::assertSame('old', $reader->get('k'));
        self::assertTrue((new PendingInvalidations($kept))->keep(['e::k'], 'another00000', (int) \hrtime(true)));
        $fiber = new \Fiber(static fn(): mixed => $reader->get('k'));
        $fiber->start();
        self::assertNull($fiber->getReturn(), 'and so does each of its fibers');
    }

    private function cache(string $engine, bool $lazy = true): Cache
    {
        $dsn = 'sqlite://' . $this->directory->path . '/cache';
        if ($engine === 'redis') {
            RedisServer::demand();
            self::$server ??= new RedisServer();
            $dsn = 'redis://' . self::$server->socket;
        }

        return Cache::open(['dsn' => $dsn, 'prefix' => $this->prefix, 'near' => 'none', 'lazy' => $lazy]);
    }

    private function read(Cache $cache, string $key): Cache
    {
        $cache->group('a')->get($key);

        return $cache;
    }

    private static function calls(Cache $cache): int
    {
        $calls = 0;
        foreach ($cache->stats(false) as $tier) {
            $calls += (int) ($tier['calls'] ?? 0);
        }

        return $calls;
    }
}
