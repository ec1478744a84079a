<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Reentrancy\Waking;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * The table of conflicts, a row a test. Each Cache is a request of its own over the same truth tier; a third one,
 * opened last, is the next request.
 */
abstract class ConflictTableRules extends TestCase
{
    use ChangesMeanwhile;

    abstract protected function cache(): Cache;

    public function testNothingChangedSoItIsStored(): void
    {
        $a = $this->request();
        self::assertTrue($a->set('k', 'a'));
        self::assertSame('a', $this->request()->get('k'));
    }

    public function testManyAtOnceAreJudgedAsOneByOneInFewCalls(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $keys = \array_map(static fn(int $i): string => "k$i", \range(0, 119));
        $b->setMultiple(\array_fill_keys(\array_slice($keys, 60), 'before'));
        $a->refresh();
        // Of each twelve, by turns: missed, or there and read; and then nothing, a set, the same set or a deletion by another.
        $a->getMultiple($keys);
        foreach ($keys as $i => $key) {
            match ($i % 4) {
                1 => $b->set($key, 'b'),
                2 => $b->set($key, "a$i"),
                3 => $b->delete($key),
                default => null,
            };
        }
        $values = [];
        foreach ($keys as $i => $key) {
            $values[$key] = "a$i";
        }
        $calls = static fn(): int => (int) \array_sum(\array_column($a->stats(false), 'calls'));
        $before = $calls();
        self::assertTrue($a->setMultiple($values));
        self::assertLessThan(20, $calls() - $before);
        $found = $this->request()->getMultiple($keys);
        foreach ($keys as $i => $key) {
            $isThere = $i % 4 === 0 || ($i < 60 && $i % 4 !== 3);
            self::assertSame($isThere ? "a$i" : null, $found[$key] ?? null, $key);
        }
    }

    public function testAFillIsNotStoredIfSomebodyChangedTheKey(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->set('k', 'b');
        self::assertFalse($a->fill('k', 'older'));
        $a->writeFills();
        self::assertSame('b', $this->request()->get('k'));
    }

    public function testAFillThatWaitsIsNotStoredIfSomebodyChangesTheKeyMeanwhile(): void
    {
        foreach (['set' => 'b', 'delete' => null] as $change => $left) {
            [$a, $b] = [$this->request(), $this->request()];
            $a->get($change);
            self::assertTrue($a->fill($change, 'older'));
            $change === 'set' ? $b->set($change, 'b') : $b->delete($change);
            $a->writeFills();
            self::assertSame($left, $this->request()->get($change));
        }
    }

    public function testAFillIsInTheTruthAfterCommitOnly(): void
    {
        $a = $this->request();
        $a->get('k');
        $a->fill('k', 'v');
        self::assertSame('absent', $this->kind('k'));
        self::assertSame('v', $a->get('k'));
        $a->writeFills();
        self::assertSame('value', $this->kind('k'));
        self::assertSame('v', $this->request()->get('k'));
    }

    public function testReadAndSetAfterAForeignChangeDropsBoth(): void
    {
        $this->request()->set('k', 'old');
        [$a, $b] = [$this->request(), $this->request()];
        self::assertSame('old', $a->get('k'));
        $b->set('k', 'b');
        self::assertTrue($a->set('k', 'a'));
        self::assertSame(1, $a->stats()['conflicts']['dropped']);
        self::assertNull($this->request()->get('k'));
    }

    // Seen to fail: a touch() that counts as the read of what it touches: the older view was stored over the newer value.
    #[TestWith(['read'])]
    #[TestWith(['blind'])]
    #[TestWith(['own before'])]
    public function testATouchShowsNobodyTheNewerValue(string $before): void
    {
        $this->request()->set('k', 'old');
        [$a, $b] = [$this->request(), $this->request()];
        $before === 'read' && self::assertSame('old', $a->get('k'));
        $before === 'own before' && $a->set('k', 'by a');
        $b->refresh();
        $b->set('k', 'newer');
        self::assertTrue($a->touch('k', 60));
        self::assertSame('newer', $this->request()->get('k'));
        self::assertTrue($a->set('k', 'from the older one'));
        self::assertNull($this->request()->get('k'));
    }

