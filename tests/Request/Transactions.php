<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Contract\Forks;
use PHPUnit\Framework\Attributes\After;
use PHPUnit\Framework\TestCase;

/**
 * What a request changes while its database transaction is open. The database is $committed, which everybody sees, and
 * the argument of each test's closure, which only the writer sees; a reader computes from $committed.
 */
abstract class Transactions extends TestCase
{
    use Forks;

    protected const FORKS = true;

    abstract protected function cache(): Cache;

    #[After]
    protected function endAll(): void
    {
        $this->endChildren();
    }

    /** What a request of its own finds or computes. */
    private function readsThrough(string $key, mixed $committed, string ...$tags): mixed
    {
        $reader = $this->cache();
        $value = $reader->get($key);
        if ($value === null) {
            $value = $committed;
            $reader->fill($key, $value, 0, $tags);
        }
        $reader->writeFills();

        return $value;
    }

    // Seen to fail: touch() that drops what this request has set.
    public function testATouchThatIsRefusedLeavesWhatWasSetInside(): void
    {
        $a = $this->cache();
        $a->transaction(static function () use ($a): void {
            $a->set('k', 'inside');
            self::assertFalse($a->touch('k', 60));
            self::assertSame('inside', $a->get('k'));
        });
        self::assertSame('inside', $this->cache()->get('k'));
    }

    // Seen to fail: the commit stored what was set before the change that was announced.
    public function testWhatWasSetInsideIsOlderThanAChangeThatIsAnnouncedAfterIt(): void
    {
        $a = $this->cache();
        $told = $a->transaction(static function () use ($a): mixed {
            $a->set('k', 'older than the row');
            $a->set('again', 'older than the row');
            $a->intend('k', 'again');
            $a->set('again', 'as the row');

            return $a->get('k');
        });
        self::assertNull($told);
        self::assertNull($a->get('k'));
        self::assertSame([null, 'as the row'], [$this->cache()->get('k'), $this->cache()->get('again')]);
    }

    // Seen to fail: mark(), forget() and renew() that leave a hole where this request's own value was.
    public function testWhatWasSetInsideIsSeenWhateverElseIsDropped(): void
    {
        $a = $this->cache();
        $b = $this->cache();
        $drops = [
            'tag' => static fn(): bool => $a->invalidateTags('unrelated'),
            'forget' => static fn() => $a->forget(),
            'forget the key' => static fn() => $a->forget('forget the key'),
            'refresh' => static fn() => $b->invalidateTags('foreign') && $a->refresh() === null,
            'learn' => static fn() => $b->invalidateTags('other') && $a->learn(),
        ];
        $a->transaction(static function () use ($a, $drops): void {
            $a->get('begins');
            foreach ($drops as $key => $drop) {
                $a->set($key, 'mine');
                $drop();
                self::assertSame('mine', $a->get($key), $key);
                self::assertSame([$key => 'mine'], $a->getMultiple([$key]), $key);
            }
            $a->group('g')->set('flushed', 'mine');
            $a->group('g')->flush();
            self::assertNull($a->group('g')->get('flushed'));
        });
        self::assertSame('mine', $this->cache()->get('tag'));
    }

    // Seen to fail: add() and increment() that act at once, and are gone after the flush at the end.
    public function testWhatActsAtOnceIsRefusedWhereAFlushInsideCoversIt(): void
    {
        $a = $this->cache();
        $this->cache()->set('there', 1);
        $a->group('g')->set('touched', 1);
        $a->transaction(static function () use ($a): void {
            self::assertTrue($a->add('before', 1));
            $a->invalidateTags('t');
            self::assertFalse($a->add('tagged', 1, null, ['t']));
            self::assertTrue($a->add('not tagged', 1));
            $a->group('g')->flush();
            self::assertFalse($a->group('g')->add('k', 1));
            self::assertFalse($a->group('g')->increment('n'));
            self::assertFalse($a->group('g')->touch('touched', 60));
            self::assertFalse($a->group('g')->replace('touched', 2));
            self::assertTrue($a->group('g')->set('set', 1));
            self::assertSame(2, $a->increment('there'));
        });
        $after = $this->cache();
        self::assertSame([1, 1, 2], [$after->get('before'), $after->get('not tagged'), $after->get('there')]);
        self::assertSame([null, null, 1], [$after->get('tagged'), $after->group('g')->get('n'), $after->group('g')->get('set')]);
    }

    public function testWhatActsAtOnceAndIsRefusedLeavesWhatWasSetInside(): void
    {
        $a = $this->cache();
        foreach ([
            'add' => static fn(string $key): bool => $a->add($key, 1),
            'replace' => static fn(string $key): bool => $a->replace($key, 1),
            'increment' => static fn(string $key): bool => $a->increment($key) !== false,
            'update' => static fn(string $key): bool => $a->update($key, static fn(mixed $value): int => 1) !== null,
        ] as $key => $act) {
            $a->transaction(static function () use ($a, $key, $act): void {
                $a->set($key, 'inside');
                self::assertFalse($act($key), $key);
                self::assertSame('inside', $a->get($key), $key);
            });
            self::assertSame('inside', $this->cache()->get($key));
        }
    }

