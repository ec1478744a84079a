<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;

/**
 * What a request itself changes while it computes a value counts like anybody's change, whoever makes it: another fiber, a
 * signal's handler, a destructor, the computation. What it changed before does not count.
 */
trait ChangesMeanwhile
{
    /** @return array<string, \Closure(Cache): mixed> by name: changes of the key k in the group g, which carries the tag t */
    private static function changes(): array
    {
        return [
            'delete' => static fn(Cache $root) => $root->group('g')->delete('k'),
            'delete and look' => static function (Cache $root): void {
                $root->group('g')->delete('k', $there);
            },
            'deleteMultiple' => static fn(Cache $root) => $root->group('g')->deleteMultiple(['k', 'l']),
            'set' => static fn(Cache $root) => $root->group('g')->set('k', 'new'),
            'set and tag' => static fn(Cache $root) => $root->group('g')->set('k', 'new', 60, ['t']),
            'setMultiple' => static fn(Cache $root) => $root->group('g')->setMultiple(['k' => 'new', 'l' => 'l']),
            'add' => static fn(Cache $root) => $root->group('g')->add('k', 'new'),
            'remember' => static fn(Cache $root) => $root->group('g')->remember('k', static fn(): string => 'new'),
            'invalidateTags' => static fn(Cache $root) => $root->group('g')->invalidateTags('t'),
            'flush of the group' => static fn(Cache $root) => $root->group('g')->flush(),
            'flush' => static fn(Cache $root) => $root->flush(),
            'intend' => static fn(Cache $root) => $root->group('g')->intend('k'),
            'set and delete' => static fn(Cache $root) => [$root->group('g')->set('k', 'between'), $root->group('g')->delete('k')],
            'transaction' => static fn(Cache $root) => $root->transaction(static fn() => $root->group('g')->set('k', 'new')),
            'transaction that is rolled back' => static function (Cache $root): void {
                $root->begin();
                $root->group('g')->set('k', 'rolled back');
                $root->rollBack();
            },
            'refresh' => static fn(Cache $root) => $root->refresh(),
        ];
    }

    /** @param \Closure(Cache): mixed $change what was done to it, while 'old' was being computed */
    private function holdsNothingOld(string $what, Cache $root): void
    {
        $isNew = \in_array($what, ['set', 'set and tag', 'setMultiple', 'add', 'remember', 'transaction'], true);
        if ($what !== 'refresh') {
            self::assertSame($isNew ? 'new' : null, $root->group('g')->get('k'), "$what: this request");
        }
        $root->writeFills();
        // That it ends before the next looks.
        $what === 'intend' && $root->refresh();
        self::assertSame($isNew ? 'new' : null, $this->request()->group('g')->get('k'), "$what: the next request");
        $this->request()->flush();
    }

    public function testAComputationIsNotStoredOverAnOwnChangeByAnotherFiber(): void
    {
        // Another's refresh() does not concern the fiber.
        foreach (\array_diff_key(self::changes(), ['refresh' => 1]) as $what => $change) {
            $root = $this->request();
            $fiber = new \Fiber(static fn(): mixed => $root->group('g')->remember('k', static function (): string {
                \Fiber::suspend();

                return 'old';
            }, 0, ['t']));
            $fiber->start();
            $change($root);
            $fiber->resume();
            self::assertSame('old', $fiber->getReturn());
            $this->holdsNothingOld($what, $root);
        }
    }

    public function testAComputationIsNotStoredOverAnOwnChangeInIt(): void
    {
        foreach (self::changes() as $what => $change) {
            $root = $this->request();
            self::assertSame('old', $root->group('g')->remember('k', static function () use ($root, $change): string {
                $change($root);

                return 'old';
            }, 0, ['t']));
            $this->holdsNothingOld($what, $root);
        }
    }

    public function testAComputationIsNotStoredOverAnOwnChangeByADestructorWhileItIsEncoded(): void
    {
        foreach (self::changes() as $what => $change) {
            if ($what !== 'remember') {
                $root = $this->request();
                $root->group('g')->remember('k', static fn(): object => new Interrupting(static fn() => $change($root)), 0, ['t']);
                $this->holdsNothingOld($what, $root);
            }
        }
    }

