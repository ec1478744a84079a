<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Entry;
use Larder\Codec\EntrySigner;
use Larder\Near\Near;
use Larder\Store\Record;
use Larder\Store\Snapshot;

/**
 * Reads for a request: from the near tier first, then from the truth tier. Judges whether an entry is still valid.
 *
 * It copies what it reads into the tiers before, and notes each first read in the request history, by which later writes
 * are judged.
 */
final class Reader
{
    /** A prefetch asks the near tier for one key in sixteen, at most this many, to guess whether it has the rest. */
    private const SAMPLE = 8;

    public int $nearHits = 0;
    public int $nearMisses = 0;

    private readonly History $history;
    private readonly bool $isUnsigned;

    private readonly ?Near $near;

    public function __construct(
        private readonly View $view,
        private readonly Truth $truth,
        public readonly EntrySigner $signer,
    ) {
        $this->history = $view->history;
        $this->near = $view->near;
        $this->isUnsigned = !$signer->signs();
    }

    /** Reads the valid entry of a key from the truth tier. */
    public function fetch(string $key, Space $space): ?Entry
    {
        $snapshot = $this->readBeside(null, [$key], [$space]);

        return $snapshot === null ? null : $this->judgeRecord($key, $snapshot->records[$key] ?? null, $snapshot, $space);
    }

    /**
     * Reads the valid value of a key from the truth tier, and copies it into the request tier. If there is none, returns null
     * and sets $found to false.
     *
     * @param ?string   $lease  for a caller that computes the value if there is none: the name of the key's lease, which is read
     *                          beside the key where that costs nothing
     * @param ?Snapshot $missed set if there is none: what was read; null: the store did not answer
     */
    public function value(string $key, string $name, Space $space, RequestTier $copies, mixed &$found, ?string $lease = null, ?Snapshot &$missed = null): mixed
    {
        $found = false;
        $missed = null;
        $history = $this->history;
        // A near tier gets a copy, with the position of the whole answer. And where markers cannot be had one by one, the first
        // read of a space asks for its floor too.
        $view = $this->view;
        $floor = $this->near === null && $view->isBegun ? $view->floors[$space->path] ?? ($this->truth->readsPosition() ? $view->floor($space) : null) : null;
        $answer = $floor === null ? $this->beside($name, $space, $lease) : $this->truth->readOne($name);
        if ($answer === null) {
            $history->unanswered($name);

            return null;
        }
        $floor ??= $view->floor($space);
        $snapshot = null;
        if (\is_array($answer)) {
            [$body, $position, $epoch] = $answer;
        } else {
            $snapshot = $answer;
            $record = $answer->records[$name] ?? null;
            $body = $record?->body;
            $position = $record->position ?? $answer->at;
            $epoch = $answer->epoch;
        }
        if ($body === null && $epoch === $history->epoch) {
            $this->truth->misses++;
            $view->observer?->truth($space, false);
            $history->miss($name, $position);
            $missed = $lease === null ? null : $snapshot ?? new Snapshot($epoch, $position, []);

            return null;
        }
        $plain = $body === null || $this->isUnsigned ? $body : $this->signer->unseal($name, $body);
        if ($this->near === null && isset($plain[Entry::PLAIN]) && $position > $floor && $epoch === $history->epoch) {
            $left = 0;
            $at = $plain[0] === 'v' ? Entry::PLAIN : ($plain[0] === 'w' ? Entry::timed($plain, $this->truth->now(), $left) : 0);
            $entry = $at === 0 ? Entry::fromBody($plain) : null;
            if ($at !== 0 || ($entry !== null && $entry->sure === 0 && $this->good($entry, $position, $space) && $epoch === $history->epoch)) {
                $this->truth->hits++;
                $view->observer?->truth($space, true);
                $position > $history->start && $history->hit($name, $position, false);
                $value = $entry === null ? $copies->putBody($key, $plain, $at, $left, $found) : $copies->put($key, $entry, $found);
                $missed = $found ? null : $snapshot;

                return $value;
            }
        }
        if ($snapshot === null || $snapshot->epoch !== $history->epoch) {
            $snapshot = $this->beside($name, $space, $lease);
            $snapshot === null ? $history->unanswered($name) : $view->floor($space);
        }
        $entry = $snapshot === null ? null : $this->judgeRecord($name, $snapshot->records[$name] ?? null, $snapshot, $space);
        $value = $entry === null ? null : $copies->put($key, $entry, $found);
        $missed = $found ? null : $snapshot;

        return $value;
    }

    private function beside(string $name, Space $space, ?string $lease): ?Snapshot
    {
        return $this->readBeside(null, $lease === null ? [$name] : [$name, $lease], [$space]);
    }

