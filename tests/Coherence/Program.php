<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Tests\Reentrancy\Garbage;

/** What one request does: one to three random pieces of work, in the ways in which applications use a cache. */
final class Program
{
    private const COUNTERS = 4;

    /** Nanoseconds in which the same lock is tried for. */
    private const LOCK = 50_000_000;

    private bool $isOver = false;

    /** Whether a fiber is between its write to the database and its call of the cache. */
    private static bool $isWriting = false;

    /** @var \WeakMap<object, Steps> of fibers */
    private \WeakMap $others;

    /** A destructor's miss between an own change and the fill makes a fill of what is older right: see docs/php.md. */
    private bool $isBetween = false;

    /** @param bool $nested destructors call the cache in the middle of some calls */
    public function __construct(private readonly Steps $steps, private readonly Catalog $catalog, private readonly bool $nested = false)
    {
        $this->others = new \WeakMap();
    }

    private function steps(): Steps
    {
        $fiber = \Fiber::getCurrent();

        return $fiber === null ? $this->steps : $this->others[$fiber] ?? $this->steps;
    }

    /** @param int $seed what the request does follows from it */
    public function run(int $seed): void
    {
        \mt_srand($seed);
        for ($i = \mt_rand(1, 3); $i > 0; $i--) {
            if ($this->nested && \mt_rand(0, 3) === 0) {
                Garbage::fill(\mt_rand(0, 300), $this->amid(...));
            }
            $this->work();
            self::pause();
        }
        // What comes later would be of another request.
        $this->nested && \gc_collect_cycles();
        $this->isOver = true;
    }

    /**
     * Mostly none or a short one; now and then long enough for a bounded life, or a long-lived process's copies, to end. In a
     * fiber another one goes on meanwhile.
     */
    public static function pause(): void
    {
        if (\Fiber::getCurrent() !== null) {
            self::$isWriting || Loop::pause();

            return;
        }
        $chance = \mt_rand(1, 10_000);
        if ($chance <= 6) {
            \usleep(\mt_rand(1_000_000, 2_600_000));
        } elseif ($chance <= 100) {
            \usleep(\mt_rand(10_000, 80_000));
        } elseif ($chance <= 2500) {
            \usleep(\mt_rand(0, 2_000));
        }
    }

    private function work(): void
    {
        $item = $this->item();
        match (self::choose([
            'read' => 16, 'readAndFill' => 26, 'readAndSet' => 8, 'write' => 5, 'readModifyWrite' => 9, 'writeAndDelete' => 7,
            'intend' => 6, 'setTwice' => 2, 'tag' => 3, 'flush' => 1, 'several' => 4, 'remember' => 9, 'count' => 4,
            'update' => 3, 'forget' => 1, 'prefetch' => 2, 'transaction' => 5, 'writeFills' => 2, 'expire' => 3, 'fibers' => Loop::isRunning() ? 0 : 5,
        ])) {
            'read' => $this->steps()->get($item),
            'readAndFill' => $this->readAndFill($item),
            'readAndSet' => $this->readAndSet($item),
            'write' => $this->writeAndSet($item),
            'readModifyWrite' => $this->readModifyWrite($item),
            'writeAndDelete' => $this->writeAndDelete($item),
            'intend' => $this->intend($this->announced()),
            // Its locks would stop the other requests of an event loop's process.
            'transaction' => self::atOnce($this->transaction(...)),
            'fibers' => $this->fibers($item),
            'writeFills' => $this->steps()->writeFills(),
            'expire' => $this->expire($this->catalog->items[\mt_rand($this->catalog->busy, \count($this->catalog->items) - 1)]),
            'setTwice' => $this->setTwice($item),
            'tag' => $this->tag(),
            'flush' => $this->flush(),
            'several' => $this->several(),
            'update' => $this->update($item),
            'forget' => $this->steps()->forget($item, \mt_rand(0, 3) === 0),
            'prefetch' => $this->steps()->prefetch(\array_slice($this->catalog->items, \mt_rand(0, 20), 6)),
            'remember' => $this->steps()->remember($item, \mt_rand(0, 3) === 0 ? 1 : 0, \mt_rand(0, 3) === 0 ? fn() => $this->meanwhile($item) : null),
            'count' => match (\mt_rand(0, 3)) {
                0, 1 => $this->steps()->increment(\mt_rand(1, self::COUNTERS)),
                2 => $this->steps()->count(\mt_rand(1, self::COUNTERS)),
                3 => $this->steps()->lock(\intdiv(\hrtime(true), self::LOCK)),
            },
        };
    }

    /** Changes no row: the call outside may be about to store what was computed before. */
    private function amid(): void
    {
        if ($this->isOver || $this->isBetween) {
            return;
        }
        match (\mt_rand(0, 4)) {
            0 => $this->steps()->increment(\mt_rand(1, self::COUNTERS)),
            1 => $this->steps()->lock(\intdiv(\hrtime(true), self::LOCK)),
            2 => $this->steps()->getMultiple(\array_slice($this->catalog->items, \mt_rand(0, 5), 3)),
            default => $this->steps()->get($this->item()),
        };
    }

