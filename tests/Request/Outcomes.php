<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Codec\NotStorable;
use Larder\Computation;
use Larder\Outcome;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\TestCase;

/** What Cache::lastOutcome() says after each kind of call. A part that is down: tests/Faults, FaultCase::assertDown(). */
abstract class Outcomes extends TestCase
{
    abstract protected function cache(): Cache;

    /** A cache whose engine refuses 3 MB. */
    abstract protected function refusing(): Cache;

    public function testStored(): void
    {
        $cache = $this->cache();
        self::assertSame(Outcome::Stored, $cache->lastOutcome(), 'before the first');
        $cache->set('held', 1);
        foreach ([
            'set' => static fn() => $cache->set('k', 1),
            'set what has ended' => static fn() => $cache->set('gone', 1, -1),
            'setMultiple' => static fn() => $cache->setMultiple(['k' => 1, 'l' => 2]),
            'setMultiple of none' => static fn() => $cache->setMultiple([]),
            'add' => static fn() => $cache->add('added', 1),
            'replace' => static fn() => $cache->replace('k', 2),
            'increment' => static fn() => $cache->increment('count') === 1,
            'decrement' => static fn() => $cache->decrement('count') === 0,
            'update' => static fn() => $cache->update('k', static fn(mixed $old): string => "$old!") === '2!',
            'touch' => static fn() => $cache->touch('k', 60),
            'replace by what has ended' => static fn() => $cache->replace('k', 2, -1),
            'fill' => static fn() => $cache->fill('filled', $cache->get('filled') ?? 1),
            'writeFills' => static fn() => $cache->writeFills() ?? true,
            'remember' => static fn() => $cache->remember('remembered', static fn(): bool => true),
            'delete' => static fn() => $cache->delete('k'),
            'deleteMultiple' => static fn() => $cache->deleteMultiple(['k', 'l']),
            'invalidateTags' => static fn() => $cache->invalidateTags('t'),
            'invalidateTags of none' => static fn() => $cache->invalidateTags(),
            'intend' => static fn() => $cache->intend('k') ?? true,
            'transaction' => static fn() => $cache->transaction(static fn(): bool => true),
            'commitTransaction' => static fn() => $cache->begin() ?? $cache->commitTransaction(),
            'rollBack' => static fn() => $cache->begin() ?? $cache->rollBack(),
            'flush' => static fn() => $cache->flush(),
        ] as $what => $call) {
            self::assertFalse($cache->add('held', 2));
            self::assertSame(Outcome::Held, $cache->lastOutcome());
            self::assertTrue($call(), $what);
            self::assertSame(Outcome::Stored, $cache->lastOutcome(), $what);
        }
    }

    public function testReadingLeavesIt(): void
    {
        $cache = $this->cache();
        $cache->set('k', 1);
        $cache->add('k', 2);
        $cache->get('k');
        $cache->get('absent');
        $cache->has('k');
        $cache->getMultiple(['k', 'absent']);
        $cache->remember('k', static fn(): int => 2);
        $cache->learn();
        $cache->forget();
        $cache->get('k');
        $cache->stats();
        $cache->inspect('k');
        self::assertSame([Outcome::Held, Outcome::Held], [$cache->lastOutcome(), $cache->lastOutcome()]);
    }

    public function testDropped(): void
    {
        $this->cache()->set('seen', 'old');
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->get('seen');
        $a->get('filled');
        $a->get('waits');
        self::assertTrue($a->fill('waits', 'older'));
        self::assertSame(Outcome::Stored, $a->lastOutcome(), 'it waits');
        foreach (['seen', 'filled', 'waits'] as $key) {
            $b->set($key, 'newer');
        }
        $a->writeFills();
        self::assertSame(Outcome::Dropped, $a->lastOutcome(), 'written');
        self::assertTrue($a->set('seen', 'older'));
        self::assertSame(Outcome::Dropped, $a->lastOutcome(), 'set');
        $a->set('other', 1);
        self::assertFalse($a->fill('filled', 'older'));
        self::assertSame(Outcome::Dropped, $a->lastOutcome(), 'filled');
        $a->set('other', 1);
        $a->remember('computed', static fn(): string => $b->set('computed', 'newer') ? 'older' : 'failed');
        self::assertSame(Outcome::Dropped, $a->lastOutcome(), 'computed');
        $next = $this->cache();
        self::assertSame([null, 'newer', 'newer'], [$next->get('seen'), $next->get('filled'), $next->get('computed')]);
        $b->intend('announced');
        self::assertTrue($a->set('announced', 'older'));
        self::assertSame(Outcome::Dropped, $a->lastOutcome(), 'announced');
    }

