<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use Larder\Cache;
use Larder\Request\History;
use Larder\Request\Space;

/** The calls that a program is made of, each written into the diary. */
final class Steps
{
    /** Calls of the cache so far. */
    public int $calls = 0;

    /** @var array<string, array{Cache, Space}> by path */
    private array $spaces = [];

    private ?Cache $counters = null;

    public function __construct(
        private readonly Door $door,
        private readonly Settings $settings,
        private readonly Diary $diary,
        private readonly Database $database,
        private readonly Catalog $catalog,
    ) {}

    /**
     * The same steps for the fiber that runs, which is a request of its own.
     *
     * @param int $number of the fiber: those of one number come one after another
     * @param \Closure(self): void $work
     */
    public function inFiber(int $number, \Closure $work): void
    {
        $diary = $this->settings->diary("-fiber$number");
        $diary->note('R ' . \hrtime(true));
        $steps = new self($this->door, $this->settings, $diary, $this->database, $this->catalog);
        $work($steps);
        $diary->note('Z ' . \hrtime(true) . ' ' . $steps->calls);
    }

    /** @return ?array<int, int> version by row; null: a miss */
    public function get(Item $item): ?array
    {
        [$cache, $space] = $this->space($item->groups);
        $copied = $this->door->request()->view->copies($space)?->has($item->name()) === true;
        $hits = $this->door->request()->truth->hits;
        $begin = \hrtime(true);
        $value = $cache->get($item->name());
        $end = \hrtime(true);
        $this->calls++;
        $tier = match (true) {
            $value === null => '-',
            $copied => 'r',
            $this->door->request()->truth->hits > $hits => 't',
            default => 'n',
        };

        return $this->got($item, $value, $tier, $begin, $end);
    }

    /**
     * @param non-empty-list<Item> $items in the same groups
     *
     * @return array<int, ?array<int, int>> versions by item
     */
    public function getMultiple(array $items): array
    {
        [$cache] = $this->space($items[0]->groups);
        $hits = $this->door->request()->truth->hits;
        $begin = \hrtime(true);
        $values = $cache->getMultiple(\array_map(static fn(Item $item): string => $item->name(), $items));
        $end = \hrtime(true);
        $this->calls++;
        $tier = $this->door->request()->truth->hits > $hits ? 't' : 'n';
        $versions = [];
        foreach ($items as $item) {
            $value = $values[$item->name()] ?? null;
            $versions[$item->id] = $this->got($item, $value, $value === null ? '-' : $tier, $begin, $end);
        }

        return $versions;
    }

    /** Drops the request's copies. */
    public function forget(Item $item, bool $all): void
    {
        [$cache] = $this->space($item->groups);
        $all ? $cache->forget() : $cache->forget($item->name());
        $this->calls++;
    }

    /** @param list<Item> $items */
    public function prefetch(array $items): void
    {
        $lists = [];
        foreach ($items as $item) {
            $lists[\implode('/', $item->groups)][] = $item;
        }
        $this->door->cache->prefetch(\array_values(\array_map(
            fn(array $items): array => [$this->space($items[0]->groups)[0], \array_map(static fn(Item $item): string => $item->name(), $items)],
            $lists,
        )));
        $this->calls++;
    }

    /** @return array<int, int> */
    public function query(Item $item): array
    {
        $begin = \hrtime(true);
        $versions = $this->database->read($item->rows);
        $this->diary->note("D $begin " . \hrtime(true) . ' ' . Item::pairs($versions));

        return $versions;
    }

    /** In a transaction what it writes is there for others from its end on: see commitTransaction(). */
    public function write(int $row): int
    {
        if ($this->database->isOpen()) {
            return $this->database->write($row);
        }
        $this->diary->note('B ' . \hrtime(true) . ' write ' . $row);
        $version = $this->database->write($row);
        $this->diary->note('E ' . \hrtime(true) . ' ' . $version);

        return $version;
    }

    /** @param array<int, int> $versions */
    public function set(Item $item, array $versions): bool
    {
        $text = $item->text($versions);

        return $this->change("set $item->id $text", fn(): bool => $this->space($item->groups)[0]->set($item->name(), $item->value($text), $item->ttl, $item->tags));
    }

