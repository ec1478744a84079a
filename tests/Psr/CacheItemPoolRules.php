<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItem;
use Larder\Psr\CacheItemPool;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\DataProviderExternal;
use PHPUnit\Framework\Attributes\Test;
use Psr\Cache\CacheItemInterface;
use Psr\Cache\CacheItemPoolInterface;
use Psr\Cache\InvalidArgumentException;

/** The rules of PSR-6 3.0, one a method, with the text's heading and wording. */
abstract class CacheItemPoolRules extends PsrTestCase
{
    use CacheItemPoolDataRules;
    use DeferredItemRules;

    protected function pool(?Cache $cache = null, bool $databaseBehind = false): CacheItemPool
    {
        return new CacheItemPool($cache ?? $this->cache(), $databaseBehind);
    }

    /** Definitions: "MUST provide classes which implement the CacheItemPoolInterface and CacheItemInterface interfaces" */
    #[Test]
    public function itImplementsTheInterfaces(): void
    {
        $pool = $this->pool();
        self::assertInstanceOf(CacheItemPoolInterface::class, $pool);
        self::assertInstanceOf(CacheItemInterface::class, $pool->getItem('key'));
    }

    // Definitions: Key

    /** "MUST support keys consisting of the characters A-Z, a-z, 0-9, _, and . in any order ... up to 64 characters" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function legalKeysAreSupported(string $key): void
    {
        $pool = $this->pool();
        self::assertFalse($pool->hasItem($key));
        self::assertFalse($pool->getItem($key)->isHit());
        self::assertTrue($pool->save($pool->getItem($key)->set('value')));
        self::assertTrue($pool->hasItem($key));
        self::assertSame('value', $this->pool()->getItem($key)->get());
        self::assertTrue($pool->saveDeferred($pool->getItem($key)->set('deferred')));
        self::assertSame('deferred', $pool->getItem($key)->get());
        self::assertTrue($pool->commit());
        self::assertSame('deferred', $this->pool()->getItem($key)->get());
        self::assertTrue($pool->deleteItem($key));
        self::assertFalse($pool->hasItem($key));
    }

    /** "MUST be able to return the original unmodified key string" */
    #[Test]
    #[DataProviderExternal(Samples::class, 'legalKeys')]
    public function keysComeBackUnmodifiedAndAsStrings(string $key): void
    {
        $pool = $this->pool();
        self::assertSame($key, $pool->getItem($key)->getKey());
        $pool->save($pool->getItem($key)->set('value'));
        $items = $pool->getItems([$key, 'other']);
        self::assertSame([$key, 'other'], self::keysOf($items));
        foreach ($items as $found => $item) {
            self::assertSame($found, $item->getKey());
            self::assertSame($found === $key ? 'value' : null, $item->get());
        }
    }

