<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;

/**
 * Stores values: tries each set once as if nothing were in its way, and carries out the verdict of the table of conflicts where
 * something is.
 */
final class Sets
{
    /** Sets in one transaction or round trip. */
    private const AT_ONCE = 1_000;

    public function __construct(
        private readonly Writes $writes,
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
    ) {}

    public function set(string $key, Space $space, Entry $entry): Verdict
    {
        $this->view->history->isWatched && $this->view->history->change($key);
        unset($this->writes->pending[$key]);
        $change = $this->first($key, $space, $entry);
        $outcome = null;
        if ($change !== null) {
            $outcome = $this->truth->write([$change], [$key])[0] ?? null;
            if ($outcome !== null && $outcome->done) {
                $this->writes->stored($key, $space, $entry, $outcome, $change->epoch);
                $this->view->observer?->wrote($key, $space, Verdict::Store);

                return Verdict::Store;
            }
        }

        return $this->setAll([$key => $entry], $space, $change, $outcome)[$key];
    }

    /**
     * Makes several sets in few transactions or round trips, even if some of them conflict.
     *
     * @param non-empty-array<string, Entry> $entries by key
     *
     * @return array<string, Verdict>
     */
    public function setMany(array $entries, Space $space): array
    {
        $verdicts = [];
        foreach (\array_chunk($entries, self::AT_ONCE, true) as $part) {
            foreach ($part as $key => $_) {
                $this->view->history->change($key);
                unset($this->writes->pending[$key]);
            }
            $verdicts += $this->setAll($part, $space);
        }

        return $verdicts;
    }

    /**
     * Writes values, and those that conflict again, until each has its verdict.
     *
     * @param non-empty-array<string, Entry> $entries by key
     * @param ?Change                        $made    of one value: first(), which the store has been asked to make already
     * @param ?ChangeResult                       $outcome what the store answered; null: unknown
     *
     * @return non-empty-array<string, Verdict>
     */
    private function setAll(array $entries, Space $space, ?Change $made = null, ?ChangeResult $outcome = null): array
    {
        $verdicts = $open = [];
        $making = \count($entries) > 1 ? $this->view->missingMarkers($entries) : [];
        foreach ($entries as $key => $entry) {
            $open[$key] = $this->steps((string) $key, $space, $entry, $made ?? $this->first((string) $key, $space, $entry), $made !== null, $outcome);
        }
        do {
            $changes = [];
            foreach ($open as $key => $steps) {
                if ($steps->valid()) {
                    $changes[$key] = $steps->current();
                } else {
                    $verdicts[$key] = $steps->getReturn();
                    unset($open[$key]);
                }
            }
            $outcomes = $changes === [] ? null : $this->truth->write([...\array_values($making), ...\array_values($changes)], \array_keys($changes));
            if ($making !== []) {
                $this->view->settle($making, $outcomes ?? []);
                $outcomes = $outcomes === null ? null : \array_slice($outcomes, \count($making));
                $making = [];
            }
            foreach (\array_values($open) as $i => $steps) {
                $steps->send($outcomes[$i] ?? null);
            }
        } while ($open !== []);
        foreach ($verdicts as $key => $verdict) {
            $this->view->observer?->wrote((string) $key, $space, $verdict);
            if ($verdict === Verdict::Drop) {
                $this->writes->dropped++;
            } elseif ($verdict === Verdict::Bounded) {
                $this->writes->bounded++;
            }
        }

        /** @var non-empty-array<string, Verdict> */
        return $verdicts;
    }

    /**
     * The change by which a set is tried first: most sets have nothing in their way.
     *
     * @return ?Change null: another writer has changed the key or a marker that covers it, or may have
     */
    private function first(string $key, Space $space, Entry $entry): ?Change
    {
        $view = $this->view;
        $history = $view->history;
        // Note the epoch before the positions: a destructor that uses the cache may learn of another one.
        $epoch = $history->epoch;
        // A space whose floor is known has its markers.
        if ($entry->tags !== [] || !isset($view->floors[$space->path])) {
            $view->precede($space, $entry);
        }
        [$how, $reference] = $this->reference($key, $space);
        if ($how === History::UNSURE) {
            return null;
        }
        $change = clone $this->writes->blank;
        if ($how !== History::SEEN || !$space->cacheOnly) {
            $markers = $entry->tags === [] ? $space->flushes : [...$space->flushes, ...$entry->tags];
            $limit = $history->limitOfAll($key, $markers, $reference);
            if ($limit === null) {
                return null;
            }
            $change->limit = $limit;
            $change->guards = \array_fill_keys($markers, $limit);
        }
        // In a cache-only space the last set wins. Only an intent stops it, and the store checks for one by itself.
        $change->key = $key;
        $change->body = $this->reader->signer->seal($key, $entry);
        $change->writer = $view->writer;
        $change->expiry = $entry->expiry;
        $change->epoch = $epoch;

        return $change;
    }

    /**
     * As History::reference(). In a cache-only space the last set after a hit wins, also where a miss came before the hit; and
     * after History::readAnew() it is the next miss that counts, not the first.
     *
     * @return array{int, int}
     */
    private function reference(string $key, Space $space): array
    {
        $history = $this->view->history;
        $reference = $history->reference($key);
        if ($reference[0] === History::MISSED && $space->cacheOnly) {
            if ($history->wasFound($key) || ($this->view->copies($space)?->shows(\substr($key, \strlen($space->entries))) ?? false)) {
                $reference[0] = History::SEEN;
            } else {
                $reference[1] = $history->missedAgain($key) ?? $reference[1];
            }
        }

        return $reference;
    }

