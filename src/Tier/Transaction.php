<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;

/**
 * What one request changes in the cache while its database transaction is open.
 *
 * Until COMMIT the database shows everybody else the old rows, so a changed key gets an intent that lasts: nobody stores
 * anything under it, and nothing is stored here either. At COMMIT what was set is judged as if it had been set when the
 * transaction began, and everything else is done once more: whoever read in between had read old rows. At ROLLBACK each
 * key is changed and nothing is kept. A flush or tag invalidation is done at once, since only this request knows of it,
 * and leaves an intent on its marker, which moves once more at the end; if this process dies before, nothing that the
 * marker covers is valid until somebody has moved it.
 *
 * Transactions inside others join the outermost one; a roll-back inside drops what was changed inside.
 */
final class Transaction
{
    /** Nanoseconds after which intents are put anew: another server cannot see that this process lives. */
    private const RENEWAL = 20_000_000_000;

    private int $depth = 0;

    /** @var array<string, array{Space, ?Entry, int}> to what a key was changed last (null: removed), and how deep */
    private array $changes = [];

    /** @var array<string, array{Space, int}> what was computed inside, by key, and how deep */
    private array $fills = [];

    /** @var array<string, Space> keys and markers with an intent */
    private array $intents = [];

    /** hrtime() at which the intents are put anew. */
    private int $due;

    public function __construct(
        private readonly View $view,
        private readonly Writer $writer,
        private readonly Intents $standing,
    ) {
        $this->due = \hrtime(true) + self::RENEWAL;
    }

    public function begin(): void
    {
        if ($this->depth++ === 0) {
            // What is read from now on was read at this position: the database may show the rows of now until the end.
            $this->view->history->freeze();
        }
    }

    /** @param ?Entry $entry null: it is removed */
    public function change(string $key, Space $space, ?Entry $entry): bool
    {
        $this->writer->discard($key);
        $told = $this->intend($key, $space);
        $this->changes[$key] = [$space, $entry, $this->depth];

        return $told;
    }

    /** @param non-empty-list<string> $markers of one space */
    public function mark(array $markers, Space $space): bool
    {
        $done = true;
        foreach ($markers as $marker) {
            $done = $this->intend($marker, $space, true) && $done;
            foreach ($this->changes as $key => [$of, $entry, $depth]) {
                if ($entry !== null && Space::marks($marker, $key, $entry)) {
                    $this->changes[$key] = [$of, null, $depth];
                }
            }
        }
        $this->writer->discardMarked($markers);

        return $done;
    }

    /** Something was computed, maybe from rows that nobody else will ever see: it stays in this request. */
    public function fill(string $key, Space $space): void
    {
        $this->writer->discard($key);
        $this->fills[$key] = [$space, $this->depth];
    }

    /** @param bool $again also if it has one: a marker moves each time */
    public function intend(string $key, Space $space, bool $again = false): bool
    {
        if (\hrtime(true) >= $this->due) {
            $this->due = \hrtime(true) + self::RENEWAL;
            foreach ($this->intents as $name => $of) {
                $this->standing->put((string) $name, $of, true);
            }
        }
        if (isset($this->intents[$key]) && !$again) {
            return true;
        }
        $this->intents[$key] = $space;

        return $this->standing->put($key, $space, true);
    }

    /** @return ?bool null: it is inside another one, and goes on; else whether all of it was recorded */
    public function commit(): ?bool
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
        $done = true;
        foreach ($this->changes as $key => [$space, $entry]) {
            $key = (string) $key;
            if ($entry === null) {
                $done = $this->writer->delete([$key], $space) && $done;
            } else {
                $verdict = $this->writer->set($key, $space, $entry);
                $done = $verdict !== Verdict::Failed && $done;
                if ($verdict !== Verdict::Store && $verdict !== Verdict::Same) {
                    $this->drop($key, $space);
                }
            }
            $this->standing->ended($key);
        }
        // Those of changed keys have ended by now.
        foreach (\array_diff_key($this->intents, $this->changes) as $key => $_) {
            $done = $this->standing->endOne((string) $key) && $done;
        }

        return $done;
    }

    /** @return ?bool see commit() */
    public function rollBack(): ?bool
    {
        $this->rollBackTo($this->depth);

        return $this->commit();
    }

    /**
     * What was changed or computed inside counts as never read, and what it was set to is gone; the transaction goes on.
     *
     * @param int $depth only what lies so deep; 1: all of it
     */
    public function rollBackTo(int $depth = 1): void
    {
        foreach ($this->changes as $key => [$space, , $deep]) {
            if ($deep >= $depth) {
                $this->changes[$key] = [$space, null, $deep];
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

    private function drop(string $key, Space $space): void
    {
        $this->view->copies($space)?->drop(\substr($key, \strlen($space->entries)));
    }
}
