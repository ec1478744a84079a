<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\SimpleCache;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Test;
use Psr\SimpleCache\CacheInterface;
use Psr\SimpleCache\InvalidArgumentException;

/** The rules of PSR-16 3.0, one a method, with the text's section and wording. */
abstract class SimpleCacheRules extends PsrTestCase
{
    use SimpleCacheDataRules;

    protected function simple(?Cache $cache = null, bool $databaseBehind = false): SimpleCache
    {
        return new SimpleCache($cache ?? $this->cache(), $databaseBehind);
    }

    /** 1.2 "MUST provide a class implementing the Psr\SimpleCache\CacheInterface interface" */
    #[Test]
    public function itImplementsTheInterface(): void
    {
        self::assertInstanceOf(CacheInterface::class, $this->simple());
    }

    // 1.2 Key

    /** "MUST support keys consisting of the characters A-Z, a-z, 0-9, _, and . in any order ... up to 64 characters" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function legalKeysAreSupported(string $key): void
    {
        $cache = $this->simple();
        self::assertFalse($cache->has($key));
        self::assertTrue($cache->set($key, 'one'));
        self::assertTrue($cache->has($key));
        self::assertSame('one', $cache->get($key));
        self::assertTrue($cache->setMultiple([$key => 'two']));
        self::assertSame('two', $this->simple()->get($key));
        self::assertTrue($cache->delete($key));
        self::assertFalse($cache->has($key));
        self::assertNull($cache->get($key));
    }

    /** "uniquely identifies a cached item" */
    #[Test]
    public function keysThatDifferInAByteAreDifferent(): void
    {
        $cache = $this->simple();
        $keys = ['a', 'A', 'a ', ' a', "a\0", "a\n", '0', '00', '0.0', '-0', '1', '01', '1e0', 'null', 'false', "\u{e9}", "e\u{301}", '%00', '+', '%2B'];
        foreach ($keys as $number => $key) {
            self::assertTrue($cache->set($key, $number));
        }
        foreach ($keys as $number => $key) {
            self::assertSame($number, $cache->get($key), \bin2hex($key));
        }
    }

    /** "MUST be able to return the original unmodified key string" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function keysComeBackUnmodifiedAndAsStrings(string $key): void
    {
        $cache = $this->simple();
        $cache->set($key, 'value');
        $result = $cache->getMultiple([$key, 'other']);
        self::assertSame([$key, 'other'], self::keysOf($result));
        self::assertSame([$key, 'other'], self::keysOf($result), 'the second time');
        self::assertSame(['value', null], self::valuesOf($result));
    }

    /** "The following characters are reserved ... and MUST NOT be supported: {}()/\@:", "at least one character" */
    #[Test]
    #[DataProvider('callsWithAKey')]
    public function illegalKeysAreRefused(\Closure $call): void
    {
        $cache = $this->simple();
        $cache->set('key1', 'untouched');
        foreach (Samples::illegalKeys() as $name => $key) {
            try {
                $call($cache, $key);
                self::fail("$name was accepted.");
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('key', $e->getMessage());
                self::assertInstanceOf(\InvalidArgumentException::class, $e);
            }
        }
        self::assertSame('untouched', $cache->get('key1'));
        self::assertFalse($cache->has('key2'));
    }

