<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Entry;
use Larder\Store\Change;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\OutageGuard;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\System\FailureLog;

/**
 * A near tier on a store that is not the truth tier: the disk of this server before a far server.
 *
 * The store's own positions mean nothing in the truth's journal. So a copy is `n | truth's position 8 | body`, and the
 * record `<name>:state` holds the position up to which this tier has followed the truth's journal. Every write is guarded
 * by that record, so the store itself refuses a copy that is older than the state.
 */
final class StoreNear implements Near
{
    /** Copies dropped in one write. */
    private const BATCH = 500;
    private const TRIES = 5;

    private string $generation = '';
    /** Epoch and position of the generation. */
    private string $epoch = '';
    private int $position = 0;
    /** Position of the state's record in this store; every write is guarded by it. */
    private int $guard = 0;
    private int $refused = 0;
    private readonly OutageGuard $store;
    private readonly string $writer;
    private readonly string $stateKey;

    /**
     * @param string             $part what log lines call this tier
     * @param ?\Closure(): Store $make makes the store again, if an exception has left it in the middle of a call
     */
    public function __construct(Store $store, private readonly string $name, string $part = 'sqlite', ?FailureLog $failureLog = null, ?\Closure $make = null)
    {
        $this->store = new OutageGuard($part, $store, $make, $failureLog);
        $this->writer = \bin2hex(\random_bytes(6));
        $this->stateKey = $name . ':state';
    }

    public function state(): array
    {
        $snapshot = $this->read($this->stateKey);
        if ($snapshot === null) {
            return ['', 0, ''];
        }
        $record = $snapshot->records[$this->stateKey] ?? null;
        $state = \explode(' ', \substr($record->body ?? '', 1), 4);
        if ($record === null || \count($state) !== 4) {
            $this->guard = $record->position ?? 0;

            return ['', 0, ''];
        }
        $this->epoch = '';
        $this->generation = $state[0];
        $this->position = (int) $state[2];
        $this->guard = $record->position;
        $this->epoch = $state[1];

        return [$state[1], $this->position, $state[3]];
    }

