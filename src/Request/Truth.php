<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\OutageGuard;
use Larder\Store\PurgeCounters;
use Larder\Store\ReadsOne;
use Larder\Store\ReadsPosition;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\Store\Watch;

/** The truth tier as one request uses it. Where the store fails, a call returns null and the application goes on: see OutageGuard. */
final class Truth
{
    /** Milliseconds after which the store's clock is asked again. */
    public const COMPARED = 500;

    /** Nanoseconds within which two clocks count as read at the same moment; and attempts to do so. */
    private const TOGETHER = 1_000_000;
    private const ATTEMPTS = 3;

    public int $hits = 0;
    public int $misses = 0;
    public int $writes = 0;
    /** Calls of the store: round trips, where it is a server. */
    public int $calls = 0;

    /** Milliseconds by which the store's clock was ahead of hrtime() when it was last read. */
    public int $ahead = 0;

    /** hrtime() in milliseconds until which $ahead is used without asking again. */
    public int $compared = 0;

    /** What the store says of itself (Store::forgets(), ReadsPosition); null: it is not made yet. */
    private ?bool $forgets = null;
    private ?bool $readsPosition = null;

    public function __construct(
        public readonly OutageGuard $guard,
        /** Names the request that opened it. */
        public readonly string $writer,
        private readonly ?Watch $watch = null,
        /** Milliseconds; 0: the clock may stand still, as a test's does. */
        private readonly int $comparedEach = self::COMPARED,
    ) {}

    /** The same store for another request, under a name of its own. */
    public function apart(): self
    {
        return new self($this->guard, \bin2hex(\random_bytes(6)), $this->watch, $this->comparedEach);
    }

    public function down(): bool
    {
        return $this->guard->isDown();
    }

    /** Lets the next call try the store again, and not only when its rest is over. */
    public function retry(): void
    {
        $this->guard->retry();
    }

    /**
     * Milliseconds by the clock of the store, which all its users share: see Store::now(). While the store cannot be asked,
     * this is computed from its last answer.
     */
    public function now(): int
    {
        $uptime = \intdiv(\hrtime(true), 1_000_000);
        if ($uptime < $this->compared) {
            return $uptime + $this->ahead;
        }
        $read = $this->watch === null ? $this->guard->call(self::compare(...)) : self::compare($this->watch);
        if ($read === null) {
            return $this->compared === 0 ? (int) (\microtime(true) * 1000) : $uptime + $this->ahead;
        }
        [$now, $uptime] = $read;
        $this->ahead = $now - $uptime;
        $this->compared = $uptime + $this->comparedEach;

        return $now;
    }

    /**
     * Reads the store's clock and this machine's at the same moment: what comes between the two, while a store is opened or the
     * process is stopped, would put this process's clock ahead or behind, and values would expire late.
     *
     * @return array{int, int} milliseconds
     */
    private static function compare(Store|Watch $clock): array
    {
        $attempts = 0;
        do {
            $before = \hrtime(true);
            $now = $clock->now();
            $after = \hrtime(true);
        } while ($after - $before > self::TOGETHER && ++$attempts < self::ATTEMPTS);

        return [$now, \intdiv($after, 1_000_000)];
    }

    /** Whether since() would answer that nothing has changed. Costs a few stats and makes no call; false: ask since(). */
    public function isUnchanged(string $epoch, string $token): bool
    {
        return $token !== '' && $this->watch !== null && $this->guard->isReachable() && $this->watch->isUnchanged($epoch, $token);
    }

    public function since(string $epoch, int $position, string $token): ?JournalSlice
    {
        if (!$this->guard->isReachable()) {
            return null;
        }
        $this->calls++;

        return $this->guard->call(static fn(Store $store): JournalSlice => $store->since($epoch, $position, $token));
    }

    /**
     * As since(), for a reader that keeps its place as a text.
     *
     * @return ?array{mark: string, names: ?list<string>}
     */
    public function changes(string $mark): ?array
    {
        [$position, $epoch, $token] = \explode(' ', $mark, 3) + ['', '', ''];
        $slice = $this->since($epoch, (int) $position, $token);

        return $slice === null ? null : ['mark' => "$slice->end $slice->epoch $slice->token", 'names' => $slice->complete ? \array_column($slice->list, 0) : null];
    }

    /** @param non-empty-list<string> $keys */
    public function read(array $keys): ?Snapshot
    {
        $this->calls++;

        return $this->guard->call(static fn(Store $store): Snapshot => $store->read($keys));
    }

    /** @return array{?string, int, string}|Snapshot|null see ReadsOne::readOne(), for stores of both kinds */
    public function readOne(string $key): array|Snapshot|null
    {
        $this->calls++;

        return $this->guard->call(static fn(Store $store): array|Snapshot => $store instanceof ReadsOne ? $store->readOne($key) : $store->read([$key]), isHeld: true);
    }

    /**
     * @param non-empty-list<Change> $changes
     * @param list<string>           $invalidated keys or flush markers; if the write fails, they are kept as pending invalidations
     *
     * @return ?non-empty-list<ChangeResult>
     */
    public function write(array $changes, array $invalidated = []): ?array
    {
        $this->calls++;
        $this->writes += \count($changes);

        return $this->guard->write($changes, $invalidated);
    }

    /** Whether the store tells positions of records: see ReadsPosition. */
    public function readsPosition(): bool
    {
        return $this->readsPosition ?? $this->look()[1];
    }

    /** See Store::forgets(). */
    public function forgets(): bool
    {
        return $this->forgets ?? $this->look()[0];
    }

    /** @return array{bool, bool} whether the store forgets markers, and tells positions; an engine says so once and for all, as soon as it is made */
    private function look(): array
    {
        $store = $this->guard->engine();
        if ($store !== null) {
            $this->forgets = $store->forgets();
            $this->readsPosition = $store instanceof ReadsPosition && $store->readsPosition();
        }

        return [$this->forgets ?? true, $this->readsPosition ?? false];
    }

    /** See ReadsPosition::beginView(). Before it, what other processes could not tell the store is applied. */
    public function beginView(): void
    {
        $this->catchUp();
        $this->guard->call(static function (Store $store): bool {
            $store instanceof ReadsPosition && $store->beginView();

            return true;
        });
    }

    /**
     * See ReadsPosition::positions().
     *
     * @param non-empty-list<string> $keys
     *
     * @return ?non-empty-list<int>
     */
    public function positions(array $keys, string $epoch): ?array
    {
        if ($this->guard->until !== 0 || !$this->guard->engine() instanceof ReadsPosition) {
            return null;
        }
        $this->calls++;

        return $this->guard->call(static fn(Store $store): ?array => $store instanceof ReadsPosition ? $store->positions($keys, $epoch) : null);
    }

    /** Housekeeping at the end of a request that used the store. */
    public function tidy(): void
    {
        if ($this->guard->time !== 0 && $this->guard->until === 0) {
            $this->guard->call(static fn(Store $store) => $store->tidy());
        }
    }

    /** @return iterable<string, Record> */
    public function each(): iterable
    {
        return $this->guard->each();
    }

    /** @return array{engine: string, entries: int, bytes: int, budget: int} */
    public function stats(): array
    {
        return ($this->guard->isReachable() ? $this->guard->call(static fn(Store $store): array => $store->stats()) : null)
            ?? ['engine' => $this->guard->name, 'entries' => 0, 'bytes' => 0, 'budget' => 0];
    }

    /** Applies the invalidations that other processes kept during an outage. */
    public function catchUp(): void
    {
        $this->guard->isReachable();
    }

    public function purges(): ?PurgeCounters
    {
        return $this->guard->purges();
    }
}