    public function testBounded(): void
    {
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->get('k');
        $b->set('k', 'b');
        self::assertTrue($a->set('k', 'a'));
        self::assertSame(Outcome::Bounded, $a->lastOutcome());
        self::assertSame('a', $this->cache()->get('k'));
    }

    /** The farthest from what was asked. */
    public function testOfSeveral(): void
    {
        $this->cache()->set('seen', 'old');
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->getMultiple(['seen', 'missed', 'third']);
        $b->setMultiple(['seen' => 'b', 'missed' => 'b']);
        self::assertTrue($a->setMultiple(['missed' => 'a', 'third' => 'a']));
        self::assertSame(Outcome::Bounded, $a->lastOutcome());
        self::assertTrue($a->setMultiple(['seen' => 'a', 'fourth' => 'a']));
        self::assertSame(Outcome::Dropped, $a->lastOutcome());
    }

    public function testHeldMissingKept(): void
    {
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->set('k', 1);
        $outcome = static function (mixed $returned, mixed $expected) use ($a): Outcome {
            self::assertSame($expected, $returned);
            $outcome = $a->lastOutcome();
            $a->set('between', 1);

            return $outcome;
        };
        self::assertSame(Outcome::Held, $outcome($a->add('k', 2), false));
        self::assertSame(Outcome::Kept, $outcome($a->add('ended', 2, -1), false));
        self::assertSame(Outcome::Kept, $outcome($a->update('k', static fn(): null => null), null));
        self::assertSame(Outcome::Kept, $outcome($a->remember('none', static fn(Computation $now): bool => $now->doNotStore() === $now), true));
        $throws = static fn(): never => throw new \LogicException();
        foreach ([
            'update' => static fn() => $a->update('k', $throws),
            'remember' => static fn() => $a->remember('throws', $throws),
            'remember in a transaction' => static fn() => $a->begin() ?? $a->remember('throws', $throws),
        ] as $what => $call) {
            $a->delete('between');
            try {
                $call();
                self::fail("$what has not thrown");
            } catch (\LogicException) {
                self::assertSame(Outcome::Kept, $a->lastOutcome(), $what);
            }
        }
        $a->rollBack();
        self::assertSame(Outcome::Missing, $outcome($a->replace('missing', 2), false));
        self::assertSame(Outcome::Missing, $outcome($a->replace('missing', 2, -1), false));
        self::assertSame(Outcome::Missing, $outcome($a->update('missing', static fn(): int => 1), null));
        self::assertSame(Outcome::Missing, $outcome($a->touch('missing', 60), false));
        self::assertSame(Outcome::Missing, $outcome($a->touch('missing', -1), false));
        // An intent of another's.
        $b->intend('k', 'missing');
        $a->learn();
        self::assertSame(Outcome::Held, $outcome($a->add('missing', 2), false));
        self::assertSame(Outcome::Held, $outcome($a->replace('k', 2), false));
        self::assertSame(Outcome::Held, $outcome($a->update('k', static fn(): int => 1), null));
        self::assertSame(Outcome::Held, $outcome($a->touch('k', 60), false));
        self::assertSame(Outcome::Held, $outcome($a->increment('k'), false));
        // The value is computed, and nobody is kept from it.
        self::assertSame(Outcome::Dropped, $outcome($a->remember('k', static fn(): int => 3), 3));
    }

    public function testNotStorable(): void
    {
        $cache = $this->cache();
        $cache->setMultiple(['k' => 1, 'text' => 'one', 'most' => \PHP_INT_MAX]);
        $bad = static fn(): int => 1;
        foreach ([
            'set' => static fn() => $cache->set('k', $bad),
            'add' => static fn() => $cache->add('new', $bad),
            'replace' => static fn() => $cache->replace('k', [$bad]),
            'fill' => static fn() => $cache->fill('filled', $bad),
            'setMultiple' => static fn() => $cache->setMultiple(['l' => 1, 'm' => $bad]),
            'update' => static fn() => $cache->update('k', static fn(): \Closure => $bad),
            'remember' => static fn() => $cache->remember('computed', static fn(): \Closure => $bad),
        ] as $what => $call) {
            $cache->set('between', 1);
            try {
                $call();
                self::fail("$what has stored it");
            } catch (NotStorable $refusal) {
                self::assertSame(Outcome::NotStorable, $cache->lastOutcome(), $what);
                self::assertStringContainsString($what === 'setMultiple' ? 'The value of "m" cannot be stored' : 'This value cannot be stored', $refusal->getMessage());
            }
        }
        $cache->set('between', 1);
        self::assertFalse($cache->increment('text'));
        self::assertSame(Outcome::NotStorable, $cache->lastOutcome());
        $cache->set('between', 1);
        self::assertFalse($cache->increment('most'));
        self::assertSame(Outcome::NotStorable, $cache->lastOutcome());
        self::assertSame(1, $cache->get('k'));
    }