    public function testATouchOfWhatNobodyElseChangedIsInNobodysWay(): void
    {
        $this->request()->set('k', 'old');
        $a = $this->request();
        self::assertSame('old', $a->get('k'));
        self::assertTrue($a->touch('k', 60));
        self::assertTrue($a->touch('k', 60));
        self::assertTrue($a->set('k', 'from old'));
        self::assertSame('from old', $this->request()->get('k'));
        self::assertTrue($a->touch('k', 60));
        self::assertTrue($a->set('k', 'from that'));
        self::assertSame('from that', $this->request()->get('k'));
    }

    public function testABlindSetAfterAForeignChangeDropsBoth(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $b->set('k', 'b');
        self::assertTrue($a->set('k', 'a'));
        self::assertNull($this->request()->get('k'));
    }

    #[TestWith(['set'])]
    #[TestWith(['fill'])]
    #[TestWith(['setMultiple'])]
    public function testWhatIsReadWhileAValueIsEncodedIsNotWhatItWasComputedFrom(string $how): void
    {
        $this->request()->set('k', 'old');
        [$a, $b] = [$this->request(), $this->request()];
        $value = new Interrupting(static function () use ($a, $b): void {
            $b->set('k', 'b');
            $a->get('k');
        });
        $how === 'setMultiple' ? $a->setMultiple(['k' => $value]) : $a->$how('k', $value);
        $a->writeFills();
        self::assertContains($this->request()->get('k'), $how === 'fill' ? ['b'] : [null]);
    }

    /** A value's own code may take its time, or begin a job of its own. */
    public function testWhatIsLearnedWhileAValueIsDecodedIsSeenAfterwards(): void
    {
        $calls = [
            static fn(Cache $cache, string $key): mixed => $cache->get($key),
            static fn(Cache $cache, string $key): mixed => $cache->has($key),
            static fn(Cache $cache, string $key): mixed => $cache->getMultiple([$key, 'other']),
            static fn(Cache $cache, string $key): mixed => $cache->remember($key, static fn(): string => 'computed'),
            // Seen to fail: RequestTier::arrive() that looks at its own turn only.
            static function (Cache $cache, string $key): void {
                $cache->prefetch([[$cache, [$key, 'other']]]);
                $cache->get($key);
            },
        ];
        foreach ($calls as $i => $call) {
            foreach (['learn', 'refresh'] as $how) {
                [$a, $b] = [$this->request(), $this->request()];
                $b->set("$how$i", new Waking('old'));
                $a->refresh();
                Waking::$does = static function () use ($a, $b, $how, $i): void {
                    Waking::$does = null;
                    $b->set("$how$i", 'new');
                    $a->$how();
                };
                $call($a, "$how$i");
                Waking::$does = null;
                self::assertSame('new', $a->get("$how$i"), "$how in call $i");
            }
        }
    }

    public function testAfterItsOwnDropTheRequestIsStillJudgedByItsFirstRead(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $b->set('k', 'b');
        $a->set('k', 'a');
        $a->set('k', 'a2');
        self::assertNull($this->request()->get('k'));
    }

    public function testMissedAndSetAfterAForeignDeleteDropsBoth(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->delete('k');
        self::assertTrue($a->set('k', 'a'));
        self::assertNull($this->request()->get('k'));
    }

    public function testMissedAndSetAfterTheSameBytesKeepsThem(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->set('k', ['same' => 1]);
        self::assertTrue($a->set('k', ['same' => 1]));
        self::assertSame(['same' => 1], $this->request()->get('k'));
        self::assertSame('value', $this->kind('k'));
    }

