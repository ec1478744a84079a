<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Store\MemoryStore;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What a request reads of a space after its first read there, one record a read: the record is judged as the first is. */
final class LaterReadTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{\Closure(string): (\Closure(): Cache)}> */
    public static function engines(): iterable
    {
        yield 'one that reads one record' => [static fn(string $directory): \Closure => static fn(): Cache => Cache::open(['dsn' => "sqlite://$directory/cache", 'near' => 'none'])];
        yield 'one that reads many' => [static function (): \Closure {
            $store = new HookedStore(new MemoryStore(1 << 20));

            return static fn(): Cache => $store->cache();
        }];
    }

    /** @param \Closure(string): (\Closure(): Cache) $engine */
    #[DataProvider('engines')]
    public function testValuesOfEveryKindAreRead(\Closure $engine): void
    {
        $open = $engine($this->directory->path);
        $values = ['s' => 'string', 'e' => '', 'i' => 7, 'f' => 1.5, 't' => true, 'a' => [1, ['x' => null]], 'o' => new \ArrayObject([1])];
        foreach ($values as $key => $value) {
            $open()->set("plain $key", $value);
            $open()->set("timed $key", $value, 100);
            $open()->set("tagged $key", $value, 100, ['tag']);
        }
        $open()->set('null', null, 100);
        $reader = self::reader($open);
        foreach ($values as $key => $value) {
            foreach (['plain', 'timed', 'tagged', 'plain'] as $kind) {
                self::assertEquals($value, $reader->get("$kind $key"), "$kind $key");
            }
        }
        foreach (['plain', 'timed'] as $kind) {
            self::assertNotSame($reader->get("$kind o"), $reader->get("$kind o"), 'Each reader has an object of its own.');
        }
        $all = [];
        foreach ($values as $key => $value) {
            $all += ["plain $key" => $value, "timed $key" => $value, "tagged $key" => $value];
        }
        self::assertEquals($all + ['null' => null], self::reader($open)->getMultiple([...\array_keys($all), 'nothing', 'null']));
        self::assertNull($reader->get('null', 'none'));
        self::assertTrue($reader->has('null'));
        self::assertSame('none', $reader->get('nothing', 'none'));
    }

    /** @param \Closure(string): (\Closure(): Cache) $engine */
    #[DataProvider('engines')]
    public function testWhatHasExpiredIsGone(\Closure $engine): void
    {
        $open = $engine($this->directory->path);
        $open()->set('k', 'v', 1);
        $open()->set('l', 'v', 1);
        $reader = self::reader($open);
        self::assertSame('v', $reader->get('k'));
        $end = \microtime(true) + 1.1;
        while (\microtime(true) < $end) {
            \usleep(20_000);
        }
        self::assertNull($reader->get('k'), 'the copy');
        self::assertNull($reader->get('l'), 'the record');
    }

    /** @param \Closure(string): (\Closure(): Cache) $engine */
    #[DataProvider('engines')]
    public function testWhatWasFlushedOrInvalidatedIsGone(\Closure $engine): void
    {
        $open = $engine($this->directory->path);
        $writer = $open()->group('g');
        $writer->set('plain', 'v');
        $writer->set('timed', 'v', 100);
        $writer->set('tagged', 'v', 0, ['t']);
        $writer->invalidateTags('t');
        $reader = self::reader($open)->group('g');
        self::assertNull($reader->get('tagged'));
        self::assertSame('v', $reader->get('plain'));
        $open()->flush();
        $reader = self::reader($open)->group('g');
        $reader->get('another');
        self::assertNull($reader->get('plain'));
        self::assertNull($reader->get('timed'));
        self::assertSame([], $reader->getMultiple(['plain', 'timed', 'tagged']));
    }

    /** @param \Closure(string): (\Closure(): Cache) $engine */
    #[DataProvider('engines')]
    public function testASetIsJudgedByTheReadThatCameAfterTheOthersChange(\Closure $engine): void
    {
        $open = $engine($this->directory->path);
        foreach (['plain' => [0, []], 'timed' => [100, []], 'tagged' => [0, ['t']]] as $key => [$life, $tags]) {
            $reader = self::reader($open);
            $open()->set($key, 'from another', $life, $tags);
            self::assertSame('from another', $reader->get($key));
            self::assertTrue($reader->set($key, 'from what it read'));
            self::assertSame('from what it read', $open()->get($key), $key);

            $open()->set($key, 'from another', $life, $tags);
            $reader = self::reader($open);
            $open()->set($key, 'from a third', $life, $tags);
            self::assertSame([$key => 'from a third'], $reader->getMultiple([$key]));
            self::assertTrue($reader->set($key, 'from what it read'));
            self::assertSame('from what it read', $open()->get($key), $key);
        }
    }

    public function testANewEpochIsNoticedInARecordAndWhereThereIsNone(): void
    {
        foreach (['k', 'nothing'] as $key) {
            $store = new HookedStore(new MemoryStore(1 << 20));
            $store->cache()->set('old', 'v');
            $reader = self::reader($store->cache(...));
            self::assertSame('v', $reader->get('old'));
            $store->inner = new MemoryStore(1 << 20);
            $store->cache()->set('k', 'v');
            $store->cache()->flush();
            self::assertNull($reader->get($key));
            self::assertNull($reader->get('old'), 'It is of the epoch before.');
        }
    }

    /** @param \Closure(): Cache $open */
    private static function reader(\Closure $open): Cache
    {
        $cache = $open();
        $cache->get('another');

        return $cache;
    }
}