    /**
     * As value(), for several keys, all at one position.
     *
     * @param non-empty-array<array-key, string> $names of the entries, by key
     *
     * @return array<array-key, mixed> those that were found, by key
     */
    public function values(array $names, Space $space, RequestTier $copies): array
    {
        $history = $this->history;
        $snapshot = $this->read(\array_values($names), $space);
        if ($snapshot === null) {
            foreach ($names as $name) {
                $history->unanswered($name);
            }

            return [];
        }
        $isQuick = $this->near === null && $this->isUnsigned;
        $floor = $this->view->floor($space);
        $now = $this->truth->now();
        $values = $others = $tags = [];
        $found = false;
        $left = 0;
        foreach ($names as $key => $name) {
            $record = $snapshot->records[$name] ?? null;
            $body = $record->body ?? '';
            $at = 0;
            if ($isQuick && $record !== null && $record->position > $floor && isset($body[Entry::PLAIN]) && $snapshot->epoch === $history->epoch) {
                $left = 0;
                $at = $body[0] === 'v' ? Entry::PLAIN : Entry::timed($body, $now, $left);
            }
            if ($record === null || $at === 0) {
                $others[$key] = $name;
                foreach ($record === null ? [] : $this->signer->tags($body) as $tag) {
                    $tags[$tag] = true;
                }
                continue;
            }
            $this->truth->hits++;
            $this->view->observer?->truth($space, true);
            $record->position > $history->start && $history->hit($name, $record->position, false);
            $value = $copies->putBody((string) $key, $body, $at, $left, $found);
            if ($found) {
                $values[$key] = $value;
            }
        }
        $this->view->learnMarkers(\array_keys($tags));
        foreach ($others as $key => $name) {
            $entry = $this->judgeRecord($name, $snapshot->records[$name] ?? null, $snapshot, $space);
            if ($entry !== null) {
                $value = $copies->put((string) $key, $entry, $found);
                if ($found) {
                    $values[$key] = $value;
                }
            }
        }

        return $values;
    }

    /**
     * Reads keys of several spaces from the truth tier, all at one position, and keeps them encoded in the request tier: most
     * of them as they were read, until they are asked for.
     *
     * @param list<array{Space, list<int|string>}> $lists keys by space
     *
     * @throws InvalidKey
     */
    public function prefetch(array $lists): void
    {
        if ($this->near !== null && $this->view->nearReadable && $this->nearHas($lists)) {
            return;
        }
        $wanted = $spaces = [];
        foreach ($lists as [$space, $keys]) {
            $copies = $this->view->copies($space);
            $spaces[] = $space;
            $isEmpty = $copies !== null && $copies->count() === 0;
            foreach ($keys as $key) {
                if ($isEmpty || ($copies !== null && !$copies->has((string) $key))) {
                    $wanted[$space->key((string) $key)] = $space;
                }
            }
        }
        $changes = $this->view->changes;
        $snapshot = $wanted === [] ? null : $this->read(\array_keys($wanted), ...$spaces);
        if ($snapshot === null) {
            return;
        }
        // A near tier gets a copy of each value at once, so all of them are decoded.
        $canWait = $this->near === null && $snapshot->epoch === $this->history->epoch;
        $start = $this->history->start;
        $space = $copies = null;
        $length = $floor = $bytes = 0;
        $bodies = [];
        foreach ($snapshot->records as $name => $record) {
            $name = (string) $name;
            // A missing key is not noted as a miss: a later get asks for it again, and may find it by then.
            if (!isset($wanted[$name])) {
                continue;
            }
            if ($space !== $wanted[$name]) {
                $this->await($copies, $bodies, $bytes, $changes);
                $space = $wanted[$name];
                $copies = $this->view->copies($space);
                $length = \strlen($space->entries);
                $floor = $this->view->floor($space);
                $bytes = 0;
                $bodies = [];
            }
            $key = \substr($name, $length);
            if ($canWait && $this->signer->isPlain($record->body)) {
                // The epoch is checked last: asking for the markers may have revealed a new one.
                if ($record->position > $floor && $snapshot->epoch === $this->history->epoch) {
                    $this->truth->hits++;
                    $this->view->observer?->truth($space, true);
                    $record->position > $start && $this->history->hit($name, $record->position, false);
                    $bytes += \strlen($record->body);
                    $bodies[$key] = $record->body;
                }

                continue;
            }
            $entry = $this->judgeRecord($name, $record, $snapshot, $space);
            $entry === null || $copies?->keep($key, $entry);
            // Checked last: a destructor or signal handler may change the key at any step.
            $changes === $this->view->changes || $copies?->drop($key);
        }
        $this->await($copies, $bodies, $bytes, $changes);
    }

    /** @param array<array-key, string> $bodies */
    private function await(?RequestTier $copies, array $bodies, int $bytes, int $changes): void
    {
        if ($copies !== null && $bodies !== []) {
            $copies->await($bodies, $bytes);
            foreach ($changes === $this->view->changes ? [] : $bodies as $key => $_) {
                $copies->drop((string) $key);
            }
        }
    }

