<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\Failure;

/** A store that tells where a record stands with less work than reading it takes. */
interface ReadsPosition extends ReadsOne
{
    /** Whether this store does. */
    public function readsPosition(): bool;

    /**
     * A request's view begins with the next read(): what was written before must be in it, and its epoch had not ended before
     * this call. Later reads of the request wait for no other process, unless a change of its own waits for one.
     *
     * @throws Failure
     */
    public function beginView(): void;

    /**
     * Looks for records without reading their bodies, and for markers, one after the other.
     *
     * @param non-empty-list<string> $keys
     * @param string                 $epoch in which the caller compares positions
     *
     * @return ?non-empty-list<int> each key's position; 0: the key has none, or an intent stands on it. Of a marker that the store
     *                              has forgotten: the floor (see Markers). Null: this cannot tell, for example because the store is
     *                              in another epoch, or because an intent stands on a marker; read() can
     *
     * @throws Failure
     */
    public function positions(array $keys, string $epoch): ?array;
}