    /**
     * @param ?Change  $first   see first()
     * @param bool     $isMade  the store has been asked to make it
     * @param ?ChangeResult $outcome what the store answered; null: unknown
     *
     * @return \Generator<int, Change, ?ChangeResult, Verdict> yields a change to write, and is sent its outcome; null: unknown
     */
    private function steps(string $key, Space $space, Entry $entry, ?Change $first, bool $isMade, ?ChangeResult $outcome): \Generator
    {
        $history = $this->view->history;
        $epoch = $first->epoch ?? $history->epoch;
        [$how, $reference] = $this->reference($key, $space);
        $verdict = ConflictTable::set($how, $space->cacheOnly, null, false, false);
        $stored = $entry;
        $strict = false;
        $limit = $first->limit ?? Change::ALWAYS;
        $guards = $first->guards ?? [];
        if ($first === null && $verdict !== Verdict::Drop) {
            $limit = $history->limit($key, $reference);
            $guards = $this->view->guards($space, $entry, $reference);
            // Another request's change may lie under a later one of this request's own. A strict write reports both.
            $strict = $history->changed($key, $reference);
            if ($limit < 0 || \in_array(-1, $guards, true)) {
                // The changes since then are unknown, which counts as a conflict.
                $verdict = ConflictTable::set($how, $space->cacheOnly, '', false, false);
                $limit = Change::ALWAYS;
                $strict = false;
                $guards = [];
                $epoch = '';
            }
        }
        for ($try = 0; $try < Writes::TRIES; $try++) {
            if ($verdict === Verdict::Drop) {
                return (yield from $this->dropping($key, $space)) ? Verdict::Drop : Verdict::Failed;
            }
            if ($verdict === Verdict::Same) {
                $this->view->near?->drop($key);

                return $verdict;
            }
            if ($verdict === Verdict::Bounded) {
                $stored = $entry->bounded($this->truth->now());
            }
            if ($try === 0 && $first !== null) {
                $current = $isMade ? $outcome : yield $first;
            } else {
                $current = yield new Change(
                    $key,
                    $this->reader->signer->seal($key, $stored),
                    $this->view->writer,
                    $limit,
                    $stored->expiry,
                    $guards,
                    strict: $strict,
                    epoch: $epoch,
                );
            }
            if ($current === null) {
                break;
            }
            if ($current->done) {
                $this->writes->stored($key, $space, $stored, $current, $epoch);

                return $verdict;
            }
            if ($current->kind === ChangeResult::REFUSED) {
                // The store refuses the value, for example as too large. The set returns false, and the old value is dropped.
                yield from $this->dropping($key, $space);
                $this->writes->gone($key, $space);

                return Verdict::Refused;
            }
            if ($current->position < 0 && $epoch !== '' && $epoch === $history->epoch) {
                // The store may have begun a new epoch, in which older near copies cannot be compared with the new record.
                $this->view->renew();
                if ($limit === Change::ALWAYS) {
                    $epoch = '';
                    $this->view->precede($space, $entry);
                    continue;
                }
            }
            $verdict = $this->judge($key, $space, $entry, $how, $current, $verdict);
            if ($current->guard !== null) {
                $guards[$current->guard] = $current->position < 0 ? Change::ALWAYS : $current->position;
            } else {
                $strict = $current->record !== null;
                $limit = $current->record->position ?? ($current->position < 0 ? Change::ALWAYS : $current->position);
            }
            // The position of the conflicting change belongs to the epoch that the write named, whatever was learned since.
            $epoch = $limit === Change::ALWAYS ? '' : ($epoch === '' ? $history->epoch : $epoch);
        }
        $this->writes->gone($key, $space);

        return Verdict::Failed;
    }

    /** @return \Generator<int, Change, ?ChangeResult, bool> as steps(); returns whether the key was dropped */
    private function dropping(string $key, Space $space): \Generator
    {
        $this->writes->gone($key, $space);
        $outcome = yield new Change($key, null, $this->view->writer, kind: Entry::DROPPED);

        return $outcome !== null && ($outcome->done || $this->writes->takeAway($key, $outcome, Entry::DROPPED) !== null);
    }

    /** @param Verdict $before the verdict before this conflict */
    private function judge(string $key, Space $space, Entry $entry, int $how, ChangeResult $conflict, Verdict $before): Verdict
    {
        if ($conflict->guard !== null) {
            if ($conflict->kind === Entry::MADE) {
                $this->view->renew();
                $history = $this->view->history;
                $reference = $history->reference($key)[1];
                if ($history->seen >= $conflict->position && $history->knows($reference) && !$history->changed($conflict->guard, $reference)) {
                    // A marker that was only made anew changes nothing.
                    return $before;
                }
            }

            return ConflictTable::set($how, $space->cacheOnly, Entry::DELETED, false, false);
        }
        if ($conflict->writer === $this->view->writer) {
            // The record is this request's own change or intent: only others' changes before it count.
            $history = $this->view->history;
            $change = $history->changed($key, $history->reference($key)[1]) ? $history->kind($key) : null;
        } else {
            $change = $conflict->kind;
            $this->view->history->foreign($key, \max(0, $conflict->position), $conflict->kind);
        }
        $there = $conflict->record === null ? null : $this->reader->signer->open($key, $conflict->record->body);
        $same = $there !== null && $there->payload === $entry->payload && $there->tags === $entry->tags;
        $standing = $this->writes->hasOthersIntent($conflict->record);

        $verdict = ConflictTable::set($how, $space->cacheOnly, $change, $same, $standing);

        // Where this request put an intent, its value may not be the older of two even for two seconds: drop it, and the
        // next reader asks the database.
        return $verdict === Verdict::Bounded && isset($this->writes->intended[$key]) ? Verdict::Drop : $verdict;
    }
}