    /** @param array<int, array<int, int>> $versions by item, all without tags and in the same groups */
    public function setMultiple(array $versions): bool
    {
        $line = 'set';
        $values = $groups = [];
        foreach ($versions as $id => $of) {
            $item = $this->catalog->items[$id];
            $text = $item->text($of);
            $line .= " $id $text";
            $values[$item->name()] = $item->value($text);
            $groups = $item->groups;
        }

        return $this->change($line, fn(): bool => $this->space($groups)[0]->setMultiple($values), \count($values));
    }

    /** @param array<int, int> $versions */
    public function fill(Item $item, array $versions): bool
    {
        $text = $item->text($versions);

        return $this->change("fill $item->id $text", fn(): bool => $this->space($item->groups)[0]->fill($item->name(), $item->value($text), $item->ttl, $item->tags));
    }

    /**
     * Puts a row's version into the value that is there, if there is one and it is the older one.
     *
     * @param int $row of the item
     */
    public function update(Item $item, int $row, int $version): bool
    {
        $this->diary->note('B ' . \hrtime(true) . " update $item->id");
        $value = $this->space($item->groups)[0]->update($item->name(), function (mixed $there) use ($item, $row, $version): mixed {
            $versions = Item::versions($item->textOf($there));
            $versions[$row] = \max($version, $versions[$row] ?? 0);
            $text = $item->text($versions);
            $this->diary->note('T ' . \hrtime(true) . ' ' . $text);

            return $item->value($text);
        });
        $this->diary->note('E ' . \hrtime(true) . ' ' . ($value === null ? '0' : '1'));
        $this->calls++;

        return $value !== null;
    }

    /** @param ?\Closure(): void $meanwhile what this request does while it computes */
    public function remember(Item $item, int $soft, ?\Closure $meanwhile = null): void
    {
        [$cache] = $this->space($item->groups);
        $computed = null;
        $begin = \hrtime(true);
        $value = $cache->remember($item->name(), function () use ($item, $meanwhile, &$computed): mixed {
            $versions = $this->query($item);
            Program::pause();
            $meanwhile === null || $meanwhile();
            $computed = $item->text($versions);
            $this->diary->note('B ' . \hrtime(true) . " fill $item->id $computed");

            return $item->value($computed);
        }, $item->ttl, $item->tags, $soft);
        $end = \hrtime(true);
        $this->calls++;
        if ($computed === null) {
            $this->got($item, $value, 'm', $begin, $end);
        } else {
            $this->diary->note("E $end 1 remember");
        }
    }

    /** @param non-empty-list<Item> $items in the same groups */
    public function delete(array $items): bool
    {
        $ids = \array_map(static fn(Item $item): int => $item->id, $items);
        $names = \array_map(static fn(Item $item): string => $item->name(), $items);
        $cache = $this->space($items[0]->groups)[0];

        return $this->change('delete ' . \implode(' ', $ids), static fn(): bool => \count($names) === 1 ? $cache->delete($names[0]) : $cache->deleteMultiple($names));
    }

    /** @param list<string> $groups */
    public function flush(array $groups): bool
    {
        return $this->change('flush ' . \implode('/', $groups), fn(): bool => $this->space($groups)[0]->flush());
    }

    /** @param list<string> $groups */
    public function invalidate(array $groups, string $tag): bool
    {
        return $this->change('tag ' . \implode('/', $groups) . ' ' . $tag, fn(): bool => $this->space($groups)[0]->invalidateTags($tag));
    }

    public function intend(Item $item): void
    {
        [$cache, $space] = $this->space($item->groups);
        $this->change("intend $item->id", function () use ($cache, $space, $item): bool {
            $cache->intend($item->name());

            return Door::hasIntent($this->door->request(), $space->key($item->name()));
        });
    }

    /** Writes the fills that wait for the request's end. */
    public function writeFills(): void
    {
        $this->door->cache->writeFills();
        $this->calls++;
    }

    /** For the checker what fibers change is of this request; for the cache each of them is another request. */
    public function learn(): void
    {
        $this->door->cache->learn();
        $this->calls++;
    }

