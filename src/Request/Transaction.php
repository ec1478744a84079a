<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;

/**
 * Holds what one request changes in the cache while its database transaction is open.
 *
 * Until COMMIT the database shows all other requests the old rows. So a changed key gets an intent that lasts until the
 * end: no request, not even this one, stores anything under it. At COMMIT each set is judged as if it had been made when
 * the transaction began. Every other change is made once more, because a request that read in between has read old rows.
 * At ROLLBACK each key is changed and no value is kept.
 *
 * A flush or tag invalidation takes effect at once and leaves an intent on its marker, and the marker moves once more at
 * the end. If this process dies before that, nothing that the marker covers is valid until another process has moved it.
 *
 * A transaction inside another joins the outermost one; a roll-back inside drops what was changed inside.
 */
final class Transaction
{
    /** Nanoseconds after which this process renews its intents: other servers cannot see that it is alive. */
    private const RENEWAL = 20_000_000_000;

    private int $depth = 0;

    /** @var array<string, array{Space, ?Entry, int}> by key: the last value set (null: removed), and at which depth */
    private array $changes = [];

    /** @var array<string, array{Space, int}> by key: values computed inside, and at which depth */
    private array $fills = [];

    /** @var array<string, Space> keys and markers with an intent */
    private array $intents = [];

    /** hrtime() at which this process renews its intents. */
    private int $due;

    public function __construct(
        private readonly View $view,
        private readonly Writes $writes,
        private readonly Sets $sets,
        private readonly Deletes $deletes,
        private readonly Intents $standing,
    ) {
        $this->due = \hrtime(true) + self::RENEWAL;
    }

    /** Whether a value that was set inside waits for the end, or one that was computed inside is this request's alone. */
    public function holds(string $key): bool
    {
        return isset($this->changes[$key][1]) || isset($this->fills[$key]);
    }

    public function begin(): void
    {
        if ($this->depth++ === 0) {
            // Every later read counts as made now: until its end the transaction may show the rows of now.
            $this->view->history->freeze();
            $this->view->transactions->count++;
            $this->view->schedule();
        }
    }

    /** @param ?Entry $entry null: the key is removed */
    public function change(string $key, Space $space, ?Entry $entry): bool
    {
        unset($this->fills[$key]);
        $this->view->history->change($key);
        $version = $this->view->version;
        $told = $this->intend($key, $space);
        // Once more, as a delete does.
        $this->view->history->change($key);
        $this->changes[$key] = [$space, $entry, $this->depth];
        // The intent may have taken a renewal of the view, which drops the copies of spaces whose flushes or tags others have moved.
        $version === $this->view->version || $this->show();

        return $told;
    }

    /** @param non-empty-list<string> $markers of one space */
    public function mark(array $markers, Space $space): bool
    {
        $done = true;
        foreach ($markers as $marker) {
            $this->view->history->change($marker);
            $done = $this->intend($marker, $space, true) && $done;
            foreach ($this->changes as $key => [$of, $entry, $depth]) {
                if ($entry !== null && Space::marks($marker, $key, $entry)) {
                    $this->changes[$key] = [$of, null, $depth];
                }
            }
        }
        $this->writes->discardMarked($markers);
        $this->show();

        return $done;
    }

    /** Keeps what was set inside as copies again, where all of a space's copies were dropped: no tier below has it yet. */
    public function show(): void
    {
        foreach ($this->changes as $key => [$space, $entry]) {
            $key = (string) $key;
            $copies = $this->view->copies($space);
            $name = \substr($key, \strlen($space->entries));
            if ($entry !== null && !isset($this->fills[$key]) && $copies !== null && !$copies->has($name)) {
                $copies->keep($name, $entry);
            }
        }
    }

    /**
     * Refuses what acts at once where a flush or an invalidation inside covers it: at the end it would be gone.
     *
     * @param \Closure(?Entry): (Entry|Verdict) $decide
     *
     * @return \Closure(?Entry): (Entry|Verdict)
     */
    public function guard(\Closure $decide, Space $space): \Closure
    {
        return function (?Entry $there) use ($decide, $space): Entry|Verdict {
            $entry = $decide($there);
            foreach ($entry instanceof Entry ? [...$space->flushes, ...$entry->tags] : [] as $marker) {
                if (isset($this->intents[$marker])) {
                    return Verdict::Held;
                }
            }

            return $entry;
        };
    }

