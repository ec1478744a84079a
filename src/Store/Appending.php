<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/**
 * A store that can take a change now and judge it later: an append, which outlives the process that made it, in place of
 * a commit. Whoever begins a request, writes, or swaps, applies what waits before that.
 */
interface Appending extends Store
{
    /** Whether it can do so at all. */
    public function appends(): bool;

    /**
     * Takes an unconditional change of a key with a small body. It stands for good when this returns; its position is
     * known when it is applied. One on a held key is dropped then.
     *
     * @return bool false: nothing was taken, and the change is to be written
     *
     * @throws Failure
     */
    public function append(Change $change): bool;

    /**
     * Applies what waits, of all processes. A request's view may begin with the next read(), which is not of an epoch that
     * had ended before this was called.
     *
     * @return array<string, Outcome> what became of this process's appended changes since this was last asked, by key,
     *                                as far as it applied them
     *
     * @throws Failure
     */
    public function settle(): array;
}