    public function testMissedAndSetAfterOtherBytesHasABoundedLife(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->set('k', 'b');
        self::assertTrue($a->set('k', 'a'));
        self::assertSame('value of bounded life', $this->kind('k'));
        self::assertSame('a', $this->request()->get('k'));
        $end = \microtime(true) + 2.2;
        while (\microtime(true) < $end) {
            \usleep(20000);
        }
        // One reader is sent to renew it, the others are shown it meanwhile.
        [$c, $d] = [$this->request(), $this->request()];
        self::assertNull($c->get('k'));
        self::assertSame('a', $d->get('k'));
        self::assertTrue($c->set('k', 'c'));
        self::assertSame('value', $this->kind('k'));
        self::assertSame('c', $this->request()->get('k'));
    }

    public function testMissedAndSetAfterADropHasABoundedLife(): void
    {
        [$a, $b, $c] = [$this->request(), $this->request(), $this->request()];
        $a->get('k');
        $b->set('k', 'b');
        $c->set('k', 'c');
        self::assertTrue($a->set('k', 'a'));
        self::assertSame('value of bounded life', $this->kind('k'));
    }

    public function testWhatIsComputedFromAValueOfBoundedLifeIsDropped(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->set('k', 'b');
        $a->set('k', 'a');
        $c = $this->request();
        self::assertSame('a', $c->get('k'));
        self::assertTrue($c->set('k', 'from a'));
        self::assertNull($this->request()->get('k'));
    }

    /** It keeps the end of the value that it was made from. */
    public function testWhatAnUpdateMakesOfAValueOfBoundedLifeIsOne(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('k');
        $b->set('k', 'b');
        $a->set('k', 'a');
        $c = $this->request();
        self::assertSame('aa', $c->update('k', static fn(mixed $value): string => $value . 'a'));
        self::assertSame('value of bounded life', $this->kind('k'));
        self::assertSame('aa', $c->get('k'));
        self::assertTrue($c->set('k', 'from aa'));
        self::assertNull($this->request()->get('k'));
    }

    public function testOwnChangesNeverCount(): void
    {
        $a = $this->request();
        $a->get('k');
        $a->set('k', 1);
        $a->delete('k');
        $a->set('k', 2);
        $a->flush();
        $a->set('k', 3);
        self::assertSame(3, $this->request()->get('k'));
    }

    public function testALaterWriteReplacesAPendingFill(): void
    {
        $a = $this->request();
        $a->get('k');
        $a->fill('k', 'fill');
        $a->set('k', 'set');
        $a->writeFills();
        self::assertSame('set', $this->request()->get('k'));
        $a->fill('d', 'fill');
        $a->delete('d');
        $a->writeFills();
        self::assertNull($this->request()->get('d'));
    }

    /** A store may know that a cache was never flushed, until it is. */
    // Seen to fail over SQLite: current() that leaves unflushed as it is.
    #[TestWith(['own'])]
    #[TestWith(['of a group'])]
    #[TestWith(['by another'])]
    public function testTheFirstFlushReachesAWorkerThatHasWrittenSince(string $whose): void
    {
        $place = static fn(Cache $cache): Cache => $whose === 'of a group' ? $cache->group('g') : $cache;
        $place($this->request())->set('k', 'old');
        $worker = $this->request();
        $there = $place($worker);
        self::assertSame('old', $there->get('k'));
        self::assertTrue(($whose === 'by another' ? $this->request() : $there)->flush());
        foreach (['set', 'delete'] as $job) {
            $worker->refresh();
            $job === 'set' ? $worker->set('other', 1) : $worker->delete('other');
            self::assertNull($there->get('k'), "then a $job");
            self::assertSame('new', $there->remember($job, static fn(): string => 'new'));
        }
    }