    public function testWhatTheEngineRefuses(): void
    {
        $cache = $this->refusing();
        // Nothing compresses it.
        $large = \random_bytes(3_000_000);
        foreach ([
            'set' => static fn() => $cache->set('k', $large),
            'setMultiple' => static fn() => $cache->setMultiple(['k' => $large, 'l' => 1]),
            'add' => static fn() => $cache->add('new', $large),
            'remember' => static fn() => $cache->remember('computed', static fn(): string => $large) !== $large,
        ] as $what => $call) {
            // A server may free what it has refused in the background (lazyfree).
            Wait::until(static fn(): bool => $cache->set('between', 1), 'room for a small value');
            self::assertFalse($call(), $what);
            self::assertSame(Outcome::NotStorable, $cache->lastOutcome(), $what);
        }
        $cache->begin();
        self::assertTrue($cache->set('k', $large));
        self::assertSame(Outcome::Stored, $cache->lastOutcome(), 'it waits');
        self::assertFalse($cache->commitTransaction());
        self::assertSame(Outcome::NotStorable, $cache->lastOutcome(), 'at the end of a transaction');
        $cache->get('filled');
        self::assertTrue($cache->fill('filled', $large));
        self::assertSame(Outcome::Stored, $cache->lastOutcome());
        $cache->writeFills();
        self::assertSame(Outcome::NotStorable, $cache->lastOutcome());
    }

    /** Inside, that it waits; at the end, that all was recorded, which is no more than commitTransaction() says. */
    public function testInATransaction(): void
    {
        $this->cache()->set('k', 'old');
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->begin();
        $a->add('k', 1);
        self::assertSame(Outcome::Held, $a->lastOutcome());
        $a->set('k', 'a');
        self::assertSame(Outcome::Stored, $a->lastOutcome());
        $a->remember('inside', static fn(): int => 1);
        self::assertSame(Outcome::Stored, $a->lastOutcome());
        $a->get('filled');
        $a->delete('filled');
        self::assertFalse($a->fill('filled', 'read before the delete'));
        self::assertSame(Outcome::Dropped, $a->lastOutcome());
        self::assertNull($this->cache()->get('k'));
        $b->delete('k');
        self::assertTrue($a->commitTransaction());
        self::assertSame(Outcome::Stored, $a->lastOutcome());
        self::assertSame(1, $a->stats()['conflicts']['dropped']);
        self::assertNull($this->cache()->get('k'));
    }

    public function testEachObjectAndFiberHasItsOwn(): void
    {
        $cache = $this->cache();
        $group = $cache->group('g');
        $cache->set('k', 1);
        $cache->add('k', 1);
        self::assertSame([Outcome::Held, Outcome::Stored], [$cache->lastOutcome(), $group->lastOutcome()]);
        $fiber = new \Fiber(static function () use ($cache): Outcome {
            $first = $cache->lastOutcome();
            self::assertSame(Outcome::Stored, $first);
            $cache->touch('missing', 60);
            \Fiber::suspend($cache->lastOutcome());
            try {
                $cache->add('new', static fn(): int => 1);
            } catch (NotStorable) {
            }

            return $cache->lastOutcome();
        });
        self::assertSame(Outcome::Missing, $fiber->start());
        self::assertSame(Outcome::Held, $cache->lastOutcome());
        $fiber->resume();
        self::assertSame([Outcome::NotStorable, Outcome::Held], [$fiber->getReturn(), $cache->lastOutcome()]);
        // What is computed beside an open transaction may come from rows that are never committed.
        $cache->begin();
        $fiber = new \Fiber(static fn(): array => [$cache->remember('beside', static fn(): int => 1), $cache->lastOutcome()]);
        $fiber->start();
        self::assertSame([1, Outcome::Held], $fiber->getReturn());
        $cache->rollBack();
    }
}