    /** @param list<int> $rows that the transaction will write */
    public function begin(array $rows): void
    {
        $this->diary->note('B ' . \hrtime(true) . ' begin');
        $this->door->cache->begin();
        $this->calls++;
        $this->database->begin($rows);
        $this->diary->note('E ' . \hrtime(true) . ' 1');
    }

    public function commitTransaction(): bool
    {
        $written = $this->database->written();
        foreach ($written as $row => $_) {
            $this->diary->note('B ' . \hrtime(true) . ' write ' . $row);
        }
        $this->database->commit();
        // The last that was begun is the first that ends.
        foreach (\array_reverse($written) as $version) {
            $this->diary->note('E ' . \hrtime(true) . ' ' . $version);
        }

        return $this->change('end commit', fn(): bool => $this->door->cache->commitTransaction());
    }

    public function rollBack(): bool
    {
        $this->database->rollBack();

        return $this->change('end rollback', fn(): bool => $this->door->cache->rollBack());
    }

    public function increment(int $counter): void
    {
        $this->diary->note('B ' . \hrtime(true) . ' count ' . $counter);
        $count = $this->counters()->increment('counter-' . $counter);
        $this->calls++;
        $this->diary->note('E ' . \hrtime(true) . ' ' . (int) $count);
    }

    public function count(int $counter): void
    {
        $cache = $this->counters();
        $begin = \hrtime(true);
        $count = $cache->get('counter-' . $counter);
        $this->calls++;
        $this->diary->note("N $begin " . \hrtime(true) . " $counter " . (\is_int($count) || $count === null ? (int) $count : -1));
    }

    /** Tries to get a lock that nobody gives back. */
    public function lock(int $number): void
    {
        $this->diary->note('B ' . \hrtime(true) . ' lock ' . $number);
        $got = $this->counters()->add('lock-' . $number, \getmypid(), 60);
        $this->calls++;
        $this->diary->note('E ' . \hrtime(true) . ' ' . (int) $got);
    }

    /** A cache of its own, which no flush of the other empties. */
    private function counters(): Cache
    {
        return $this->counters ??= Door::open($this->settings, Door::COUNTERS)->cache;
    }

    private function got(Item $item, mixed $value, string $tier, int $begin, int $end): ?array
    {
        if ($value === null) {
            $this->diary->note("G $begin $end $item->id -");

            return null;
        }
        $text = $item->textOf($value);
        // Whether the request knows that the value has a bounded life: nothing computed from it is stored. Nor is it where a call
        // in the middle of the get has learned of a new epoch, which counts as a change of everything.
        $history = $this->door->request()->view->history;
        $key = $this->space($item->groups)[1]->key($item->name());
        [$how, $position] = $history->reference($key);
        $isBounded = $how === History::UNSURE || $history->limit($key, $position) === -1;
        $this->diary->note("G $begin $end $item->id $tier $text" . ($isBounded ? ' bounded' : ''));

        return Item::versions($text);
    }

    /** @param \Closure(): bool $call */
    /** @param int $values how many are set */
    private function change(string $what, \Closure $call, int $values = 1): bool
    {
        $before = $this->door->request()->conflicts();
        $this->diary->note('B ' . \hrtime(true) . ' ' . $what);
        $done = $call();
        $after = $this->door->request()->conflicts();
        $bounded = $after['bounded'] - $before['bounded'];
        $remarks = match (true) {
            $bounded >= $values => ' bounded',
            // Nobody says which.
            $bounded > 0 => ' partly-bounded',
            default => '',
        } . ($after['dropped'] > $before['dropped'] ? ' dropped' : '');
        $this->diary->note('E ' . \hrtime(true) . ' ' . (int) $done . $remarks);
        $this->calls++;

        return $done;
    }

    /**
     * @param list<string> $groups
     *
     * @return array{Cache, Space}
     */
    private function space(array $groups): array
    {
        $path = \implode('/', $groups);
        if (!isset($this->spaces[$path])) {
            $cache = $this->door->cache;
            $space = new Space();
            foreach ($groups as $group) {
                $cache = $cache->group($group);
                $space = $space->group($group, false);
            }
            $this->spaces[$path] = [$cache, $space];
        }

        return $this->spaces[$path];
    }
}