    public function testWhoReadsBetweenLeavesNothingOld(): void
    {
        foreach (['set', 'delete', 'intend', 'setMultiple', 'deleteMultiple'] as $how) {
            $this->cache()->set($how, 'old');
            $writer = $this->cache();
            $result = $writer->transaction(function () use ($writer, $how): string {
                match ($how) {
                    'set' => $writer->set($how, 'new'),
                    'delete' => $writer->delete($how),
                    'intend' => $writer->intend($how),
                    'setMultiple' => $writer->setMultiple([$how => 'new']),
                    'deleteMultiple' => $writer->deleteMultiple([$how]),
                };
                self::assertSame('old', $this->readsThrough($how, 'old'), 'not committed yet');

                return 'what the work returned';
            });
            self::assertSame('what the work returned', $result);
            self::assertSame('new', $this->readsThrough($how, 'new'), $how);
            self::assertSame('new', $this->cache()->get($how), $how);
        }
    }

    public function testOnlyTheWriterSeesWhatItHasSet(): void
    {
        $writer = $this->cache();
        $writer->transaction(function () use ($writer): void {
            self::assertTrue($writer->set('k', ['new']));
            self::assertSame(['new'], $writer->get('k'));
            self::assertNull($this->cache()->get('k'));
            self::assertTrue($writer->delete('k'));
            self::assertNull($writer->get('k'));
            $writer->set('k', ['newest']);
        });
        self::assertSame(['newest'], $writer->get('k'));
        self::assertSame(['newest'], $this->cache()->get('k'));
    }

    public function testTagsAndGroupsMoveOnceMore(): void
    {
        foreach (['tag', 'group'] as $how) {
            $writer = $this->cache();
            $change = static fn(): bool => $how === 'tag' ? $writer->group('g')->invalidateTags('t') : $writer->group('g')->flush();
            $fill = function (string $value): mixed {
                $reader = $this->cache();
                $found = $reader->group('g')->get('k');
                if ($found === null) {
                    $reader->group('g')->fill('k', $value, 0, ['t']);
                }
                $reader->writeFills();

                return $found ?? $value;
            };
            $fill('old');
            $writer->transaction(static function () use ($change, $fill): void {
                self::assertTrue($change());
                self::assertSame('old', $fill('old'));
            });
            self::assertSame('new', $fill('new'), $how);
            self::assertSame('new', $this->cache()->group('g')->get('k'));
            self::assertSame('new', $fill('never computed again'));
            $this->cache()->group('g')->flush();
        }
    }

    public function testAnExceptionDropsAllAndPassesOn(): void
    {
        $this->cache()->setMultiple(['set' => 'old', 'deleted' => 'old', 'untouched' => 'old']);
        $writer = $this->cache();
        try {
            $writer->transaction(static function () use ($writer): never {
                $writer->set('set', 'never committed');
                $writer->delete('deleted');
                $writer->get('filled');
                $writer->fill('filled', 'from rows that are rolled back');
                $writer->remember('remembered', static fn(): string => 'from such rows too');
                throw new \DomainException('no');
            });
        } catch (\DomainException $passed) {
            self::assertSame('no', $passed->getMessage());
        }
        foreach ([$writer, $this->cache()] as $cache) {
            foreach (['set', 'deleted', 'filled', 'remembered'] as $key) {
                self::assertNull($cache->get($key), $key);
            }
            self::assertSame('old', $cache->get('untouched'));
        }
        self::assertSame('old', $this->readsThrough('set', 'old'));
        self::assertSame('old', $this->cache()->get('set'), 'and it can be stored again');
    }

    public function testWhatIsFilledInsideStaysInside(): void
    {
        $writer = $this->cache();
        $writer->transaction(static function () use ($writer): void {
            $writer->get('k');
            $writer->fill('k', 'mine');
            self::assertSame('mine', $writer->get('k'));
            self::assertSame('mine too', $writer->remember('other', static fn(): string => 'mine too'));
        });
        $writer->writeFills();
        self::assertSame([], $this->cache()->getMultiple(['k', 'other']));
    }

    public function testWhatWasFilledBeforeItIsNotStoredAfterIt(): void
    {
        foreach (['set', 'delete', 'intend', 'flush'] as $how) {
            $writer = $this->cache();
            $writer->get($how);
            $writer->fill($how, 'old');
            $writer->transaction(static function () use ($writer, $how): void {
                match ($how) {
                    'set' => $writer->set($how, 'new'),
                    'delete' => $writer->delete($how),
                    'intend' => $writer->intend($how),
                    'flush' => $writer->flush(),
                };
            });
            $writer->writeFills();
            self::assertSame($how === 'set' ? 'new' : null, $this->cache()->get($how), $how);
        }
    }