    /**
     * Guesses from a sample whether the near tier has these keys: asking for each would cost as much as it saves.
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
     * Reads a key's valid copy from the near tier.
     *
     * @param int                    $from    position; older copies do not count
     * @param bool                   $isAsked the near tier was asked already, in this view
     * @param array{Entry, int, 2?: string}|null $asked what it answered
     */
    public function near(string $key, Space $space, int $from = 0, bool $isAsked = false, ?array $asked = null): ?Entry
    {
        $from = \max($from, $this->history->ownFloor);
        if ($from === \PHP_INT_MAX || $this->near === null || !$this->view->nearReadable) {
            return null;
        }
        $epoch = $this->history->epoch;
        $hit = $isAsked ? $asked : $this->near->copy($key);
        if ($hit === null || $hit[1] < $from || !$this->good($hit[0], $hit[1], $space)) {
            $this->nearMisses++;
            $this->view->observer?->near($space, false);

            return null;
        }
        if ($epoch !== $this->history->epoch) {
            // Asking for a marker has revealed a new epoch, so this copy or the marker may belong to the old one.
            return null;
        }
        $this->nearHits++;
        $this->view->observer?->near($space, true);
        $this->history->hit($key, $hit[1], $hit[0]->sure !== 0);

        return $hit[0];
    }

    /** Whether a near tier's copy is valid: not expired, flushed or invalidated. */
    public function good(Entry $entry, int $position, Space $space): bool
    {
        $now = $entry->expiry === 0 && $entry->sure === 0 ? 0 : $this->truth->now();

        return $position > $this->view->floor($space) && !$entry->expired($now) && !$entry->outlived($now) && $this->view->tagsHold($entry, $position);
    }

    /**
     * Reads records from the truth tier, together with the flush markers of their spaces that this request does not know yet.
     *
     * @param non-empty-list<string> $keys
     */
    public function read(array $keys, Space ...$spaces): ?Snapshot
    {
        return $this->readBeside(null, $keys, $spaces);
    }

    /**
     * Reads the record of a key that this request is about to swap, together with all flush markers of its space and the
     * markers of these tags. The positions known so far may be older than a flush, and a value computed from a flushed one
     * would bring it back.
     *
     * @param list<string> $tags
     */
    public function readToSwap(string $key, Space $space, array $tags): ?Snapshot
    {
        return $this->readBeside([...$space->flushes, ...$tags], [$key], [$space]);
    }

    /**
     * @param ?list<string>          $markers read with the keys; null: the flush markers that this request does not know yet
     * @param non-empty-list<string> $keys
     * @param array<Space>           $spaces
     */
    private function readBeside(?array $markers, array $keys, array $spaces): ?Snapshot
    {
        $beside = $markers ?? $this->view->unknownFlushes($spaces);
        $ask = $beside === [] ? $keys : [...$keys, ...$beside];
        $this->view->isBegun || $this->truth->beginView();
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
        // A near tier would want the markers above them as well.
        foreach ($this->near === null ? $snapshot->beside : [] as $marker) {
            $this->view->learnMarker($marker, $snapshot);
        }

        return $snapshot;
    }

    /** The valid entry in a record of the truth tier, or null. Notes the read as a hit or a miss for later writes. */
    public function judgeRecord(string $key, ?Record $record, Snapshot $snapshot, Space $space): ?Entry
    {
        $entry = $record === null ? null : $this->valid($key, $record, $snapshot, $space);
        if ($record === null || $entry === null) {
            $this->truth->misses++;
            $this->view->observer?->truth($space, false);
            $this->history->miss($key, $snapshot->at);

            return null;
        }
        $this->truth->hits++;
        $this->view->observer?->truth($space, true);
        if ($entry->sure !== 0 && $entry->outlived($now = $this->truth->now())) {
            if ($entry->over($now)) {
                $this->history->miss($key, $snapshot->at);

                return null;
            }
            if ($this->view->leases()->renews($key, Entry::BOUNDED_LIFE)) {
                $this->history->anew($key, $snapshot->at);

                return null;
            }
        } else {
            $this->near === null || $this->view->copyNear([[$key, $entry, $record->position, $snapshot->at]], $snapshot->epoch);
        }
        $this->history->hit($key, $record->position, $entry->sure !== 0);

        return $entry;
    }

    /** The entry in a record: null if it is no value, its signature is wrong, or it is expired, flushed or invalidated. */
    public function valid(string $key, Record $record, Snapshot $snapshot, Space $space, bool $swaps = false): ?Entry
    {
        if (($record->body[0] ?? '') === Entry::INTENT) {
            $this->view->hold($key);
            $this->view->standing($key, $record, $snapshot);

            return null;
        }
        $entry = $this->signer->open($key, $record->body);

        // The epoch is checked last: asking for a marker may have revealed a new one.
        return $entry === null || ($entry->expiry !== 0 && $entry->expired($this->truth->now())) || $record->position <= $this->view->floor($space, $swaps)
            || ($entry->tags !== [] && !$this->view->tagsHold($entry, $record->position, $swaps)) || $snapshot->epoch !== $this->history->epoch ? null : $entry;
    }

    /** Whether a record that valid() refused may be valid after all: the position of one of its markers is unknown. */
    public function isUnsure(string $key, ?Record $record, Space $space, bool $swaps): bool
    {
        if ($this->view->floor($space, $swaps) === \PHP_INT_MAX) {
            return true;
        }
        foreach ($record === null ? [] : $this->signer->open($key, $record->body)->tags ?? [] as $tag) {
            if ($this->view->at($tag, $swaps) === \PHP_INT_MAX) {
                return true;
            }
        }

        return false;
    }
}
