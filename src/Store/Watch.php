<?php

declare(strict_types=1);

namespace Larder\Store;

/** Tells, without making a store, whether anything has changed in it, and its time. */
interface Watch
{
    /**
     * Whether nothing has changed since an answer of Store::since() with this epoch and token. False: ask the store.
     *
     * @param string $token '': there was none
     */
    public function isUnchanged(string $epoch, string $token): bool;

    /** See Store::now(). */
    public function now(): int;
}