    // Seen to fail: the request kept what it had computed, and all others had what was set.
    public function testAfterItEverybodyHasWhatWasSet(): void
    {
        $writer = $this->cache();
        $writer->begin();
        $writer->set('k', 'set');
        $writer->get('k');
        $writer->fill('k', 'computed');
        self::assertSame('computed', $writer->get('k'));
        self::assertTrue($writer->commitTransaction());
        self::assertSame(['set', 'set'], [$writer->get('k'), $this->cache()->get('k')]);
        $writer->begin();
        $writer->fill('k', 'computed before');
        $writer->set('k', 'set again');
        self::assertTrue($writer->commitTransaction());
        self::assertSame(['set again', 'set again'], [$writer->get('k'), $this->cache()->get('k')]);
    }

    public function testCallsInsideJoinTheOutermost(): void
    {
        $writer = $this->cache();
        $group = $writer->group('g');
        $writer->transaction(function () use ($writer, $group): void {
            $writer->set('outer', 1);
            $group->transaction(function () use ($group): void {
                $group->set('inner', 2);
            });
            self::assertNull($this->cache()->group('g')->get('inner'), 'not before the outermost one ends');
            try {
                $group->transaction(static function () use ($group, $writer): never {
                    $group->set('dropped', 3);
                    $writer->set('outer', 'overwritten inside');
                    throw new \DomainException();
                });
            } catch (\DomainException) {
            }
            self::assertNull($group->get('dropped'));
            $group->set('after', 4);
        });
        $next = $this->cache();
        self::assertSame([null, 2, null, 4], [$next->get('outer'), $next->group('g')->get('inner'), $next->group('g')->get('dropped'), $next->group('g')->get('after')]);
    }

    // Seen to fail: the delete looked for the key, which counted as a miss, and the older value was stored for two seconds.
    public function testADeleteInsideIsNoReadOfTheKey(): void
    {
        [$a, $b] = [$this->cache(), $this->cache()];
        $a->transaction(static fn(): array => [$a->delete('k'), $a->set('k', 'first')]);
        $a->transaction(static fn(): bool => $a->deleteMultiple(['l', 'm']));
        $b->setMultiple(['k' => 'newer', 'l' => 'newer']);
        $a->set('k', 'older');
        $a->set('l', 'older');

        self::assertSame([null, null], [$this->cache()->get('k'), $this->cache()->get('l')]);
    }

    // Seen to fail: the intent on the second key took a renewal of the view, which dropped the first one's copy.
    public function testWhatWasSetInsideIsSeenAfterAnotherKeyIsChangedThere(): void
    {
        $writer = $this->cache();
        $writer->transaction(function () use ($writer): void {
            $writer->set('k', 'inside');
            $this->cache()->invalidateTags('another');
            $writer->delete('absent');
            self::assertSame('inside', $writer->get('k'));
        });
        self::assertSame('inside', $this->cache()->get('k'));
    }

    public function testASetIsJudgedFromTheBeginning(): void
    {
        $writer = $this->cache();
        $writer->transaction(function () use ($writer): void {
            $this->cache()->set('k', 'of another request');
            // The database shows this transaction what there was when it began.
            $writer->get('k');
            $writer->set('k', 'computed from older rows');
        });
        self::assertNull($this->cache()->get('k'), 'neither: the database decides');
    }

    public function testWhatNeedsNoDatabaseActsAtOnce(): void
    {
        $writer = $this->cache();
        $only = $writer->group('only', cacheOnly: true);
        try {
            $writer->transaction(function () use ($writer, $only): never {
                self::assertTrue($only->set('k', 'v'));
                self::assertSame('v', $this->cache()->group('only', cacheOnly: true)->get('k'));
                self::assertTrue($writer->add('lock', 1));
                self::assertFalse($this->cache()->add('lock', 1));
                self::assertSame(1, $writer->increment('count'));
                throw new \DomainException();
            });
        } catch (\DomainException) {
        }
        self::assertSame('v', $this->cache()->group('only', cacheOnly: true)->get('k'));
        self::assertSame(1, $this->cache()->get('count'));
        self::assertFalse($this->cache()->add('lock', 1));
    }