    // Seen to fail over SQLite: appendAfterOthers() that leaves the log's flags as the worker knew them.
    #[TestWith([''])]
    #[TestWith(['co'])]
    public function testAnothersFirstFlushStaysWhateverAWorkerWritesAfterIt(string $group): void
    {
        $place = static fn(Cache $cache): Cache => $group === '' ? $cache : $cache->group($group);
        $worker = $this->request();
        $worker->group('g')->set('before', 1);
        $place($this->request())->set('k', 'flushed');
        self::assertTrue($place($this->request())->flush());
        for ($i = 0; $i < 8; $i++) {
            $worker->refresh();
            $worker->set("set $i", 1);
            $worker->get("fill $i");
            $worker->fill("fill $i", 1);
            $worker->writeFills();
            self::assertNull($place($this->request())->get('k'), "after $i writes");
        }
    }

    public function testAFlushCountsAsADeletionOfWhatItCovers(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $ga = $a->group('g');
        $ga->get('fill');
        $ga->get('set');
        $ga->fill('fill', 'older');
        $b->group('g')->flush();
        self::assertTrue($ga->set('set', 'older'));
        $a->writeFills();
        self::assertNull($this->request()->group('g')->get('fill'));
        self::assertNull($this->request()->group('g')->get('set'));
    }

    public function testATagsInvalidationCountsAsADeletionOfWhatCarriesIt(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->get('fill');
        $a->get('other');
        self::assertTrue($a->fill('fill', 'older', 0, ['t']));
        self::assertTrue($a->fill('other', 'good', 0, ['u']));
        $b->invalidateTags('t');
        $a->writeFills();
        self::assertNull($this->request()->get('fill'));
        self::assertSame('good', $this->request()->get('other'));
    }

    public function testAfterAForeignFlushItCountsWhatWasReadBeforeIt(): void
    {
        $long = \str_repeat('long ', 1_000);
        foreach (['flush', 'tag', 'forgotten'] as $what) {
            $group = $this->request()->group($what);
            $group->set('read', 'old', 0, ['t']);
            $group->set('long', $long);
            $group->set('long tagged', $long, 0, ['t']);
            $a = $this->request()->group($what);
            self::assertSame(['old', $long, $long], [$a->get('read'), $a->get('long'), $a->get('long tagged')]);
            $b = $this->request()->group($what);
            $what === 'tag' ? $b->invalidateTags('t') : $b->flush();
            $what === 'forgotten' ? $a->forget() : self::assertTrue($a->learn());
            foreach (['read', 'long', 'long tagged'] as $key) {
                if ($what !== 'tag' || $key !== 'long') {
                    $what === 'forgotten' || self::assertNull($a->get($key), "$what: $key");
                    $a->set($key, 'computed from before', 0, ['t']);
                    self::assertNull($this->request()->group($what)->get($key), "$what: $key");
                }
            }
            // Of these nobody has read anything before: a process that lives on goes on storing.
            foreach (\range(1, 3) as $i) {
                self::assertNull($a->get("new $i"));
                self::assertTrue($a->set("new $i", $i, 0, ['t']));
                self::assertSame($i, $this->request()->group($what)->get("new $i"), $what);
            }
        }
    }

    public function testAForeignFlushCountsAlsoUnderAnOwnOne(): void
    {
        foreach (['flush', 'tag'] as $what) {
            [$a, $b] = [$this->request(), $this->request()];
            foreach ([$b, $a] as $request) {
                $what === 'tag' ? $request->invalidateTags('t') : $request->flush();
            }
            $a->set($what, 'older', 0, ['t']);
            self::assertNull($this->request()->get($what), $what);
        }
    }

