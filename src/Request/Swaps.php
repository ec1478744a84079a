<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Intent;
use Larder\System\Clock;

/** Reads a value, decides, and compares-and-swaps: atomic across processes and servers. */
final class Swaps
{
    public function __construct(
        private readonly Writes $writes,
        private readonly View $view,
        private readonly Reader $reader,
        private readonly Truth $truth,
        private readonly Fills $fills,
        private readonly Deletes $deletes,
    ) {}

    /**
     * Reads, decides and compares-and-swaps, until no other process changes the key in between.
     *
     * @param \Closure(?Entry): (Entry|Verdict) $decide takes the present entry and returns the new one, or why it stays as it is
     * @param bool                              $shows  whether the caller learns the value: what it writes next was computed from it
     *
     * @return Entry|Verdict the new entry, once it is stored; or why nothing was stored
     */
    public function atomic(string $key, Space $space, \Closure $decide, bool $shows = true): Entry|Verdict
    {
        if (isset($this->writes->pending[$key])) {
            // This request's waiting fill must be stored first: it is the present value.
            $this->fills->commit(key: $key);
        }
        // What another process could not write is applied first: applied later, it would take away what is swapped now.
        $this->truth->catchUp();
        $tags = [];
        for ($try = 0; $try < Writes::TRIES; $try++) {
            $snapshot = $this->reader->readToSwap($key, $space, $tags);
            if ($snapshot === null) {
                return Verdict::Failed;
            }
            $record = $snapshot->records[$key] ?? null;
            $entry = $record === null ? null : $this->reader->valid($key, $record, $snapshot, $space, true);
            if ($entry !== null && \array_diff($entry->tags, $tags) !== []) {
                $tags = $entry->tags;
                continue;
            }
            if ($record !== null && $entry === null && (Intent::alive(Intent::parse($record->body), $this->truth->now()) !== []
                || $this->reader->isUnsure($key, $record, $space, true))) {
                return Verdict::Held;
            }
            $moment = $this->view->history->watch();
            $next = $decide($entry);
            if ($next instanceof Verdict) {
                return $next;
            }
            if (!$this->view->precede($space, $next)) {
                return Verdict::Failed;
            }
            $now = $this->view->history->moment;
            if ($this->view->history->hasChanged($key, $space, $next, $moment)) {
                // By a call within $decide, or by another fiber meanwhile: the store compares with others' flushes only.
                continue;
            }
            $guards = \array_fill_keys([...$space->flushes, ...$next->tags], $snapshot->at);
            $this->view->history->change($key);
            $outcomes = $this->truth->write([new Change(
                $key,
                $this->reader->signer->seal($key, $next),
                $this->view->writer,
                $record->position ?? $snapshot->at,
                $next->expiry,
                $guards,
                strict: true,
                epoch: $snapshot->epoch,
                atomic: true,
            )]);
            if ($outcomes === null) {
                return Verdict::Failed;
            }
            if ($outcomes[0]->done) {
                $this->writes->stored($key, $space, $next, $outcomes[0], $snapshot->epoch);
                $this->view->observer?->wrote($key, $space, Verdict::Store);
                if ($this->view->history->moment !== $now + 1 && $this->view->history->hasChanged('', $space, $next, $now)) {
                    // A destructor has moved a marker of the value's since then, which the store does not compare with.
                    $this->deletes->one($key, $space);
                }
                // Once more, as a delete does.
                $this->view->history->change($key);
                if ($shows) {
                    $this->view->history->swapped($key, $outcomes[0]->position, $next->sure !== 0);
                } elseif ($outcomes[0]->writer !== $this->view->writer) {
                    // It lies under this request's own change now, where no write finds it any more.
                    $this->view->history->foreign($key, $record->position ?? 0, $outcomes[0]->kind);
                }

                return $next;
            }
            if ($outcomes[0]->kind === ChangeResult::REFUSED) {
                return Verdict::Refused;
            }
            if ($try > 2) {
                Clock::pause(\random_int(10, 100 * \min($try, 20)));
            }
        }

        return Verdict::Failed;
    }
}