    /** @return iterable<string, array{\Closure(SimpleCache, mixed): mixed}> */
    public static function callsWithAKey(): iterable
    {
        yield 'get' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->get($key)];
        yield 'set' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->set($key, 'value')];
        yield 'set, expired' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->set($key, 'value', 0)];
        yield 'delete' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->delete($key)];
        yield 'has' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->has($key)];
        yield 'getMultiple' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->getMultiple(['key1', $key, 'key2'])];
        yield 'deleteMultiple' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->deleteMultiple(['key1', $key, 'key2'])];
        // An integer is what PHP makes of a key like "2" in an array, and so the only one that is no string and legal.
        yield 'setMultiple' => [static fn(SimpleCache $cache, mixed $key): mixed => $cache->setMultiple((static function () use ($key): \Generator {
            yield 'key1' => 'changed';
            yield (\is_int($key) ? (float) $key : $key) => 'changed';
            yield 'key2' => 'changed';
        })())];
    }

    /** 2.1 "MUST be thrown if $keys is neither an array nor a Traversable" */
    #[Test]
    #[DataProvider('notIterable')]
    public function listsMustBeIterable(mixed $list): void
    {
        $cache = $this->simple();
        foreach ([
            static fn(): mixed => $cache->getMultiple($list),
            static fn(): mixed => $cache->setMultiple($list),
            static fn(): mixed => $cache->deleteMultiple($list),
        ] as $call) {
            try {
                $call();
                self::fail('It was accepted.');
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('Traversable', $e->getMessage());
            }
        }
    }

    /** @return iterable<array{mixed}> */
    public static function notIterable(): iterable
    {
        yield ['key'];
        yield [null];
        yield [1];
        yield [new \stdClass()];
    }

    // 1.2 TTL and Expiration

    /** "MUST interpret that as a request to cache the item forever" */
    #[Test]
    #[DataProvider('endlessTtls')]
    public function withoutATtlItemsStay(int|\DateInterval|null $ttl): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->set('one', 1, $ttl));
        self::assertTrue($cache->setMultiple(['two' => 2], $ttl));
        self::assertSame(1, $cache->get('one'));
        self::assertSame([1, 2], self::valuesOf($this->simple()->getMultiple(['one', 'two'])));
    }

    /** @return iterable<string, array{null|int|\DateInterval}> */
    public static function endlessTtls(): iterable
    {
        yield 'none' => [null];
        yield 'a year' => [366 * 86400];
        yield 'a month' => [new \DateInterval('P1M')];
        yield 'a millennium' => [new \DateInterval('P1000Y')];
        yield 'the longest' => [\PHP_INT_MAX];
    }

    /** "MUST treat an item as expired once its Expiration Time is reached" */
    #[Test]
    public function itemsExpireAfterTheirTtl(): void
    {
        $cache = $this->simple();
        self::assertTrue($cache->set('seconds', 1, 1));
        self::assertTrue($cache->set('interval', 1, new \DateInterval('PT1S')));
        self::assertTrue($cache->setMultiple(['several' => 1], 1));
        self::assertTrue($cache->setMultiple(['more' => 1], new \DateInterval('PT1S')));
        self::assertTrue($cache->set('long', 1, 3600));
        self::assertTrue($cache->set('renewed', 1, 1));
        self::assertTrue($cache->set('renewed', 2));
        $keys = ['seconds', 'interval', 'several', 'more', 'long', 'renewed'];
        self::assertSame([1, 1, 1, 1, 1, 2], self::valuesOf($cache->getMultiple($keys)));
        Wait::until(static fn(): bool => \array_values(\array_filter($keys, $cache->has(...))) === ['long', 'renewed'], 'what lives for a second to have ended', 2.0);
        self::assertSame(['gone', 'gone', 'gone', 'gone', 1, 2], self::valuesOf($cache->getMultiple($keys, 'gone')));
        foreach ($keys as $key) {
            self::assertSame($key === 'long' || $key === 'renewed', $cache->has($key), $key);
            self::assertSame($cache->has($key), $cache->get($key) !== null, $key);
        }
        self::assertSame(['gone', 'gone', 'gone', 'gone', 1, 2], self::valuesOf($this->simple()->getMultiple($keys, 'gone')));
    }

    /** "If a negative or zero TTL is provided, the item MUST be deleted from the cache if it exists" */
    #[Test]
    #[DataProvider('pastTtls')]
    public function aTtlOfZeroOrLessDeletes(int|\DateInterval $ttl): void
    {
        $cache = $this->simple();
        $cache->setMultiple(['one' => 1, 'two' => 2, '3' => 3]);
        self::assertTrue($cache->set('one', 'new', $ttl));
        self::assertFalse($cache->has('one'));
        self::assertNull($cache->get('one'));
        self::assertTrue($cache->setMultiple(['two' => 'new', '3' => 'new', 'four' => 'new'], $ttl));
        self::assertSame([0, 0, 0, 0], self::valuesOf($this->simple()->getMultiple(['one', 'two', '3', 'four'], 0)));
    }

    /** @return iterable<string, array{int|\DateInterval}> */
    public static function pastTtls(): iterable
    {
        $back = new \DateInterval('PT5S');
        $back->invert = 1;
        yield 'zero' => [0];
        yield 'negative' => [-1];
        yield 'the least' => [\PHP_INT_MIN];
        yield 'an empty interval' => [new \DateInterval('PT0S')];
        yield 'an interval backwards' => [$back];
    }

    /** 2.1 null|int|\DateInterval $ttl; "When an invalid argument is passed, it must throw" (2.3) */
    #[Test]
    #[DataProvider('illegalTtls')]
    public function otherTtlsAreRefused(mixed $ttl): void
    {
        $cache = $this->simple();
        $cache->set('key', 'old');
        foreach ([
            static fn(): bool => $cache->set('key', 'new', $ttl),
            static fn(): bool => $cache->setMultiple(['key' => 'new'], $ttl),
        ] as $call) {
            try {
                $call();
                self::fail('It was accepted.');
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('DateInterval', $e->getMessage());
            }
        }
        self::assertSame('old', $cache->get('key'));
    }

    /** @return iterable<array{mixed}> */
    public static function illegalTtls(): iterable
    {
        foreach (['', true, false, 'abc', 2.5, \NAN, ' 1', '12foo', '025', '1', new \stdClass(), ['array'], new \DateTime()] as $ttl) {
            yield [$ttl];
        }
    }

    // 1.2 Cache Misses

    /** "A cache miss will return null", 2.1 "or $default in case of cache miss" */
    #[Test]
    public function aMissReturnsTheDefault(): void
    {
        $cache = $this->simple();
        self::assertNull($cache->get('key'));
        self::assertSame('foo', $cache->get('key', 'foo'));
        $object = new \stdClass();
        self::assertSame($object, $cache->get('key', $object));
        $closure = static fn(): string => 'called';
        self::assertSame($closure, $cache->get('key', $closure));
        $cache->set('key', 'value');
        self::assertSame('value', $cache->get('key', 'foo'));
    }

    /** 1.4 "Null": a value like any other; only its own value cannot be told from a miss */
    #[Test]
    public function aStoredNullIsAValue(): void
    {
        $cache = $this->simple();
        $cache->set('key', 5);
        self::assertTrue($cache->set('key', null));
        self::assertNull($cache->get('key', 'default'));
        self::assertTrue($cache->has('key'));
        self::assertSame([null, 'default'], self::valuesOf($cache->getMultiple(['key', 'other'], 'default')));
        self::assertNull($this->simple()->get('key', 'default'));
        self::assertTrue($this->simple()->has('key'));
    }
}
