<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Cache;
use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Near\Near;
use Larder\Request\Request;
use Larder\Request\Space;
use Larder\Request\Truth;
use Larder\Store\Change;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\MemoryStore;
use Larder\Store\OutageGuard;
use Larder\Store\PendingInvalidations;
use Larder\Store\ReadsOne;
use Larder\Store\ReadsPosition;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\System\FailureLog;
use Psr\Log\NullLogger;

/** A store with somebody else in each of its moments: before and after a call a closure may do what it likes. */
final class HookedStore implements ReadsPosition
{
    /** @var ?\Closure(string, array<array-key, mixed>): void name of the call, and its keys or changes; not called from within itself */
    public ?\Closure $before = null;
    /** @var ?\Closure(string, array<array-key, mixed>): void */
    public ?\Closure $after = null;
    /** Milliseconds that its clock is ahead. */
    public int $ahead = 0;
    /** Whether it may lose markers; null: as the one inside. */
    public ?bool $forgets = null;
    private bool $within = false;

    public function __construct(public Store $inner = new MemoryStore(1 << 20)) {}

    /** A request over this store. */
    public function cache(?Near $near = null, PendingInvalidations $pending = new PendingInvalidations(null), bool $lazy = false): Cache
    {
        $truth = new Truth(new OutageGuard('hooked', $this, null, new FailureLog(new NullLogger()), $pending), \bin2hex(\random_bytes(6)));
        $tiers = new Request($truth, $near, new EntrySigner(null), Codec::create(null, null), 30_000, 'disk', $lazy);

        return Cache::over($tiers, new Space());
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $this->call($this->before, 'since', []);

        return $this->inner->since($epoch, $position, $token);
    }

    public function read(array $keys): Snapshot
    {
        $this->call($this->before, 'read', $keys);
        $view = $this->inner->read($keys);
        $this->call($this->after, 'read', $keys);

        return $view;
    }

    public function readOne(string $key): array|Snapshot
    {
        $this->call($this->before, 'read', [$key]);
        $answer = $this->inner instanceof ReadsOne ? $this->inner->readOne($key) : $this->inner->read([$key]);
        $this->call($this->after, 'read', [$key]);

        return $answer;
    }

    public function readsPosition(): bool
    {
        return $this->inner instanceof ReadsPosition && $this->inner->readsPosition();
    }

    public function beginView(): void
    {
        $this->inner instanceof ReadsPosition && $this->inner->beginView();
    }

    public function positions(array $keys, string $epoch): ?array
    {
        $this->call($this->before, 'position', $keys);

        return $this->inner instanceof ReadsPosition ? $this->inner->positions($keys, $epoch) : null;
    }

    public function write(array $changes): array
    {
        $this->call($this->before, 'write', $changes);
        $outcomes = $this->inner->write($changes);
        $this->call($this->after, 'write', $changes);

        return $outcomes;
    }

    public function now(): int
    {
        return $this->inner->now() + $this->ahead;
    }

    public function forgets(): bool
    {
        return $this->forgets ?? $this->inner->forgets();
    }

    public function tidy(): void {}

    public function each(): iterable
    {
        return $this->inner->each();
    }

    public function stats(): array
    {
        return $this->inner->stats();
    }

    /**
     * @param ?\Closure(string, array<array-key, mixed>): void $hook
     * @param array<string|Change>                             $what
     */
    private function call(?\Closure $hook, string $call, array $what): void
    {
        if ($hook !== null && !$this->within) {
            $this->within = true;
            try {
                $hook($call, $what);
            } finally {
                $this->within = false;
            }
        }
    }
}
