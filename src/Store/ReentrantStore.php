<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\Store\Journal\JournalSlice;
use Larder\System\Failure;
use Larder\System\Signals;

/**
 * A store that may be called during another of its calls, and that may not exist yet.
 *
 * A destructor that the garbage collector runs, a signal handler or an error handler may use the cache at any step of
 * an engine: between binding a key to a prepared statement and executing it, or between a command and its reply. A call
 * inside another one therefore goes to a second store object, with a connection of its own. An engine that lets one
 * process write at a time cannot write twice at once: the inner call fails with StoreBusy.
 *
 * Handlers of asynchronous signals wait until the call has ended. If another exception still leaves a store object in the
 * middle of a call (a destructor threw), this class never uses that object again.
 *
 * The store is made with the first call. If it cannot be made (its directory cannot be created, for example), every call tries
 * again.
 */
final class ReentrantStore implements Appending, ReadsOne
{
    private bool $busy = false;
    private ?bool $forgets = null;

    /** @var list<Store> spare stores, for calls inside others */
    private array $spares = [];

    /**
     * @param ?Store                $store null: it is not made yet
     * @param \Closure(bool): Store $make  true: makes a spare one, which shares no connection with another
     */
    public function __construct(private readonly string $name, private ?Store $store, private readonly \Closure $make) {}

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $held = Signals::hold();
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): JournalSlice => $store->since($epoch, $position, $token));
        }
        $this->busy = true;
        try {
            return $this->store->since($epoch, $position, $token);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function read(array $keys): Snapshot
    {
        $held = Signals::hold();
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): Snapshot => $store->read($keys));
        }
        $this->busy = true;
        try {
            return $this->store->read($keys);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function readOne(string $key): array|Snapshot
    {
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): Snapshot => $store->read([$key]));
        }
        $this->busy = true;
        try {
            return $this->store instanceof ReadsOne ? $this->store->readOne($key) : $this->store->read([$key]);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function write(array $changes): array
    {
        $held = Signals::hold();
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): array => $store->write($changes));
        }
        $this->busy = true;
        try {
            return $this->store->write($changes);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function appends(): bool
    {
        $store = $this->store ?? $this->there();

        return $store instanceof Appending && $store->appends();
    }

    public function append(Change $change): bool
    {
        $held = Signals::hold();
        if ($this->busy || !($this->store ??= $this->made(false)) instanceof Appending) {
            return false;
        }
        $this->busy = true;
        try {
            return $this->store->append($change);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function settle(string $writer, array &$bounded = []): array
    {
        $held = Signals::hold();
        if ($this->busy || !($this->store ??= $this->made(false)) instanceof Appending) {
            return [];
        }
        $this->busy = true;
        try {
            return $this->store->settle($writer, $bounded);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function position(string $key, string $epoch): ?int
    {
        $held = Signals::hold();
        if ($this->busy || !($this->store ??= $this->made(false)) instanceof Appending) {
            return null;
        }
        $this->busy = true;
        try {
            return $this->store->position($key, $epoch);
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function now(): int
    {
        $held = Signals::hold();
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): int => $store->now());
        }
        $this->busy = true;
        try {
            return $this->store->now();
        } catch (\Throwable $thrown) {
            throw $this->left($thrown);
        } finally {
            $this->busy = false;
        }
    }

    public function forgets(): bool
    {
        return $this->forgets ?? ($this->forgets = $this->there()?->forgets()) ?? true;
    }

    public function tidy(): void
    {
        $held = Signals::hold();
        if (!$this->busy && $this->store !== null) {
            $this->busy = true;
            try {
                $this->store->tidy();
            } catch (\Throwable $thrown) {
                throw $this->left($thrown);
            } finally {
                $this->busy = false;
            }
        }
    }

    public function each(): iterable
    {
        $held = Signals::hold();
        // The caller uses the cache between two records, so the iteration needs a store object of its own.
        try {
            $store = $this->spare();
        } catch (StoreBusy) {
            // Where no second object can be made, iterate over the first.
            $store = $this->store ?? $this->made(false);
        }
        foreach ($store->each() as $key => $record) {
            $held = null;
            yield $key => $record;
            $held = Signals::hold();
        }
    }

    public function stats(): array
    {
        $held = Signals::hold();

        return $this->otherwise(static fn(Store $store): array => $store->stats());
    }

    /** The exception to throw on. Gives up the store object, unless the exception is a failure of its own. */
    private function left(\Throwable $thrown): \Throwable
    {
        if (!$thrown instanceof Failure) {
            $this->store = null;
            // Destroy it now, with its locks and transactions: its parts refer to each other.
            \gc_collect_cycles();
        }

        return $thrown;
    }

    /**
     * Makes the call by a store made now, or by a spare one if the first is in use.
     *
     * @template T
     *
     * @param \Closure(Store): T $call
     *
     * @return T
     */
    private function otherwise(\Closure $call): mixed
    {
        if (!$this->busy) {
            $this->store ??= $this->made(false);
            $this->busy = true;
            try {
                return $call($this->store);
            } catch (\Throwable $thrown) {
                throw $this->left($thrown);
            } finally {
                $this->busy = false;
            }
        }
        $spare = null;
        try {
            $spare = $this->spare();
            // The spare must read what this process has appended.
            $spare instanceof Appending && $spare->settle('');
            $result = $call($spare);
            $this->spares[] = $spare;

            return $result;
        } catch (Failure $failure) {
            if ($spare !== null) {
                $this->spares[] = $spare;
            }

            throw StoreBusy::because($this->name, 'used again inside a call of it', $failure);
        }
    }

    /** Null: it cannot be made now. */
    private function there(): ?Store
    {
        try {
            return $this->store ??= $this->made(false);
        } catch (Failure) {
            return null;
        }
    }

    private function spare(): Store
    {
        return \array_pop($this->spares) ?? $this->made(true);
    }

    private function made(bool $spare): Store
    {
        try {
            return ($this->make)($spare);
        } catch (Failure $failure) {
            throw $failure;
        } catch (\Exception $refusal) {
            // Meanwhile another user may have made the directory as their own.
            throw Failure::because($this->name, $refusal->getMessage(), $refusal);
        }
    }
}
