<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;
use Larder\System\Signals;

/**
 * A store that may be called while a call of it is under way, and that may not be there yet.
 *
 * A destructor that the garbage collector runs, a signal handler or an error handler may use the cache at any step of
 * an engine: between binding a key to a prepared statement and executing it, or between a command and its reply. A call
 * inside another one therefore goes to a second store object, with a connection of its own. An engine that lets one
 * process write at a time cannot write twice at once: the inner call fails with StoreBusy.
 *
 * Handlers of asynchronous signals wait until the call has ended. A store object that a foreign exception has left in the
 * middle of a call all the same (a destructor threw) is not used again.
 *
 * A store that cannot be made (its directory cannot be created, for example) is tried again at every call.
 */
final class ReentrantStore implements Appending
{
    private bool $busy = false;
    private ?bool $forgets = null;

    /** @var list<Store> for calls inside others */
    private array $spares = [];

    /**
     * @param ?Store                $store null: it could not be made yet
     * @param \Closure(bool): Store $make  true: a spare one, that shares no connection with another
     */
    public function __construct(private readonly string $name, private ?Store $store, private readonly \Closure $make) {}

    public function since(string $epoch, int $position, string $token): Changes
    {
        $held = Signals::hold();
        if ($this->busy || $this->store === null) {
            return $this->otherwise(static fn(Store $store): Changes => $store->since($epoch, $position, $token));
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
        return $this->store instanceof Appending && $this->store->appends();
    }

    public function append(Change $change): bool
    {
        $held = Signals::hold();
        if ($this->busy || !$this->store instanceof Appending) {
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

    public function settle(): array
    {
        $held = Signals::hold();
        if ($this->busy || !$this->store instanceof Appending) {
            return [];
        }
        $this->busy = true;
        try {
            return $this->store->settle();
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
        return $this->store === null ? $this->forgets ?? true : $this->forgets ??= $this->store->forgets();
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
        // Its reader uses the cache between two records: a store object of its own, as long as that lasts.
        try {
            $store = $this->spare();
        } catch (StoreBusy) {
            // One that cannot be had twice is gone through as it is now.
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

    /** What is thrown on: a store object that something else than a failure of its own has left is given up. */
    private function left(\Throwable $thrown): \Throwable
    {
        if (!$thrown instanceof Failure) {
            $this->store = null;
            // It goes now, and with it its locks and transactions: parts of it refer to each other.
            \gc_collect_cycles();
        }

        return $thrown;
    }

    /**
     * By a store made now, or by a spare one if the first is in use.
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
            // What this process has appended is read by the spare too.
            $spare instanceof Appending && $spare->settle();
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
            // Meanwhile somebody else may have made the directory, for himself.
            throw Failure::because($this->name, $refusal->getMessage(), $refusal);
        }
    }
}
