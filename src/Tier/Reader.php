<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\Codec\Envelope;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Tier\Near\Near;

/**
 * How a request reads: the near tiers first, then the truth tier, and whether what is found is still valid.
 *
 * What it reads fills the tiers before it, and is noted in the request history, by which later writes are judged.
 */
final class Reader
{
    /** Keys by which it is judged whether a near tier has the others: one in sixteen, at most so many. */
    private const SAMPLE = 8;

    public int $nearHits = 0;
    public int $nearMisses = 0;

    private readonly RequestHistory $history;

    /** @var list<Near> nearest first */
    private readonly array $nears;

    public function __construct(
        private readonly View $view,
        private readonly Truth $truth,
        public readonly Envelope $envelope,
        private readonly Leases $leases,
    ) {
        $this->history = $view->history;
        $this->nears = $view->nears;
    }

    /** From the truth tier: the entry of a key that is good now. */
    public function fetch(string $key, Space $space): ?Entry
    {
        $snapshot = $this->read([$key], $space);

        return $snapshot === null ? null : $this->judgeRecord($key, $snapshot->records[$key] ?? null, $snapshot, $space);
    }

    /**
     * From the truth tier, at one position.
     *
     * @param non-empty-list<string> $keys
     *
     * @return array<string, Entry>
     */
    public function fetchMany(array $keys, Space $space): array
    {
        $snapshot = $this->read($keys, $space);
        $found = [];
        if ($snapshot === null) {
            return [];
        }
        foreach ($keys as $key) {
            $entry = $this->judgeRecord($key, $snapshot->records[$key] ?? null, $snapshot, $space);
            if ($entry !== null) {
                $found[$key] = $entry;
            }
        }

        return $found;
    }

    /**
     * From the truth tier, at one position, of several spaces: into the request's copies, encoded.
     *
     * @param list<array{Space, list<int|string>}> $lists keys by space
     *
     * @throws InvalidKey
     */
    public function prefetch(array $lists): void
    {
        if ($this->nears !== [] && $this->view->nearReadable && $this->nearHas($lists)) {
            return;
        }
        $wanted = $spaces = [];
        foreach ($lists as [$space, $keys]) {
            $copies = $this->view->copies($space);
            $spaces[] = $space;
            foreach ($keys as $key) {
                if ($copies !== null && !$copies->has((string) $key)) {
                    $wanted[$space->key((string) $key)] = $space;
                }
            }
        }
        $changes = $this->view->changes;
        $snapshot = $wanted === [] ? null : $this->read(\array_keys($wanted), ...$spaces);
        foreach ($snapshot->records ?? [] as $name => $record) {
            $name = (string) $name;
            // What is not there is asked for again when it is wanted: it may be there by then.
            $space = $wanted[$name] ?? null;
            if ($snapshot === null || $space === null) {
                continue;
            }
            $entry = $this->judgeRecord($name, $record, $snapshot, $space);
            if ($entry !== null) {
                $copies = $this->view->copies($space);
                $copies?->keep(\substr($name, \strlen($space->entries)), $entry);
                // Looked at last: a destructor or signal handler may come at any step.
                $changes === $this->view->changes || $copies?->drop(\substr($name, \strlen($space->entries)));
            }
        }
    }

    /**
     * Whether the near tiers seem to have them: to ask for each would cost as much as it spares.
     *
     * @param list<array{Space, list<int|string>}> $lists
     */
    private function nearHas(array $lists): bool
    {
        $sample = \min(self::SAMPLE, 1 + (\array_sum(\array_map(static fn(array $list): int => \count($list[1]), $lists)) >> 4));
        foreach ($lists as [$space, $keys]) {
            foreach ($keys as $key) {
                if (--$sample < 0) {
                    return true;
                }
                if ($this->near($space->key((string) $key), $space) === null) {
                    return false;
                }
            }
        }

        return true;
    }

    /**
     * What the near tiers have, valid now, and not from before $from.
     *
     * @param bool                   $isAsked the nearest one was asked already, in this view
     * @param array{Entry, int}|null $asked   what it answered
     */
    public function near(string $key, Space $space, int $from = 0, bool $isAsked = false, ?array $asked = null): ?Entry
    {
        $from = \max($from, $this->history->ownFloor);
        if ($from === \PHP_INT_MAX || $this->nears === [] || !$this->view->nearReadable) {
            return null;
        }
        foreach ($this->nears as $level => $near) {
            $epoch = $this->history->epoch;
            $hit = $isAsked && $level === 0 ? $asked : $near->get($key);
            if ($hit === null) {
                continue;
            }
            [$entry, $position] = $hit;
            if ($position < $from || !$this->good($entry, $position, $space)) {
                continue;
            }
            if ($epoch !== $this->history->epoch) {
                // Asking for a marker has shown that its positions, or this copy's, are those of an epoch that is over.
                return null;
            }
            $this->nearHits++;
            $this->history->hit($key, $position, $entry->sure !== 0);
            if ($level > 0) {
                $this->view->copyNear($key, $entry, $position, $this->history->seen, $epoch, $level);
            }

            return $entry;
        }
        $this->nearMisses++;

        return null;
    }

