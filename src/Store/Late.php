<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * An engine that could not be made when the cache was opened: its directory could not be created, for example.
 *
 * Every call tries again, and fails as a call to an engine does that is down: nobody gets a lock, or counts, in a
 * memory that others do not share.
 */
final class Late implements Store
{
    private ?Store $store = null;

    /** @param \Closure(): Store $make throws StoreFailure */
    public function __construct(private readonly string $name, private readonly \Closure $make) {}

    public function since(string $epoch, int $position, string $token): Changes
    {
        return $this->store()->since($epoch, $position, $token);
    }

    public function read(array $keys): View
    {
        return $this->store()->read($keys);
    }

    public function write(array $changes): array
    {
        return $this->store()->write($changes);
    }

    public function forgets(): bool
    {
        return $this->store === null || $this->store->forgets();
    }

    public function tidy(): void
    {
        $this->store?->tidy();
    }

    public function each(): iterable
    {
        return $this->store()->each();
    }

    public function stats(): array
    {
        return $this->store()->stats();
    }

    private function store(): Store
    {
        if ($this->store === null) {
            try {
                $this->store = ($this->make)();
            } catch (StoreFailure $failure) {
                throw $failure;
            } catch (\Exception $refusal) {
                // Meanwhile somebody else may have made the directory, for himself.
                throw StoreFailure::because($this->name, $refusal->getMessage(), $refusal);
            }
        }

        return $this->store;
    }
}
