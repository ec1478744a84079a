<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Request\Reader;
use Larder\Tests\Reentrancy\Waking;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** What a prefetch has read, and nobody has asked for yet, is a copy like any other. */
#[CoversClass(Reader::class)]
final class PrefetchedTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    public function testEveryTypeComesAsItWasStored(): void
    {
        $values = [
            'string' => 'text', 'empty' => '', 'zero' => '0', 'int' => -7, 'float' => 0.1, 'true' => true, 'false' => false, 'null' => null,
            'array' => ['a' => [1, 2], '7' => null], 'none' => [], 'object' => (object) ['a' => 1], 'long' => \str_repeat('x', 100_000),
            '7' => 'a key that is a number',
        ];
        $this->open()->setMultiple($values);
        $this->open()->set('tagged', 'with a tag', 3600, ['t']);
        $values['tagged'] = 'with a tag';
        $reader = $this->prefetched(\array_map(strval(...), \array_keys($values)));
        foreach ([1, 2] as $_) {
            foreach ($values as $key => $value) {
                self::assertEquals($value, $reader->get((string) $key, $this), (string) $key);
            }
        }
        self::assertSame(2, $this->calls($reader), 'one of them for the tag and the flush above it');
        self::assertEquals($values, $this->prefetched(\array_map(strval(...), \array_keys($values)))->getMultiple(\array_keys($values)));
    }

    public function testEachReaderGetsAnObjectOfItsOwn(): void
    {
        $this->open()->set('k', (object) ['n' => 1]);
        $reader = $this->prefetched(['k']);
        foreach ([1, 2] as $_) {
            $object = $reader->get('k');
            self::assertInstanceOf(\stdClass::class, $object);
            self::assertSame(1, $object->n);
            $object->n = 2;
        }
    }

    public function testWhatThisRequestDoesToAKeyCounts(): void
    {
        $changes = [
            'set' => [static fn(Cache $cache): bool => $cache->set('k', 'new'), 'new'],
            'set to an array, which is kept encoded' => [static fn(Cache $cache): bool => $cache->set('k', ['new']), ['new']],
            'set to an object' => [static fn(Cache $cache): bool => $cache->set('k', (object) ['a' => 1]), (object) ['a' => 1]],
            'fill' => [static fn(Cache $cache): bool => $cache->fill('k', ['filled']), ['filled']],
            'delete' => [static fn(Cache $cache): bool => $cache->delete('k'), null],
            'flush' => [static fn(Cache $cache): bool => $cache->flush(), null],
            'update' => [static fn(Cache $cache): mixed => $cache->update('k', static fn(mixed $old): array => [$old]), ['old']],
            'replace' => [static fn(Cache $cache): bool => $cache->replace('k', ['replaced']), ['replaced']],
        ];
        foreach ($changes as $what => [$change, $value]) {
            $this->open()->set('k', 'old');
            $reader = $this->prefetched(['k']);
            self::assertNotFalse($change($reader), $what);
            self::assertEquals($value, $reader->get('k'), $what);
            unset($reader);
            self::assertEquals($value, $this->open()->get('k'), "$what, as others see it");
        }
    }

    public function testWhatOthersDoCountsOnceItIsLearned(): void
    {
        $changes = [
            'set' => [static fn(Cache $cache): bool => $cache->set('k', 'theirs'), 'theirs'],
            'delete' => [static fn(Cache $cache): bool => $cache->delete('k'), null],
            'flush' => [static fn(Cache $cache): bool => $cache->flush(), null],
        ];
        foreach ($changes as $what => [$change, $value]) {
            $this->open()->set('k', 'old');
            $reader = $this->prefetched(['k']);
            self::assertTrue($change($this->open()));
            self::assertTrue($reader->learn(), $what);
            self::assertSame($value, $reader->get('k'), $what);
        }
    }

    public function testForgetAndRefreshDropIt(): void
    {
        foreach (['the key' => static fn(Cache $cache) => $cache->forget('k'), 'all' => static fn(Cache $cache) => $cache->forget(), 'refresh' => static fn(Cache $cache) => $cache->refresh()] as $what => $drop) {
            $this->open()->set('k', 'old');
            $reader = $this->prefetched(['k']);
            $this->open()->set('k', 'theirs');
            $drop($reader);
            self::assertSame('theirs', $reader->get('k'), $what);
        }
    }

    public function testWhatWasFlushedBeforeIsNotRead(): void
    {
        $writer = $this->open();
        $writer->set('k', 'old');
        $writer->group('g')->set('k', 'old');
        $writer->flush();
        $reader = $this->open();
        $reader->prefetch([[$reader, ['k']], [$reader->group('g'), ['k']]]);
        self::assertSame([null, null], [$reader->get('k'), $reader->group('g')->get('k')]);
        $reader = $this->open();
        self::assertSame([null, null], [$reader->get('k'), $reader->group('g')->get('k')], 'nor without a prefetch');
    }

    public function testWhoComputesFromItMayStoreTheResult(): void
    {
        foreach ([true, false] as $isPrefetched) {
            $this->open()->set('other', 1);
            $reader = $this->open();
            $reader->get('other');
            $this->open()->set('k', 'theirs');
            $isPrefetched && $reader->prefetch([[$reader, ['k']]]);
            self::assertSame('theirs', $reader->get('k'));
            $reader->set('k', 'computed from theirs');
            self::assertSame('computed from theirs', $this->open()->get('k'), 'it was read after their change');
        }
    }

    public function testADeleteSaysThatItWasThere(): void
    {
        foreach ([false, true] as $isCacheOnly) {
            $this->open()->group('g', $isCacheOnly)->set('k', 'old');
            $reader = $this->open();
            $reader->prefetch([[$group = $reader->group('g', $isCacheOnly), ['k', 'missing']]]);
            $group->delete('k', $there);
            self::assertTrue($there);
            $group->delete('missing', $there);
            self::assertFalse($there);
        }
    }

    public function testNothingIsComputedAnew(): void
    {
        $this->open()->setMultiple(['k' => 'old', 'o' => (object) []]);
        $reader = $this->prefetched(['k', 'o']);
        $compute = static fn(): string => self::fail('it was there');
        self::assertSame('old', $reader->remember('k', $compute));
        self::assertEquals((object) [], $reader->remember('o', $compute));
        self::assertSame(1, $this->calls($reader));
    }

    public function testAnObjectThatChangesItsOwnKeyAsItWakesUp(): void
    {
        $this->open()->set('k', new Waking('old'));
        $reader = $this->prefetched(['k']);
        Waking::$does = static function () use ($reader): void {
            Waking::$does = null;
            $reader->set('k', 'set meanwhile');
        };
        self::assertInstanceOf(Waking::class, $reader->get('k'));
        self::assertSame('set meanwhile', $reader->get('k'));
    }

    /** @param list<string> $keys */
    private function prefetched(array $keys): Cache
    {
        $reader = $this->open();
        $reader->prefetch([[$reader, $keys]]);

        return $reader;
    }

    private function calls(Cache $cache): mixed
    {
        foreach ($cache->stats(false) as $tier) {
            if (isset($tier['calls'])) {
                return $tier['calls'];
            }
        }
        self::fail('no tier counts its calls');
    }

    private function open(): Cache
    {
        return Cache::open(['dsn' => 'sqlite://' . $this->directory->path . '?near=none', 'lazy' => '1']);
    }
}