    /** Whether what a near tier has is neither over nor flushed nor invalidated. */
    public function good(Entry $entry, int $position, Space $space): bool
    {
        $now = $entry->expiry === 0 && $entry->sure === 0 ? 0 : $this->truth->now();

        return $position > $this->view->floor($space) && !$entry->expired($now) && !$entry->outlived($now) && $this->view->tagsHold($entry, $position);
    }

    /**
     * Records of the truth, together with the flush markers of their spaces that are not known yet.
     *
     * @param non-empty-list<string> $keys
     */
    public function read(array $keys, Space ...$spaces): ?Snapshot
    {
        return $this->readBeside(null, $keys, $spaces);
    }

    /**
     * The record of a key that is to be swapped, together with all flush markers of its space and the markers of these tags:
     * what is known of them may be older than a flush, and what is computed from a value that one covers would bring it back.
     *
     * @param list<string> $tags
     */
    public function readToSwap(string $key, Space $space, array $tags): ?Snapshot
    {
        return $this->readBeside([...$space->flushes, ...$tags], [$key], [$space]);
    }

    /**
     * @param ?list<string>          $markers null: the flush markers of the spaces that are not known yet
     * @param non-empty-list<string> $keys
     * @param array<Space>           $spaces
     */
    private function readBeside(?array $markers, array $keys, array $spaces): ?Snapshot
    {
        $beside = $markers ?? $this->view->unknownFlushes($spaces);
        $ask = $beside === [] ? $keys : [...$keys, ...$beside];
        // What others have appended before this request is in its view.
        $this->view->isBegun || $this->truth->settle();
        $snapshot = $this->truth->read($ask);
        $this->view->isBegun || $this->view->beginAt($snapshot);
        if ($snapshot !== null && $snapshot->epoch !== $this->history->epoch) {
            $this->view->renew();
            $ask = [...$keys, ...$markers ?? $this->view->unknownFlushes($spaces)];
            $snapshot = $this->view->again($ask);
        }
        if ($snapshot === null) {
            return null;
        }
        for ($i = \count($keys), $n = \count($ask); $i < $n; $i++) {
            $this->view->learnMarker($ask[$i], $snapshot);
        }

        return $snapshot;
    }

    /** Whether a record of the truth is a value that is good now; what was read is noted for later writes. */
    public function judgeRecord(string $key, ?Record $record, Snapshot $snapshot, Space $space): ?Entry
    {
        $entry = $record === null ? null : $this->valid($key, $record, $snapshot, $space);
        if ($record === null || $entry === null) {
            $this->truth->misses++;
            $this->history->miss($key, $snapshot->at);

            return null;
        }
        $this->truth->hits++;
        $now = $entry->sure === 0 ? 0 : $this->truth->now();
        if ($entry->outlived($now)) {
            if ($entry->over($now)) {
                $this->history->miss($key, $snapshot->at);

                return null;
            }
            if ($this->leases->renews($key, Entry::BOUNDED_LIFE)) {
                $this->history->anew($key, $snapshot->at);

                return null;
            }
        } else {
            $this->nears === [] || $this->view->copyNear($key, $entry, $record->position, $snapshot->at, $snapshot->epoch);
        }
        $this->history->hit($key, $record->position, $entry->sure !== 0);

        return $entry;
    }

    /** The entry in a view's record: a value, signed where that is asked for, not expired, flushed or invalidated. */
    public function valid(string $key, Record $record, Snapshot $snapshot, Space $space): ?Entry
    {
        if (($record->body[0] ?? '') === Entry::INTENT) {
            $this->view->hold($key);
            $this->view->standing($key, $record, $snapshot);

            return null;
        }
        $entry = $this->envelope->open($key, $record->body);

        // The epoch last: asking for a marker may have shown that the view's is over.
        return $entry === null || ($entry->expiry !== 0 && $entry->expired($this->truth->now())) || $record->position <= $this->view->floor($space)
            || ($entry->tags !== [] && !$this->view->tagsHold($entry, $record->position)) || $snapshot->epoch !== $this->history->epoch ? null : $entry;
    }

    /** Whether a record that valid() refused may be good all the same: nobody could say where one of its markers is. */
    public function isUnsure(string $key, Record $record, Space $space): bool
    {
        if ($this->view->floor($space) === \PHP_INT_MAX) {
            return true;
        }
        foreach ($this->envelope->open($key, $record->body)->tags ?? [] as $tag) {
            if ($this->view->marker($tag) === \PHP_INT_MAX) {
                return true;
            }
        }

        return false;
    }
}