    public function testWhoHasSwappedIsJudgedFromThere(): void
    {
        // A lock that others had before.
        foreach ([true, false] as $tried) {
            [$a, $b, $c] = [$this->request(), $this->request(), $this->request()];
            self::assertTrue($b->add('lock', 'b'));
            self::assertFalse($tried && $a->add('lock', 'a'));
            self::assertTrue($b->delete('lock'));
            self::assertTrue($a->add('lock', 'a'));
            self::assertTrue($a->set('lock', 'a, renewed'));
            self::assertFalse($c->add('lock', 'c'), 'two have it');
            self::assertSame('a, renewed', $this->request()->get('lock'));
            $a->delete('lock');
        }
        // One that was taken after a flush.
        [$a, $b] = [$this->request(), $this->request()];
        $b->flush();
        self::assertTrue($a->add('lock', 'a'));
        self::assertTrue($a->set('lock', 'a, renewed'));
        self::assertFalse($this->request()->add('lock', 'c'));

        [$a, $b] = [$this->request(), $this->request()];
        $b->set('counter', 5);
        self::assertSame(6, $a->increment('counter'));
        $a->set('counter', 0);
        self::assertSame(1, $a->increment('counter'));
        // What comes after that is a change like any other.
        $b->set('counter', 100);
        $a->set('counter', 2);
        self::assertNull($this->request()->get('counter'));
    }

    public function testWhatWasSwappedInWithATagThatNobodyUsedBeforeIsThere(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        self::assertTrue($a->add('lock', 'a', 60, ['locks', 'more locks']));
        self::assertFalse($b->add('lock', 'b', 60, ['locks']), 'two have it');
        self::assertSame('a', $this->request()->get('lock'));
        self::assertTrue($a->replace('lock', 'a, renewed', 60, ['renewed']));
        self::assertSame('a, renewed', $this->request()->get('lock'));
        self::assertTrue($this->request()->invalidateTags('renewed'));
        self::assertTrue($this->request()->add('lock', 'b', 60, ['locks']));
    }

    public function testNobodySwapsWhatWasFlushedMeanwhile(): void
    {
        foreach (['flush' => [], 'group flush' => [], 'tag' => ['t']] as $what => $tags) {
            [$a, $b] = [$this->request(), $this->request()];
            [$in, $of] = [$a->group('g'), $b->group('g')];
            foreach (['counter' => 34, 'basket' => ['old'], 'lock' => 'b', 'settings' => 'old'] as $key => $value) {
                $of->set($key, $value, 0, $tags);
            }
            // It knows now where the last flush is, and when the tag was invalidated.
            $in->getMultiple(['counter', 'basket', 'lock', 'settings']);
            match ($what) {
                'flush' => $b->flush(),
                'group flush' => $of->flush(),
                'tag' => $of->invalidateTags('t'),
            };
            self::assertSame(1, $in->increment('counter'), $what);
            self::assertNull($in->update('basket', static fn(mixed $there): mixed => [$there, 'new']), $what);
            self::assertTrue($in->add('lock', 'a'), $what);
            self::assertFalse($in->replace('settings', 'new'), $what);
            self::assertSame(['counter' => 1, 'lock' => 'a'], $this->request()->group('g')->getMultiple(['counter', 'basket', 'lock', 'settings']));
        }
        // In a transaction that goes on, so that an intent stands where the flush is noted.
        [$a, $b] = [$this->request(), $this->request()];
        $b->set('counter', 34);
        self::assertSame(34, $a->get('counter'));
        $b->begin();
        $b->flush();
        self::assertSame(1, $a->increment('counter'));
        $b->rollBack();
    }

    public function testCacheOnlyTheLastSetWins(): void
    {
        [$a, $b] = [$this->request()->group('g', true), $this->request()->group('g', true)];
        $a->get('read');
        $a->set('read', 1);
        $b->get('read');
        $a->set('read', 2);
        self::assertTrue($b->set('read', 3));
        self::assertTrue($b->set('blind', 'b'));
        self::assertTrue($a->set('blind', 'a'));
        $next = $this->request()->group('g', true);
        self::assertSame(3, $next->get('read'));
        self::assertSame('a', $next->get('blind'));
    }