    /**
     * Notes a value computed inside. Only this request may see it: it may come from rows that are never committed.
     *
     * @param int $moment see History::beginning()
     *
     * @return bool false: this request has changed the key meanwhile
     */
    public function fill(string $key, Space $space, Entry $entry, int $moment): bool
    {
        if ($this->view->history->hasChanged($key, $space, $entry, $moment)) {
            return false;
        }
        $this->writes->discard($key);
        $this->fills[$key] = [$space, $this->depth];

        return true;
    }

    /** @param bool $again put it even if the key has one: a marker moves each time */
    public function intend(string $key, Space $space, bool $again = false): bool
    {
        if (\hrtime(true) >= $this->due) {
            $this->due = \hrtime(true) + self::RENEWAL;
            foreach ($this->intents as $name => $of) {
                $this->standing->put((string) $name, $of, true);
            }
        }
        if (isset($this->intents[$key]) && !$again && $this->standing->isTold($key)) {
            return true;
        }
        $this->intents[$key] = $space;

        return $this->standing->put($key, $space, true);
    }

    /** Whether it is inside an outer one, which goes on after it. */
    public function isInner(): bool
    {
        return $this->depth > 1;
    }

    /**
     * @param int $calls of the view, when the caller began to end it
     *
     * @return ?Verdict null: an outer transaction goes on; else Store: the store recorded everything, or the worst of Refused and Failed
     */
    public function commit(int $calls): ?Verdict
    {
        if (--$this->depth > 0) {
            foreach ($this->changes as $key => [$space, $entry, $depth]) {
                $this->changes[$key] = [$space, $entry, \min($depth, $this->depth)];
            }
            foreach ($this->fills as $key => [$space, $depth]) {
                $this->fills[$key] = [$space, \min($depth, $this->depth)];
            }

            return null;
        }
        $this->view->history->thaw();
        $this->view->transactions->count--;
        $this->view->schedule();
        $verdict = Verdict::Store;
        // If a destructor uses the cache in the middle of this, what it changes is newer than what was set in the transaction, and what
        // it announces still stands. So from there on no value is stored, and each key has an intent until the request ends.
        // First the flushes and tags: what was set after them stays.
        foreach (\array_diff_key($this->intents, $this->changes) as $key => $space) {
            $this->standing->endOne((string) $key) || $verdict = Verdict::Failed;
            $calls === $this->view->calls || $this->standing->put((string) $key, $space) || $verdict = Verdict::Failed;
        }
        foreach ($this->changes as $key => [$space, $entry]) {
            $key = (string) $key;
            if ($entry === null || $calls !== $this->view->calls) {
                $this->deletes->one($key, $space) || $verdict = Verdict::Failed;
            } else {
                $set = $this->sets->set($key, $space, $entry);
                if ($set === Verdict::Failed || $set === Verdict::Refused) {
                    $verdict = Verdict::worst($verdict, $set);
                }
                if (($set !== Verdict::Store && $set !== Verdict::Same) || isset($this->fills[$key])) {
                    // It is not what this request has: that was refused, or was computed inside after the set.
                    $this->drop($key, $space);
                }
            }
            $this->standing->ended($key);
            $calls === $this->view->calls || $this->standing->put($key, $space) || $verdict = Verdict::Failed;
        }

        return $verdict;
    }

    /** @return ?Verdict see commit() */
    public function rollBack(int $calls): ?Verdict
    {
        $this->rollBackTo($this->depth);

        return $this->commit($calls);
    }

    /**
     * Drops the values that were set or computed inside; a key that was set counts as removed. The transaction goes on.
     *
     * @param int $depth drops only what was changed at this depth or deeper; 1: everything
     */
    public function rollBackTo(int $depth = 1): void
    {
        foreach ($this->changes as $key => [$space, , $deep]) {
            if ($deep >= $depth) {
                $this->changes[$key] = [$space, null, $deep];
                $this->view->history->change((string) $key);
                $this->drop((string) $key, $space);
            }
        }
        foreach ($this->fills as $key => [$space, $deep]) {
            if ($deep >= $depth) {
                unset($this->fills[$key]);
                $this->drop((string) $key, $space);
            }
        }
    }

    /** In a forked child: the transaction is its parent's, and so is what was set or computed inside. */
    public function leaveParent(): void
    {
        $this->rollBackTo();
        $this->view->history->thaw();
        $this->view->transactions->count--;
        $this->view->schedule();
    }

    private function drop(string $key, Space $space): void
    {
        $this->view->copies($space)?->drop(\substr($key, \strlen($space->entries)));
    }
}