    /** What the request itself changes while it computes the item: as a signal's handler, or the computation. */
    private function meanwhile(Item $item): void
    {
        match (\mt_rand(0, 8)) {
            0, 1, 2 => $this->writeAndDelete($item),
            3, 4, 5 => $this->writeAndSetAtOnce($item),
            6 => $this->tag(),
            7 => $this->flush(),
            8 => $this->steps()->remember($item, 0),
        };
    }

    /** Two or three at the same time on one item, each of which lets another go on where it pauses. Now and then one is given up. */
    private function fibers(Item $item): void
    {
        $fibers = [];
        for ($i = \mt_rand(2, 3); $i > 0; $i--) {
            $work = match (\mt_rand(0, 4)) {
                0 => fn() => $this->readAndFill($item, false),
                1 => fn() => $this->steps()->remember($item, \mt_rand(0, 3) === 0 ? 1 : 0),
                2 => fn() => self::atOnce(fn() => $this->writeAndDelete($item)),
                3 => fn() => $this->writeAndSetAtOnce($item),
                4 => fn() => self::atOnce(fn() => $this->meanwhile($item)),
            };
            $fibers[] = new \Fiber(function () use ($i, $work): void {
                $this->steps->inFiber($i, function (Steps $steps) use ($work): void {
                    $this->others[\Fiber::getCurrent() ?? $this] = $steps;
                    $work();
                });
            });
        }
        while ($fibers !== [] && \mt_rand(0, 30) > 0) {
            $i = \array_rand($fibers);
            $fibers[$i]->isStarted() ? $fibers[$i]->resume() : $fibers[$i]->start();
            if ($fibers[$i]->isTerminated()) {
                unset($fibers[$i]);
            }
        }
        unset($fibers);
        $this->steps->learn();
    }

    /**
     * For the checker a request has told the cache of all that it wrote before its next write there. So another fiber must not
     * write in between, and a fiber that is given up must not be one that still has to tell.
     *
     * @param \Closure(): void $writes
     */
    private static function atOnce(\Closure $writes): void
    {
        self::$isWriting = true;
        try {
            $writes();
        } finally {
            self::$isWriting = false;
        }
    }

    /** @param bool $changes whether the request may change the item meanwhile */
    private function readAndFill(Item $item, bool $changes = true): void
    {
        if ($this->steps()->get($item) === null) {
            self::pause();
            $versions = $this->steps()->query($item);
            if ($changes && \mt_rand(0, 7) === 0) {
                $this->meanwhile($item);
                $this->isBetween = true;
            } else {
                self::pause();
            }
            $this->steps()->fill($item, $versions);
            $this->isBetween = false;
        }
    }

    private function readAndSet(Item $item): void
    {
        if ($this->steps()->get($item) === null) {
            $versions = $this->steps()->query($item);
            self::pause();
            $this->steps()->set($item, $versions);
        }
    }

    private function writeAndSet(Item $item): void
    {
        $this->steps()->write(self::row($item));
        $versions = $this->steps()->query($item);
        self::pause();
        $this->steps()->set($item, $versions);
    }

    /** Without a pause: see atOnce(). */
    private function writeAndSetAtOnce(Item $item): void
    {
        $this->steps()->write(self::row($item));
        $this->steps()->set($item, $this->steps()->query($item));
    }

    private function readModifyWrite(Item $item): void
    {
        $versions = $this->steps()->get($item) ?? $this->steps()->query($item);
        self::pause();
        $row = self::row($item);
        $versions[$row] = $this->steps()->write($row);
        self::pause();
        $this->steps()->set($item, $versions);
    }

    private function writeAndDelete(Item $item): void
    {
        $this->steps()->write(self::row($item));
        self::pause();
        $this->steps()->delete([$item]);
    }

    private function update(Item $item): void
    {
        $row = self::row($item);
        $version = $this->steps()->write($row);
        self::pause();
        // Where there was nothing to be updated the cache was told nothing.
        $this->steps()->update($item, $row, $version) || $this->steps()->delete([$item]);
    }

    private function intend(Item $item): void
    {
        $versions = \mt_rand(0, 1) === 0 ? $this->steps()->get($item) : null;
        $this->steps()->intend($item);
        self::pause();
        $row = self::row($item);
        if (\mt_rand(0, 9) > 0) {
            $version = $this->steps()->write($row);
            self::pause();
            $versions = $versions === null ? $this->steps()->query($item) : [$row => $version] + $versions;
        }
        match (\mt_rand(0, 4)) {
            0 => null,
            1, 2 => $this->steps()->delete([$item]),
            default => $this->steps()->set($item, $versions ?? $this->steps()->query($item)),
        };
    }

