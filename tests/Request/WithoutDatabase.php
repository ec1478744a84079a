<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use PHPUnit\Framework\TestCase;

/** A space with no database behind it: the last one wins, and what wins need not be judged before the call returns. */
abstract class WithoutDatabase extends TestCase
{
    abstract protected function cache(): Cache;

    public function testTheNextRequestSeesIt(): void
    {
        [$a, $b] = [$this->space(), $this->space()];
        $a->set('k', ['one']);
        self::assertSame(['one'], $this->space()->get('k'));
        $b->set('k', ['two'], ttl: 100);
        self::assertSame(['two'], $this->space()->get('k'));
        $a->delete('k');
        self::assertNull($this->space()->get('k'));
    }

    public function testTheLastOneWins(): void
    {
        $this->space()->set('k', 'old');
        [$a, $b] = [$this->space(), $this->space()];
        self::assertSame(['old', 'old'], [$a->get('k'), $b->get('k')]);
        $a->set('k', 'a');
        $b->set('k', 'b');
        self::assertSame('b', $this->space()->get('k'));
        $b->delete('k');
        $a->set('k', 'a again');
        self::assertSame('a again', $this->space()->get('k'));
    }

    public function testOneSeesWhatOneDid(): void
    {
        $space = $this->space();
        foreach (['text', ['an' => 'array'], new \ArrayObject([1]), null, false] as $i => $value) {
            $space->set("k$i", 'before');
            $space->set("k$i", $value);
            $space->forget();
            self::assertEquals($value, $space->get("k$i", 'nothing'));
            self::assertTrue($space->delete("k$i"));
            $space->forget();
            self::assertSame('nothing', $space->get("k$i", 'nothing'));
        }
        $space->set('k', 1);
        $space->flush();
        self::assertNull($space->get('k'));
        $space->set('k', 2);
        self::assertSame(2, $this->space()->get('k'));
    }

    /** Also of one who has begun before. */
    public function testALockThatWasGivenBackCanBeTaken(): void
    {
        [$holder, $waiter] = [$this->space(), $this->space()];
        self::assertTrue($holder->add('lock', 'mine'));
        self::assertFalse($waiter->add('lock', 'mine'));
        $holder->delete('lock');
        self::assertTrue($waiter->add('lock', 'mine'));
        self::assertFalse($holder->add('lock', 'mine'));
        $waiter->delete('lock');
        $holder->set('count', 5);
        self::assertSame(6, $waiter->increment('count'));
    }

    public function testCopiesOfItAreNeverOlder(): void
    {
        $this->space()->set('k', 'old');
        [$a, $old] = [$this->space(), $this->space()];
        $a->set('k', 'new');
        // One who began before may have read, and copied, the older one.
        $old->get('k');
        $a->forget();
        self::assertSame('new', $a->get('k'));
        self::assertSame('new', $this->space()->get('k'));
        $a->writeFills();
        self::assertSame('new', $this->space()->get('k'));
        $a->delete('k');
        $old->forget();
        $old->get('k');
        self::assertNull($this->space()->get('k'));
    }

    public function testOneThatMissedIsJudged(): void
    {
        [$a, $b] = [$this->space(), $this->space()];
        self::assertNull($a->get('k'));
        $b->set('k', 'b');
        $b->delete('k');
        $a->set('k', 'computed before it was deleted');
        self::assertNull($this->space()->get('k'));
    }

    public function testAnIntentStopsIt(): void
    {
        [$a, $b] = [$this->space(), $this->space()];
        $a->intend('k');
        $b->set('k', 'meanwhile');
        self::assertNull($this->space()->get('k'));
        $a->set('k', 'new');
        self::assertSame('new', $this->space()->get('k'));
    }

    public function testManyAreThereAtTheEnd(): void
    {
        $space = $this->space();
        for ($i = 0; $i < 1_000; $i++) {
            $space->set("k$i", $i);
        }
        for ($i = 0; $i < 1_000; $i += 2) {
            $space->delete("k$i");
        }
        $other = $this->space();
        for ($i = 0; $i < 1_000; $i++) {
            self::assertSame($i % 2 === 0 ? null : $i, $other->get("k$i"));
        }
    }

    private function space(): Cache
    {
        return $this->cache()->group('transient', true);
    }
}