    /** As whoever takes a lock reads anew what it had missed before, and writes. */
    public function testCacheOnlyTheLastSetWinsAfterAHitThatFollowsAMiss(): void
    {
        foreach (['set', 'set, which is read once more', 'set, of which it hears', 'delete'] as $i => $last) {
            $a = $this->request()->group("g$i", cacheOnly: true);
            $b = $this->request()->group("g$i", cacheOnly: true);
            self::assertNull($a->get('k'));
            $b->set('k', 'b');
            $a->learn();
            self::assertSame('b', $a->get('k'));
            if ($last !== 'set') {
                $last === 'delete' ? $b->delete('k') : $b->set('k', 'newer');
                $a->learn();
                // The miss of what was deleted begins anew: what follows it may have been computed before.
                $last === 'set, of which it hears' || self::assertSame($last === 'delete' ? null : 'newer', $a->get('k'));
            }
            self::assertTrue($a->set('k', 'a'));
            $next = $this->request()->group("g$i", cacheOnly: true);
            self::assertSame($last === 'delete' ? null : 'a', $next->get('k'));
            self::assertNotContains('value of bounded life', \array_column($next->inspect('k'), 'kind'));
        }
    }

    /** As whoever takes a lock: what it has missed before, others may have stored and removed since. */
    public function testCacheOnlyAMissAfterAllWasLearnedIsTheOneThatCounts(): void
    {
        $a = $this->request()->group('g', cacheOnly: true);
        $b = $this->request()->group('g', cacheOnly: true);
        foreach (['removed', 'removed twice', 'not read again', 'removed once more'] as $key) {
            self::assertNull($a->get($key));
            $b->set($key, 'b');
            $b->delete($key);
        }
        Cache::learnAll();
        self::assertNull($a->get('removed'));
        self::assertNull($a->get('removed twice'));
        self::assertNull($a->get('removed once more'));
        $b->set('removed once more', 'b');
        $b->delete('removed once more');
        self::assertNull($a->get('removed once more'));
        $b->set('removed twice', 'b');
        $b->delete('removed twice');
        Cache::learnAll();
        self::assertNull($a->get('removed twice'));
        foreach (['removed', 'removed twice', 'not read again', 'removed once more'] as $key) {
            self::assertTrue($a->set($key, 'a'));
        }
        $next = $this->request()->group('g', cacheOnly: true);
        self::assertSame('a', $next->get('removed'));
        self::assertSame('a', $next->get('removed twice'));
        self::assertNull($next->get('not read again'));
        self::assertNull($next->get('removed once more'));
        self::assertNotContains('value of bounded life', \array_column($next->inspect('removed'), 'kind'));
    }

    /** The lock's holder has read the value by then, so its next set wins, whatever it does in between. */
    // Seen to fail: RequestTier::drop() that does not note what it showed.
    public function testCacheOnlyWhatWasMissedThenReadAndDroppedByAnOwnChangeCountsAsRead(): void
    {
        $between = [
            'delete' => static fn(Cache $cache): bool => $cache->delete('delete'),
            'deleteMultiple' => static fn(Cache $cache): bool => $cache->deleteMultiple(['deleteMultiple']),
            'touch' => static fn(Cache $cache): bool => $cache->touch('touch', 600),
            'add' => static fn(Cache $cache): bool => $cache->add('add', 9),
            'update' => static fn(Cache $cache): mixed => $cache->update('update', static fn(): mixed => null),
            'expired' => static fn(Cache $cache): bool => $cache->set('expired', 1, -1),
        ];
        $a = $this->request()->group('g', cacheOnly: true);
        $b = $this->request()->group('g', cacheOnly: true);
        foreach ($between as $key => $change) {
            self::assertNull($a->get($key));
            $b->set($key, 5);
            Cache::learnAll();
            self::assertSame(5, $a->get($key));
            $change($a);
            self::assertTrue($a->set($key, 6));
            $next = $this->request()->group('g', cacheOnly: true);
            self::assertSame(6, $next->get($key), $key);
            self::assertNotContains('value of bounded life', \array_column($next->inspect($key), 'kind'), $key);
        }
    }