    public function testAFillIsNotStoredOverAnOwnChangeByAnotherFiber(): void
    {
        foreach (['get', 'getMultiple', 'has'] as $how) {
            foreach ($how === 'get' ? \array_diff_key(self::changes(), ['refresh' => 1]) : \array_intersect_key(self::changes(), ['delete' => 1, 'flush' => 1]) as $what => $change) {
                $root = $this->request();
                $fiber = new \Fiber(static function () use ($root, $how): bool {
                    $how === 'getMultiple' ? $root->group('g')->getMultiple(['k', 'l']) : $root->group('g')->$how('k');
                    \Fiber::suspend();

                    return $root->group('g')->fill('k', 'old', 0, ['t']);
                });
                $fiber->start();
                $change($root);
                // Nor if the other reads it again.
                $what === 'delete' && $root->group('g')->get('k');
                $fiber->resume();
                self::assertFalse($fiber->getReturn(), "$how, $what");
                $this->holdsNothingOld($what, $root);
            }
        }
    }

    public function testAFillIsNotStoredOverAnOwnChangeByAHandler(): void
    {
        foreach (self::changes() as $what => $change) {
            foreach (['between', 'while it is encoded'] as $when) {
                $root = $this->request();
                $root->group('g')->get('k');
                $when === 'between' && $what !== 'refresh' && $change($root);
                $value = $when === 'between' ? 'old' : new Interrupting(static fn() => $change($root));
                if ($what !== 'refresh' || $when !== 'between') {
                    self::assertFalse($root->group('g')->fill('k', $value, 0, ['t']), "$what $when");
                    $this->holdsNothingOld($what, $root);
                }
            }
        }
    }

    // Seen to fail: the handler's own read began another view of the key, by which the fill outside was judged.
    public function testAFillIsNotStoredOverAnOwnChangeByAHandlerThatFillsItAnew(): void
    {
        foreach (self::changes() as $what => $change) {
            if (!\in_array($what, ['set', 'setMultiple', 'update', 'refresh'], true)) {
                $root = $this->request();
                $group = $root->group('g');
                $group->get('k');
                $change($root);
                $group->get('k') ?? $group->fill('k', 'new', 0, ['t']);
                self::assertFalse($group->fill('k', 'old', 0, ['t']), $what);
                $this->holdsNothingOld($what, $root);
            }
        }
    }

    public function testOwnChangesBeforeNeverCount(): void
    {
        foreach (self::changes() as $what => $change) {
            if (\in_array($what, ['delete', 'deleteMultiple', 'invalidateTags', 'flush', 'set and delete', 'transaction that is rolled back', 'refresh'], true)) {
                foreach (['remember', 'get and fill', ...($what === 'delete' ? ['fill', 'remember in a fiber', 'get and fill in a fiber'] : [])] as $how) {
                    $root = $this->request();
                    $group = $root->group('g');
                    $group->get('k');
                    $group->set('k', 'before', 0, ['t']);
                    $change($root);
                    $what === 'refresh' && $group->delete('k');
                    $store = static fn() => match (\strtok($how, ' ')) {
                        'remember' => $group->remember('k', static fn(): string => 'v', 0, ['t']),
                        'get' => $group->get('k') ?? $group->fill('k', 'v', 0, ['t']),
                        default => $group->fill('k', 'v', 0, ['t']),
                    };
                    // A fill without a read in between is of a value that may have been computed before.
                    $how === 'fill' && $root->refresh();
                    \str_ends_with($how, 'fiber') ? (new \Fiber($store))->start() : $store();
                    $root->writeFills();
                    self::assertSame('v', $this->request()->group('g')->get('k'), "$what, $how");
                    $this->request()->flush();
                }
            }
        }
    }

    public function testWhatOthersChangedIsSeenUnderAComputationOfTheSameKeyInIt(): void
    {
        foreach (['delete', 'flush', 'invalidateTags'] as $what) {
            $root = $this->request();
            $value = $root->remember('k', function () use ($root, $what): string {
                $other = $this->request();
                $what === 'invalidateTags' ? $other->invalidateTags('t') : $other->$what('k');
                try {
                    $root->remember('k', static fn(): never => throw new \DomainException());
                } catch (\DomainException) {
                }

                return 'old';
            }, 0, ['t']);
            self::assertSame('old', $value);
            self::assertNull($this->request()->get('k'), $what);
        }
    }