    private function transaction(): void
    {
        $items = [$this->announced()];
        if (\mt_rand(0, 2) === 0) {
            $items[] = $this->announced();
        }
        $rows = \array_map(self::row(...), $items);
        if (\mt_rand(0, 2) === 0) {
            $this->steps()->get($items[0]);
        }
        $this->steps()->begin($rows);
        foreach ($items as $i => $item) {
            $versions = \mt_rand(0, 2) === 0 ? $this->steps()->get($item) : null;
            \mt_rand(0, 3) === 0 && $this->steps()->intend($item);
            $version = $this->steps()->write($rows[$i]);
            self::pause();
            $versions = $versions === null ? $this->steps()->query($item) : [$rows[$i] => $version] + $versions;
            \mt_rand(0, 2) === 0 ? $this->steps()->delete([$item]) : $this->steps()->set($item, $versions);
        }
        if (\mt_rand(0, 11) === 0) {
            \mt_rand(0, 1) === 0 ? $this->steps()->invalidate([], 'green') : $this->steps()->flush(['shop', 'cart']);
        }
        \mt_rand(0, 2) === 0 && $this->readAndFill($this->item(), false);
        self::pause();
        \mt_rand(0, 3) === 0 ? $this->steps()->rollBack() : $this->steps()->commitTransaction();
        \mt_rand(0, 1) === 0 && $this->steps()->get($items[0]);
    }

    /** Nobody changes it, so that it lives until its end. */
    private function expire(Item $item): void
    {
        match (\mt_rand(0, 2)) {
            0 => $this->steps()->get($item),
            1 => $this->readAndFill($item, false),
            2 => $this->steps()->remember($item, 0),
        };
    }

    private function setTwice(Item $item): void
    {
        $this->writeAndSet($item);
        self::pause();
        $this->writeAndSet($item);
        $this->steps()->get($item);
    }

    private function tag(): void
    {
        $tag = ['red', 'blue', 'green'][\mt_rand(0, 2)];
        $groups = $tag === 'red' && \mt_rand(0, 2) === 0 ? ['shop'] : [];
        $covered = $this->catalog->covered($groups, [$tag]);
        $item = $covered[\mt_rand(0, \count($covered) - 1)];
        if (\mt_rand(0, 1) === 0) {
            $this->steps()->get($item);
        }
        $this->steps()->write(self::row($item));
        self::pause();
        $this->steps()->invalidate($groups, $tag);
        \mt_rand(0, 1) === 0 ? $this->readAndFill($item) : null;
    }

    private function flush(): void
    {
        $groups = [['shop'], ['shop', 'cart'], []][\min(2, \intdiv(\mt_rand(0, 8), 4))];
        $covered = $this->catalog->covered($groups, null);
        $item = $covered[\mt_rand(0, \count($covered) - 1)];
        $this->steps()->write(self::row($item));
        self::pause();
        $this->steps()->flush($groups);
        \mt_rand(0, 1) === 0 ? $this->readAndFill($item) : null;
    }

    private function several(): void
    {
        $first = \mt_rand(0, 5);
        $items = \array_slice($this->catalog->items, $first, 3);
        $found = $this->steps()->getMultiple($items);
        self::pause();
        if (\mt_rand(0, 4) === 0) {
            foreach ($items as $item) {
                $this->steps()->write($item->rows[0]);
            }
            $this->steps()->delete($items);

            return;
        }
        $versions = [];
        foreach ($items as $item) {
            if ($found[$item->id] === null || \mt_rand(0, 2) === 0) {
                $versions[$item->id] = [$item->rows[0] => $this->steps()->write($item->rows[0])];
            }
        }
        if ($versions !== []) {
            self::pause();
            $this->steps()->setMultiple($versions);
        }
    }

    private function item(): Item
    {
        // The lower half of the numbers twice as often.
        $count = $this->catalog->busy;
        $id = \mt_rand(0, $count - 1);

        return $this->catalog->items[\mt_rand(0, 1) === 0 ? $id : \intdiv($id * 7, 2) % $count];
    }

    /**
     * Mostly one of a part of the items: an intent whose process was killed stands for a minute, and soon there would be
     * one on each.
     */
    private function announced(): Item
    {
        return \mt_rand(0, 15) === 0 ? $this->item() : $this->catalog->items[3 * \mt_rand(0, \intdiv($this->catalog->busy - 1, 3))];
    }

    private static function row(Item $item): int
    {
        return $item->rows[\mt_rand(0, \count($item->rows) - 1)];
    }

    /** @param non-empty-array<string, int> $weights */
    private static function choose(array $weights): string
    {
        $left = \mt_rand(1, (int) \array_sum($weights));
        foreach ($weights as $name => $weight) {
            $left -= $weight;
            if ($left <= 0) {
                break;
            }
        }

        return $name;
    }
}