    public function testUnderAnIntentNothingIsStoredAndNothingRead(): void
    {
        $this->request()->set('k', 'old');
        $writer = $this->request();
        $writer->intend('k');
        $reader = $this->request();
        self::assertNull($reader->get('k'));
        self::assertFalse($reader->fill('k', 'older') && $this->committed($reader, 'k') !== null);
        self::assertFalse($this->request()->add('k', 'x'));
        self::assertTrue($writer->set('k', 'new'));
        self::assertSame('new', $this->request()->get('k'));
    }

    public function testASetUnderAnothersIntentDropsAndCountsAsAChange(): void
    {
        $writer = $this->request();
        $writer->intend('k');
        self::assertTrue($this->request()->set('k', 'others'));
        self::assertNull($this->request()->get('k'));
        self::assertTrue($writer->set('k', 'new'));
        self::assertNull($this->request()->get('k'), 'both wrote their databases, nobody knows whose value is newer');
        self::assertTrue($this->request()->set('k', 'next'));
        self::assertSame('next', $this->request()->get('k'));
    }

    public function testAnIntentEndsWithItsRequestAndWithAChange(): void
    {
        $this->request()->set('k', 'old');
        $writer = $this->request();
        $reader = $this->request();
        $writer->intend('k');
        self::assertNull($reader->get('k'));
        $writer->refresh();
        self::assertFalse($reader->fill('k', 'older'));
        $next = $this->request();
        self::assertNull($next->get('k'));
        self::assertTrue($next->fill('k', 'new'));
        $next->writeFills();
        self::assertSame('new', $this->request()->get('k'));
    }

    public function testAFillUnderAnIntentIsSeenByNobody(): void
    {
        $writer = $this->request();
        $writer->intend('k');
        $reader = $this->request();
        self::assertNull($reader->get('k'));
        $reader->fill('k', 'older');
        self::assertNull($this->request()->get('k'), 'not even near');
        $reader->writeFills();
        self::assertNull($this->request()->get('k'));
    }

    public function testTwoIntentsStandBesideEachOther(): void
    {
        [$a, $b] = [$this->request(), $this->request()];
        $a->intend('k');
        $b->intend('k');
        $a->set('k', 'a');
        self::assertNull($this->request()->get('k'));
        self::assertTrue($this->request()->set('k', 'c'));
        self::assertNull($this->request()->get('k'));
        $b->delete('k');
        self::assertTrue($this->request()->set('k', 'd'));
        self::assertSame('d', $this->request()->get('k'));
    }

    public function testALivingProcessIsJudgedByItsFirstReadUntilItRefreshes(): void
    {
        $this->request()->set('k', 1);
        $a = $this->request();
        self::assertSame(1, $a->get('k'));
        $this->request()->set('k', 2);
        $end = \microtime(true) + 1.1;
        while (\microtime(true) < $end) {
            \usleep(20000);
        }
        self::assertSame(2, $a->get('k'), 'copies are renewed after a second');
        $a->set('k', 3);
        self::assertNull($this->request()->get('k'), 'but the first read counts');
        $a->refresh();
        $a->set('k', 4);
        self::assertSame(4, $this->request()->get('k'));
    }

    public function testACacheThatGoesOutOfScopeCommitsItsFills(): void
    {
        $a = $this->request();
        $a->get('k');
        $a->fill('k', 'v');
        unset($a);
        self::assertSame('value', $this->kind('k'));
    }

    private function committed(Cache $cache, string $key): mixed
    {
        $cache->writeFills();

        return $this->request()->get($key);
    }

    private function request(): Cache
    {
        return $this->cache();
    }

    /** Which kind of record the truth tier has. */
    private function kind(string $key): string
    {
        $rows = $this->request()->inspect($key);

        return $rows[\count($rows) - 1]['kind'];
    }
}