    public function testTheEventsDoTheSame(): void
    {
        $this->cache()->setMultiple(['a' => 'old', 'b' => 'old']);
        $writer = $this->cache();
        $writer->begin();
        $writer->set('a', 'new');
        $writer->set('b', 'before the savepoint or after it: nobody knows');
        $writer->rollBackToSavepoint();
        self::assertNull($writer->get('b'));
        $writer->set('a', 'newest');
        self::assertSame('old', $this->readsThrough('b', 'old'));
        self::assertTrue($writer->commitTransaction());
        self::assertSame('newest', $this->cache()->get('a'));
        self::assertNull($this->cache()->get('b'));
        self::assertTrue($writer->commitTransaction(), 'no transaction, nothing to do');
        $writer->begin();
        $writer->delete('a');
        self::assertTrue($writer->rollBack());
        self::assertSame('newest', $this->readsThrough('a', 'newest'));
    }

    // Seen to fail: refresh() ended it, and what was changed afterwards was not protected.
    public function testItGoesOnOverARefresh(): void
    {
        $this->cache()->set('k', 'old');
        $writer = $this->cache();
        $writer->begin();
        $writer->set('k', 'new');
        $writer->refresh();
        self::assertSame('old', $this->readsThrough('k', 'old'));
        self::assertTrue($writer->commitTransaction());
        self::assertSame('new', $this->cache()->get('k'));
    }

    // Seen to fail: a call on null.
    public function testWhoYieldsTheKeysMayEndIt(): void
    {
        $this->cache()->setMultiple(['a' => 1, 'b' => 2]);
        $writer = $this->cache();
        $writer->begin();
        self::assertTrue($writer->deleteMultiple((static function () use ($writer): \Generator {
            yield 'a';
            $writer->commitTransaction();
            yield 'b';
        })()));
        self::assertSame([], $this->cache()->getMultiple(['a', 'b']));
    }

    public function testARequestThatEndsInsideIsRolledBack(): void
    {
        $this->cache()->set('k', 'old');
        $this->inProcesses(1, function (): void {
            $writer = $this->cache();
            $writer->begin();
            $writer->set('k', 'never committed');
        });
        self::assertSame('old', $this->readsThrough('k', 'old'));
        self::assertSame('old', $this->cache()->get('k'));
    }

    /** Its last statement, or its COMMIT, may still be under way: nobody shows or stores anything old. */
    public function testAWriterThatDiesLeavesNothingOld(): void
    {
        $seed = $this->cache();
        $seed->set('k', 'old');
        $seed->group('g')->set('tagged', 'old', 0, ['t']);
        $seed->group('h')->set('flushed', 'old');
        $ready = \tempnam(\sys_get_temp_dir(), 'larder');
        self::assertIsString($ready);
        [$pid] = $this->fork(function () use ($ready): never {
            $writer = $this->cache();
            $writer->begin();
            $writer->set('k', 'new');
            $writer->group('g')->invalidateTags('t');
            $writer->group('h')->flush();
            \file_put_contents($ready, 'yes');
            while (true) {
                \sleep(60);
            }
        });
        $this->await(static fn(): bool => \file_get_contents($ready) === 'yes');
        \unlink($ready);
        $between = $this->cache();
        $between->get('k');
        $between->fill('k', 'old');
        $between->group('g')->get('tagged');
        $between->group('g')->fill('tagged', 'old', 0, ['t']);
        $between->group('h')->get('flushed');
        $between->group('h')->fill('flushed', 'old');
        $between->writeFills();
        \posix_kill($pid, \SIGKILL);
        \pcntl_waitpid($pid, $status);
        for ($i = 0; $i < 3; $i++) {
            $reader = $this->cache();
            self::assertNull($reader->get('k'));
            self::assertNull($reader->group('g')->get('tagged'));
            self::assertNull($reader->group('h')->get('flushed'));
            $reader->fill('k', 'old');
            $reader->group('g')->fill('tagged', 'old', 0, ['t']);
            $reader->writeFills();
        }
        // A transaction after it ends as always, for what it changes.
        $next = $this->cache();
        $next->transaction(static function () use ($next): void {
            $next->set('another', 'new');
            $next->group('g')->invalidateTags('other');
        });
        self::assertSame('new', $this->cache()->get('another'));
    }

    // Seen to fail: the child read what its parent had not committed.
    public function testAForkedChildIsInNoTransaction(): void
    {
        $cache = $this->cache();
        $cache->begin();
        $cache->set('k', 'not committed');
        $cache->fill('f', 'not committed');
        $seen = $this->inProcesses(1, static function () use ($cache): array {
            $seen = [$cache->get('k'), $cache->get('f'), $cache->remember('r', static fn(): string => 'of the child')];
            // A fiber's own may be the parent's only.
            (new \Fiber(static function () use ($cache): void {
                $cache->refresh();
                $cache->set('s', 'of the child');
            }))->start();
            $cache->writeFills();

            return $seen;
        });
        self::assertSame([[null, null, 'of the child']], \array_values($seen));
        $next = $this->cache();
        self::assertSame(['of the child', 'of the child'], [$next->get('r'), $next->get('s')]);
        $cache->rollBack();
        self::assertNull($this->cache()->get('k'));
    }
}