    /** "The following characters are reserved ... and MUST NOT be supported: {}()/\@:", "at least one character" */
    #[Test]
    #[DataProvider('callsWithAKey')]
    public function illegalKeysAreRefused(\Closure $call): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key1')->set('untouched'));
        foreach (Samples::illegalKeys() as $name => $key) {
            try {
                $call($pool, $key);
                self::fail("$name was accepted.");
            } catch (InvalidArgumentException $e) {
                self::assertStringContainsString('key', $e->getMessage());
                self::assertInstanceOf(\InvalidArgumentException::class, $e);
            }
        }
        self::assertSame('untouched', $pool->getItem('key1')->get());
    }

    /** @return iterable<string, array{\Closure(CacheItemPool, mixed): mixed}> */
    public static function callsWithAKey(): iterable
    {
        yield 'getItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->getItem($key)];
        yield 'getItems' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->getItems(['key1', $key, 'key2'])];
        yield 'hasItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->hasItem($key)];
        yield 'deleteItem' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->deleteItem($key)];
        yield 'deleteItems' => [static fn(CacheItemPool $pool, mixed $key): mixed => $pool->deleteItems(['key1', $key, 'key2'])];
    }

    // Definitions: Hit, Miss

    /** getItem(): "must always return a CacheItemInterface object, even in case of a cache miss" */
    #[Test]
    public function aMissIsAnItemToo(): void
    {
        $item = $this->pool()->getItem('key');
        self::assertSame('key', $item->getKey());
        self::assertFalse($item->isHit());
        self::assertNull($item->get());
    }

    /** "Null is a legitimate cached value, so the isHit() method SHOULD be used to differentiate" */
    #[Test]
    public function aStoredNullIsAHit(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->save($pool->getItem('key')->set(null)));
        foreach ([$pool, $this->pool()] as $reader) {
            self::assertTrue($reader->hasItem('key'));
            self::assertTrue($reader->getItem('key')->isHit());
            self::assertNull($reader->getItem('key')->get());
            self::assertSame([true, false], \array_map(
                static fn(CacheItem $item): bool => $item->isHit(),
                \array_values(self::pairs($reader->getItems(['key', 'other']))),
            ));
        }
    }

    /** get(): "If isHit() returns false, this method MUST return null"; so after set(), whose value get() gives, it is a hit */
    #[Test]
    public function anItemThatWasSetIsAHit(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value');
        self::assertSame('value', $item->get());
        self::assertTrue($item->isHit());
        self::assertFalse($pool->hasItem('key'), 'Nothing was saved.');
        self::assertFalse($pool->getItem('key')->isHit());
    }

    /** isHit(): "MUST NOT have a race condition between calling isHit() and calling get()" */
    #[Test]
    public function anItemIsASnapshot(): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set('value'));
        $hit = $pool->getItem('key');
        $miss = $pool->getItem('other');
        $pool->clear();
        $pool->save($pool->getItem('other')->set('late'));
        self::assertTrue($hit->isHit());
        self::assertSame('value', $hit->get());
        self::assertFalse($miss->isHit());
        self::assertNull($miss->get());
    }

    /** set(), expiresAt(), expiresAfter(): "@return static The invoked object." */
    #[Test]
    public function settersReturnTheItem(): void
    {
        $item = $this->pool()->getItem('key');
        self::assertSame($item, $item->set('value'));
        self::assertSame($item, $item->expiresAfter(2));
        self::assertSame($item, $item->expiresAfter(null));
        self::assertSame($item, $item->expiresAt(new \DateTime('+2 hours')));
        self::assertSame($item, $item->expiresAt(null));
    }

    // Definitions: TTL, Expiration

    /** "MUST interpret that as a request to cache the item forever" */
    #[Test]
    #[DataProvider('endless')]
    public function withoutAnExpirationItemsStay(\Closure $expire): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value')->expiresAfter(-5);
        $expire($item);
        self::assertTrue($pool->save($item));
        self::assertTrue($pool->getItem('key')->isHit());
        self::assertSame('value', $this->pool()->getItem('key')->get());
    }

    /** @return iterable<string, array{\Closure(CacheItem): mixed}> */
    public static function endless(): iterable
    {
        yield 'expiresAfter(null)' => [static fn(CacheItem $item): mixed => $item->expiresAfter(null)];
        yield 'expiresAt(null)' => [static fn(CacheItem $item): mixed => $item->expiresAt(null)];
        yield 'in two hours' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime('+2 hours'))];
        yield 'in a year' => [static fn(CacheItem $item): mixed => $item->expiresAfter(366 * 86400)];
        yield 'in a month' => [static fn(CacheItem $item): mixed => $item->expiresAfter(new \DateInterval('P1M'))];
        yield 'in a millennium' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('+1000 years'))];
        yield 'as late as can be' => [static fn(CacheItem $item): mixed => $item->expiresAfter(\PHP_INT_MAX)];
        yield 'as late as a date can be' => [static fn(CacheItem $item): mixed => $item->expiresAt((new \DateTime())->setTimestamp(\PHP_INT_MAX))];
    }

    /** "An expired value MUST always be considered a cache miss." */
    #[Test]
    public function itemsExpire(): void
    {
        $pool = $this->pool();
        $expirations = [
            'seconds' => static fn(CacheItem $item): mixed => $item->expiresAfter(1),
            'interval' => static fn(CacheItem $item): mixed => $item->expiresAfter(new \DateInterval('PT1S')),
            'time' => static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('+1 second')),
            'long' => static fn(CacheItem $item): mixed => $item->expiresAfter(3600),
        ];
        foreach ($expirations as $key => $expire) {
            $item = $pool->getItem($key)->set('value');
            $expire($item);
            self::assertTrue($pool->save($item));
            $item = $pool->getItem("deferred.$key")->set('value');
            $expire($item);
            self::assertTrue($pool->saveDeferred($item));
            self::assertTrue($pool->getItem($key)->isHit(), $key);
            self::assertTrue($pool->getItem("deferred.$key")->isHit(), $key);
        }
        // Fetched, changed and saved again without an expiration: "stored permanently".
        $pool->save($pool->getItem('seconds.again')->set('value')->expiresAfter(1));
        $pool->save($pool->getItem('seconds.again')->set('for ever'));
        // All of them: their ends are whole milliseconds, so what was saved last may end first.
        Wait::until(static fn(): bool => !\in_array(true, \array_map($pool->hasItem(...), ['seconds', 'interval', 'time', 'deferred.seconds', 'deferred.interval', 'deferred.time']), true), 'what lives for a second to have ended', 2.0);
        foreach (['', 'deferred.'] as $prefix) {
            foreach (['seconds', 'interval', 'time'] as $key) {
                self::assertFalse($pool->hasItem($prefix . $key), $prefix . $key);
                self::assertFalse($pool->getItem($prefix . $key)->isHit(), $prefix . $key);
                self::assertNull($pool->getItem($prefix . $key)->get(), $prefix . $key);
            }
            self::assertTrue($pool->getItem($prefix . 'long')->isHit());
        }
        self::assertSame('for ever', $pool->getItem('seconds.again')->get());
        self::assertTrue($pool->commit());
        self::assertFalse($this->pool()->hasItem('deferred.seconds'));
        self::assertTrue($this->pool()->hasItem('deferred.long'));
    }

    /** Saving what has expired leaves the key a miss, also where something was stored. */
    #[Test]
    #[DataProvider('over')]
    public function anExpiredItemIsNotStored(\Closure $expire): void
    {
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set('old'));
        $pool->save($pool->getItem('12')->set('old'));
        $item = $pool->getItem('key')->set('new');
        $expire($item);
        self::assertTrue($pool->save($item));
        self::assertFalse($pool->hasItem('key'));
        self::assertFalse($this->pool()->getItem('key')->isHit());

        $item = $pool->getItem('12')->set('new');
        $expire($item);
        self::assertTrue($pool->saveDeferred($item));
        self::assertFalse($pool->hasItem('12'));
        self::assertFalse($pool->getItem('12')->isHit());
        self::assertNull($pool->getItem('12')->get());
        self::assertTrue($pool->commit());
        self::assertFalse($pool->hasItem('12'));
        self::assertFalse($this->pool()->hasItem('12'));
    }

    /** @return iterable<string, array{\Closure(CacheItem): mixed}> */
    public static function over(): iterable
    {
        $back = new \DateInterval('P1D');
        $back->invert = 1;
        yield 'zero seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(0)];
        yield 'negative seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(-1)];
        yield 'the least seconds' => [static fn(CacheItem $item): mixed => $item->expiresAfter(\PHP_INT_MIN)];
        yield 'an interval backwards' => [static fn(CacheItem $item): mixed => $item->expiresAfter($back)];
        yield 'a second ago' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime('-1 second'))];
        yield 'now' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTime())];
        yield 'in 1970' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('@0'))];
        yield 'before 1970' => [static fn(CacheItem $item): mixed => $item->expiresAt(new \DateTimeImmutable('1066-10-14'))];
        yield 'as early as a date can be' => [static fn(CacheItem $item): mixed => $item->expiresAt((new \DateTime())->setTimestamp(\PHP_INT_MIN))];
    }

    /** InvalidArgumentException: "Any time an invalid argument is passed into a method it must throw an exception class which implements" it */
    #[Test]
    #[DataProvider('illegalExpirations')]
    public function otherExpirationsAreRefused(\Closure $call): void
    {
        $item = $this->pool()->getItem('key');
        $this->expectException(InvalidArgumentException::class);
        $call($item);
    }

    /** @return iterable<array{\Closure(CacheItem): mixed}> */
    public static function illegalExpirations(): iterable
    {
        foreach (['', 'tomorrow', '10', 2.5, true, new \stdClass(), [1], new \DateTime()] as $time) {
            yield [static fn(CacheItem $item): mixed => $item->expiresAfter($time)];
        }
        foreach (['', 'tomorrow', 10, 2.5, true, new \stdClass(), [1], new \DateInterval('P1D')] as $time) {
            yield [static fn(CacheItem $item): mixed => $item->expiresAt($time)];
        }
    }
}