    public function follow(JournalSlice $changes): bool
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            [$epoch, $position, $token] = $this->state();
            if ($this->store->isDown()) {
                return false;
            }
            if (!$changes->news($epoch, $position)) {
                return true;
            }
            [$end, $next] = $epoch === $changes->epoch && $position > $changes->end
                ? [$position, $token] : [$changes->end, $changes->token];
            if ($epoch !== $changes->epoch || !$changes->complete) {
                $this->generation = \bin2hex(\random_bytes(4));
            } else {
                // The copies go before the state has its new position: a process killed between the two has only
                // dropped too much. First the state is written as it is: from then on its guard refuses the copies
                // that others read before, so no older copy comes in after this looked for it.
                if ($changes->list !== [] && !$this->writeState($epoch, $position, $token)) {
                    continue;
                }
                $outdated = $this->outdated($changes, $position);
                if ($outdated === null) {
                    return false;
                }
                foreach (\array_chunk($outdated, self::BATCH) as $batch) {
                    if ($this->store->write($batch) === null) {
                        return false;
                    }
                }
            }
            if ($this->writeState($changes->epoch, $end, $next)) {
                $this->position = $end;
                $this->epoch = $changes->epoch;

                return true;
            }
        }

        return false;
    }

    public function open(Window $window, string $prefix): void
    {
        // Each read is a call of the store, so no get asks before the request's reader does.
    }

    public function get(string $key, Window $window): mixed
    {
        return null;
    }

    public function judge(string $key, Window $window, mixed $copy): mixed
    {
        return null;
    }

    public function copy(string $key): ?array
    {
        $body = $this->body($this->key($key));
        if (\strlen($body) < 10) {
            return null;
        }
        $entry = Entry::fromBody(\substr($body, 9));

        return $entry === null ? null : [$entry, self::position($body)];
    }

    public function marker(string $key): ?int
    {
        $body = $this->body($this->key($key));

        return \strlen($body) === 9 ? self::position($body) : null;
    }

    public function put(array $copies, string $epoch): void
    {
        foreach ($copies as [$key, $entry, $position, $at, $life]) {
            $this->store($key, $entry->body(), $position, $at, $epoch, $life);
        }
    }

    public function putMarker(string $key, int $position, int $at, string $epoch): void
    {
        $this->store($key, '', $position, $at, $epoch, 0);
    }

    /** If a copy cannot be dropped now, the next process that follows the journal drops it. */
    public function drop(string $key): void
    {
        $this->store->write([new Change($this->key($key), null, $this->writer, kind: Entry::DELETED)]);
    }

    public function stats(): array
    {
        $stats = $this->store->call(static fn(Store $store): array => $store->stats()) ?? ['engine' => 'sqlite', 'entries' => 0, 'bytes' => 0, 'budget' => 0];

        return $stats + ['errors' => $this->store->errors, 'refused' => $this->refused];
    }

    /** False: another process was first, or it failed. */
    private function writeState(string $epoch, int $position, string $token): bool
    {
        $body = 'n' . $this->generation . ' ' . $epoch . ' ' . $position . ' ' . $token;
        $outcome = $this->store->write([new Change($this->stateKey, $body, $this->writer, $this->guard, strict: true)])[0] ?? null;
        if ($outcome === null || !$outcome->done) {
            return false;
        }
        $this->guard = $outcome->position;

        return true;
    }

    private function store(string $name, string $body, int $position, int $at, string $epoch, int $life): void
    {
        // Before the rest is looked at: a destructor that uses the cache may move all of it on.
        $key = $this->key($name);
        $guard = $this->guard;
        if ($this->generation === '' || $this->epoch !== $epoch || $this->position > $at || $this->store->isDown()) {
            $this->refused++;

            return;
        }
        $snapshot = $this->read($key);
        $now = $life === 0 ? 0 : $this->store->call(static fn(Store $store): int => $store->now());
        $there = $snapshot->records[$key] ?? null;
        if ($snapshot === null || $now === null || ($there !== null && self::position($there->body) > $position)) {
            return;
        }
        $outcome = $this->store->write([new Change(
            $key,
            'n' . \pack('J', $position) . $body,
            $this->writer,
            $there->position ?? $snapshot->at,
            // By this store's own clock, not by the truth's.
            $life === 0 ? 0 : $now + $life * 1000,
            // No other process may have followed the journal further since this one looked.
            [$this->stateKey => $guard],
            strict: true,
        )])[0] ?? null;
        if ($outcome !== null && !$outcome->done) {
            $this->refused++;
            $this->drop($name);
        }
    }

    private function body(string $key): string
    {
        return $this->read($key)->records[$key]->body ?? '';
    }

    private function read(string $key): ?Snapshot
    {
        return $this->store->call(static fn(Store $store): Snapshot => $store->read([$key]));
    }

    /** @return ?list<Change> that drop the copies older than what changed; null: it failed */
    private function outdated(JournalSlice $changes, int $position): ?array
    {
        $gone = [];
        foreach ($changes->list as [$key, $changed]) {
            if ($changed > $position) {
                $name = $this->key($key);
                $snapshot = $this->read($name);
                if ($snapshot === null) {
                    return null;
                }
                $body = $snapshot->records[$name]->body ?? '';
                if ($body !== '' && self::position($body) < $changed) {
                    $gone[] = new Change($name, null, $this->writer, kind: Entry::DELETED);
                }
            }
        }

        return $gone;
    }

    private function key(string $key): string
    {
        return $this->name . ':' . $this->generation . ':' . $key;
    }

    private static function position(string $body): int
    {
        if (\strlen($body) < 9) {
            return -1;
        }
        /** @var array{1: int} $position */
        $position = \unpack('J', $body, 1);

        return $position[1];
    }
}
