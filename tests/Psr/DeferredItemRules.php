<?php

declare(strict_types=1);

namespace Larder\Tests\Psr;

use Larder\Cache;
use Larder\Psr\CacheItem;
use Larder\Psr\CacheItemPool;
use PHPUnit\Framework\Attributes\Test;

/** The part of PSR-6's rules that speaks of deferred items and of what outlives a process. */
trait DeferredItemRules
{
    abstract protected function cache(): Cache;

    abstract protected function pool(?Cache $cache = null, bool $databaseBehind = false): CacheItemPool;

    /** "Requests for a cache item that has been deferred MUST return the deferred but not-yet-persisted item." */
    #[Test]
    public function deferredItemsAreSeenInTheirPool(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set('value')));
        self::assertTrue($pool->saveDeferred($pool->getItem('12')->set(null)));
        self::assertTrue($pool->hasItem('key'));
        self::assertTrue($pool->getItem('key')->isHit());
        self::assertSame('value', $pool->getItem('key')->get());
        self::assertTrue($pool->getItem('12')->isHit());
        self::assertSame(['key', '12'], self::keysOf($pool->getItems(['key', '12'])));
    }

    /** commit(): "True if all not-yet-saved items were successfully saved or there were none." */
    #[Test]
    public function commitPersistsDeferredItems(): void
    {
        $pool = $this->pool();
        self::assertTrue($pool->commit());
        $pool->saveDeferred($pool->getItem('a')->set(1));
        $pool->saveDeferred($pool->getItem('b')->set(2)->expiresAfter(60));
        $pool->saveDeferred($pool->getItem('12')->set(3)->expiresAfter(3600));
        $pool->saveDeferred($pool->getItem('gone')->set(4)->expiresAfter(0));
        self::assertTrue($pool->commit());
        self::assertSame(
            [1, 2, 3, null],
            \array_map(static fn(CacheItem $item): mixed => $item->get(), self::valuesOfItems($this->pool()->getItems(['a', 'b', '12', 'gone']))),
        );
        self::assertTrue($pool->commit());
    }

    /** "MUST ensure that any deferred cache items are eventually persisted": here, by the pool's destructor */
    #[Test]
    public function theDestructorPersistsDeferredItems(): void
    {
        $cache = $this->cache();
        $pool = $this->pool($cache);
        $pool->saveDeferred($pool->getItem('key')->set('value'));
        unset($pool);
        self::assertSame('value', $this->pool($cache)->getItem('key')->get());
        self::assertSame('value', $this->pool()->getItem('key')->get());
    }

    /** The same where the process ends without a word. */
    #[Test]
    public function theEndOfAProcessPersistsDeferredItems(): void
    {
        foreach (['$keep = [$cache, $pool];', 'exit(0);', '$GLOBALS["ring"] = [$pool]; $ring = &$GLOBALS["ring"]; $ring[] = &$ring;'] as $number => $end) {
            $this->elsewhere(<<<PHP
                \$cache = \\Larder\\Cache::open(json_decode(\$argv[1], true));
                \$pool = new \\Larder\\Psr\\CacheItemPool(\$cache);
                \$pool->saveDeferred(\$pool->getItem('key$number')->set('value'));
                $end
                PHP);
            self::assertSame('value', $this->pool()->getItem("key$number")->get(), $end);
        }
    }

    /** A deferred item is the one that was deferred: what is done to the item object later does not count. */
    #[Test]
    public function changingADeferredItemChangesNothing(): void
    {
        $pool = $this->pool();
        $item = $pool->getItem('key')->set('value');
        $pool->saveDeferred($item);
        $item->set('other')->expiresAfter(-1);
        $pool->getItem('key')->set('yet another');
        self::assertSame('value', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('value', $pool->getItem('key')->get());
    }

    #[Test]
    public function theLastDeferredItemCounts(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('one'));
        $pool->saveDeferred($pool->getItem('key')->set('two'));
        self::assertSame('two', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('two', $pool->getItem('key')->get());
    }

    /** A deferred item must not bury what was saved after it. */
    #[Test]
    public function aLaterSaveReplacesADeferredItem(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('deferred'));
        self::assertTrue($pool->save($pool->getItem('key')->set('saved')));
        self::assertSame('saved', $pool->getItem('key')->get());
        $pool->commit();
        self::assertSame('saved', $pool->getItem('key')->get());
        self::assertSame('saved', $this->pool()->getItem('key')->get());
    }

    /** deleteItem(), deleteItems(): "Removes the item from the pool", a deferred one too */
    #[Test]
    public function deferredItemsCanBeDeleted(): void
    {
        $pool = $this->pool();
        foreach (['a', 'b', '12'] as $key) {
            $pool->save($pool->getItem($key)->set('saved'));
            $pool->saveDeferred($pool->getItem($key)->set('deferred'));
        }
        self::assertTrue($pool->deleteItem('a'));
        self::assertTrue($pool->deleteItems(['b', '12']));
        foreach (['a', 'b', '12'] as $key) {
            self::assertFalse($pool->hasItem($key));
            self::assertFalse($pool->getItem($key)->isHit());
        }
        self::assertTrue($pool->commit());
        foreach (['a', 'b', '12'] as $key) {
            self::assertFalse($pool->hasItem($key));
            self::assertFalse($this->pool()->hasItem($key));
        }
    }

    /** clear(): "Deletes all items in the pool", deferred ones too */
    #[Test]
    public function clearDropsDeferredItems(): void
    {
        $pool = $this->pool();
        $pool->saveDeferred($pool->getItem('key')->set('value'));
        self::assertTrue($pool->clear());
        self::assertFalse($pool->hasItem('key'));
        $pool->commit();
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertFalse($this->pool()->hasItem('key'));
    }

    /** A child does not save what its parent deferred, neither by commit() nor by its end. */
    #[Test]
    public function aForkedChildDoesNotSaveItsParentsItems(): void
    {
        self::assertSame("null\n\"child\"\n\"parent\"", $this->elsewhere(<<<'PHP'
            $options = json_decode($argv[1], true);
            $read = static fn(string $key): mixed
                => (new \Larder\Psr\CacheItemPool(\Larder\Cache::open($options)))->getItem($key)->get();
            $pool = new \Larder\Psr\CacheItemPool(\Larder\Cache::open($options));
            $pool->saveDeferred($pool->getItem('key')->set('parent'));
            $child = pcntl_fork();
            if ($child === 0) {
                $seen = $pool->getItem('key')->isHit();
                $pool->saveDeferred($pool->getItem('own')->set($seen ? 'saw it' : 'child'));
                exit($pool->commit() ? 0 : 1);
            }
            pcntl_waitpid($child, $status);
            echo json_encode($read('key')), "\n", json_encode($read('own')), "\n";
            $pool->commit();
            echo json_encode($read('key')), "\n";
            PHP));
    }

    /** A pool made from foreign bytes would write to the cache. */
    #[Test]
    public function aPoolIsNotSerialized(): void
    {
        $pool = $this->pool();
        try {
            \serialize($pool);
            self::fail('It was serialized.');
        } catch (\LogicException) {
        }
        $this->expectException(\LogicException::class);
        \unserialize('O:24:"Larder\\Psr\\CacheItemPool":0:{}');
    }

    /** All the rules above hold with a database behind, too; the essential ones. */
    #[Test]
    public function withADatabaseBehindTheRulesAreTheSame(): void
    {
        $pool = $this->pool(databaseBehind: true);
        self::assertFalse($pool->getItem('key')->isHit());
        self::assertTrue($pool->save($pool->getItem('key')->set('one')));
        self::assertTrue($pool->saveDeferred($pool->getItem('key')->set('two')->expiresAfter(60)));
        self::assertTrue($pool->commit());
        self::assertSame('two', $pool->getItem('key')->get());
        self::assertSame('two', $this->pool(databaseBehind: true)->getItem('key')->get());
        self::assertTrue($pool->deleteItem('key'));
        self::assertFalse($pool->hasItem('key'));
        self::assertTrue($pool->clear());
    }

    /** What save(), commit(), deleteItem() and clear() have done when they return, other processes see. */
    #[Test]
    public function otherProcessesSeeEachChange(): void
    {
        $read = <<<'PHP'
            $pool = new \Larder\Psr\CacheItemPool(\Larder\Cache::open(json_decode($argv[1], true)));
            echo json_encode([$pool->hasItem('key'), $pool->getItem('key')->get()]), "\n";
            PHP;
        $pool = $this->pool();
        $pool->save($pool->getItem('key')->set(['n' => 1.5]));
        self::assertSame('[true,{"n":1.5}]', $this->elsewhere($read));
        $pool->deleteItem('key');
        self::assertSame('[false,null]', $this->elsewhere($read));
        $pool->saveDeferred($pool->getItem('key')->set('deferred'));
        $pool->commit();
        self::assertSame('[true,"deferred"]', $this->elsewhere($read));
        $pool->clear();
        self::assertSame('[false,null]', $this->elsewhere($read));
    }

    /**
     * @param iterable<string, CacheItem> $items
     *
     * @return list<CacheItem>
     */
    private static function valuesOfItems(iterable $items): array
    {
        return \array_values(self::pairs($items));
    }
}