    public function testAFillThatWaitsIsJudgedByItsOwnReadAfterAnotherComputationOfItsKey(): void
    {
        $a = $this->request();
        $a->get('k');
        self::assertTrue($a->fill('k', 'old'));
        $this->request()->delete('k');
        $a->forget('k');
        try {
            $a->remember('k', static fn(): never => throw new \DomainException());
        } catch (\DomainException) {
        }
        $a->writeFills();
        self::assertNull($this->request()->get('k'));
    }

    public function testTwoFibersThatComputeOneKeyLeaveWhatWasComputedLast(): void
    {
        $root = $this->request();
        $first = new \Fiber(static fn(): mixed => $root->remember('k', static function (): string {
            \Fiber::suspend();

            return 'first';
        }));
        $first->start();
        self::assertSame('second', $root->remember('k', static fn(): string => 'second'));
        $first->resume();
        self::assertSame('first', $first->getReturn());
        self::assertSame('second', $root->get('k'));
        self::assertSame('second', $this->request()->get('k'));
        // The lease is free.
        $root->delete('k');
        $calls = 0;
        self::assertSame('third', $this->request()->remember('k', static function () use (&$calls): string {
            $calls++;

            return 'third';
        }));
        self::assertSame([1, 'third'], [$calls, $this->request()->get('k')]);
    }

    public function testASwapSeesWhatItsOwnRequestChangedMeanwhile(): void
    {
        foreach (['delete', 'set', 'flush', 'group flush', 'tag'] as $what) {
            $root = $this->request();
            $group = $root->group('g');
            $group->set('k', 'old', 0, ['t']);
            $times = 0;
            $group->update('k', static function (mixed $there) use ($root, $group, $what, &$times): string {
                if (++$times === 1) {
                    match ($what) {
                        'delete' => $group->delete('k'),
                        'set' => $group->set('k', 'new'),
                        'flush' => $root->flush(),
                        'group flush' => $group->flush(),
                        'tag' => $group->invalidateTags('t'),
                    };
                }

                return \is_string($there) ? "from $there" : '?';
            });
            self::assertSame($what === 'set' ? 'from new' : null, $this->request()->group('g')->get('k'), $what);
            self::assertSame($what === 'set' ? 'from new' : null, $group->get('k'), $what);
        }
    }

    public function testAComputationThatEndsInATransactionIsNotStored(): void
    {
        $root = $this->request();
        $computes = new \Fiber(static fn(): mixed => $root->remember('k', static function (): string {
            \Fiber::suspend();

            return 'computed';
        }));
        $computes->start();
        $root->begin();
        $computes->resume();
        self::assertSame('computed', $computes->getReturn());
        $root->rollBack();
        self::assertNull($this->request()->get('k'), 'it may come from rows that were never committed');
        $calls = 0;
        $this->request()->remember('k', static function () use (&$calls): int {
            return ++$calls;
        });
        self::assertSame(1, $this->request()->get('k'), 'its lease is free');
    }

    public function testInATransactionAnOwnChangeCountsToo(): void
    {
        foreach (['remember', 'fill'] as $how) {
            foreach (['delete', 'set', 'flush', 'tag'] as $what) {
                $root = $this->request();
                $change = static fn() => match ($what) {
                    'delete' => $root->delete('k'),
                    'set' => $root->set('k', 'new'),
                    'flush' => $root->flush(),
                    'tag' => $root->invalidateTags('t'),
                };
                $root->begin();
                if ($how === 'remember') {
                    $root->remember('k', static function () use ($change): string {
                        $change();

                        return 'old';
                    }, 0, ['t']);
                } else {
                    $root->get('k');
                    $change();
                    self::assertFalse($root->fill('k', 'old', 0, ['t']));
                }
                self::assertSame($what === 'set' ? 'new' : null, $root->get('k'), "$how, $what");
                $root->commitTransaction();
                self::assertSame($what === 'set' ? 'new' : null, $root->get('k'), "$how, $what");
                self::assertSame($what === 'set' ? 'new' : null, $this->request()->get('k'), "$how, $what");
                $this->request()->delete('k');
            }
        }
    }

