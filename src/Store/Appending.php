<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/**
 * A store that can take a change now and apply it later. An append takes the place of a commit, and outlives its process.
 * Every process applies the waiting changes before it begins a request, writes or swaps.
 */
interface Appending extends Store
{
    /** Whether this store appends at all. */
    public function appends(): bool;

    /**
     * Takes an unconditional change of a key with a small body. The change is safe against the death of any process when
     * this returns. It gets its position when it is applied; if the key is held then, the change is dropped.
     *
     * @return bool false: the store did not take the change, and the caller must write it
     *
     * @throws Failure
     */
    public function append(Change $change): bool;

    /**
     * Applies the waiting changes of all processes. A request's view may begin with the next read(): its epoch had not ended
     * before this call.
     *
     * @param string $writer whose outcomes the caller wants: a process may apply other writers' changes of the same key
     *
     * @return array<string, Outcome> by key: the last outcomes of this writer's changes that this process has applied since
     *                                the last call
     *
     * @throws Failure
     */
    public function settle(string $writer): array;
}