    public function testWhatAnotherFiberDoesIsNotInATransaction(): void
    {
        foreach (['a fiber', 'the main program'] as $owner) {
            $root = $this->request();
            $root->set('there', 'committed');
            $work = static function () use ($root): void {
                $root->begin();
                $root->set('k', 'not committed');
                $root->set('there', 'not committed');
            };
            $fiber = new \Fiber(static function () use ($work, $root): void {
                $work();
                \Fiber::suspend();
                $root->rollBack();
            });
            $owner === 'a fiber' ? $fiber->start() : $work();
            $meanwhile = function () use ($root): void {
                $root->refresh();
                self::assertSame([null, null], [$root->get('k'), $root->get('there')], 'an intent stands');
                self::assertSame('computed', $root->remember('there', static fn(): string => 'computed'));
                $root->get('f');
                self::assertFalse($root->fill('f', 'perhaps of a row that is never committed'));
                self::assertTrue($root->set('elsewhere', 1));
                self::assertTrue($root->commitTransaction(), 'it has none');
                self::assertTrue($root->rollBack());
                self::assertSame(2, $root->transaction(static function () use ($root): int {
                    $root->set('of its own', 2);

                    return 2;
                }));
                self::assertSame([1, 2], [$this->request()->get('elsewhere'), $this->request()->get('of its own')]);
            };
            $owner === 'a fiber' ? $meanwhile() : (new \Fiber($meanwhile))->start();
            $owner === 'a fiber' ? $fiber->resume() : $root->rollBack();
            self::assertSame([null, null, null, 1, 2], \array_map($this->request()->get(...), ['k', 'there', 'f', 'elsewhere', 'of its own']));
            $this->request()->flush();
        }
    }

    public function testAFiberThatIsDestroyedLeavesNothingOpen(): void
    {
        $root = $this->request();
        $fiber = new \Fiber(static fn(): mixed => $root->remember('k', static fn(): mixed => \Fiber::suspend()));
        $fiber->start();
        unset($fiber);
        \gc_collect_cycles();
        $start = \hrtime(true);
        self::assertSame('v', $this->request()->remember('k', static fn(): string => 'v'));
        self::assertLessThan(25e9, \hrtime(true) - $start, 'the lease of 30 s was waited for');

        $root->refresh();
        $fiber = new \Fiber(static fn(): mixed => $root->transaction(static function () use ($root): void {
            $root->set('k', 'not committed');
            \Fiber::suspend();
        }));
        $fiber->start();
        unset($fiber);
        \gc_collect_cycles();
        self::assertNull($root->get('k'), 'rolled back');
        self::assertTrue($root->set('k', 'next'));
        self::assertSame('next', $this->request()->get('k'));

        // With a fiber that only says begin() the transaction ends.
        foreach (['ends', 'is destroyed'] as $how) {
            $fiber = new \Fiber(static function () use ($root, $how): void {
                $root->begin();
                $root->set('k', 'not committed');
                $how === 'ends' || \Fiber::suspend();
            });
            $fiber->start();
            unset($fiber);
            \gc_collect_cycles();
            $root->refresh();
            self::assertNull($root->get('k'));
            self::assertTrue($root->set('k', 'next'));
            self::assertSame('next', $this->request()->get('k'));
        }
    }

    public function testAnExceptionThrownIntoAFiberLeavesNothingOpen(): void
    {
        $root = $this->request();
        foreach (['remember', 'transaction'] as $how) {
            $fiber = new \Fiber(static fn(): mixed => $how === 'remember'
                ? $root->remember('k', static fn(): mixed => \Fiber::suspend())
                : $root->transaction(static fn(): array => [$root->set('k', 'not committed'), \Fiber::suspend()]));
            $fiber->start();
            try {
                $fiber->throw(new \DomainException('thrown in'));
                self::fail('It was swallowed.');
            } catch (\DomainException) {
            }
            self::assertNull($root->get('k'));
            self::assertSame('v', $this->request()->remember('k', static fn(): string => 'v'));
            $this->request()->delete('k');
            $root->refresh();
        }
    }
}
