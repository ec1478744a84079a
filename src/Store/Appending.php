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
    /**
     * Signs a change that hides another writer's. It is no request's name, so no request takes that change for its own, or
     * for one that came after nobody else's.
     */
    public const NOBODY = '------------';

    /** Whether this store appends at all. */
    public function appends(): bool;

    /**
     * Takes a change of a key with a small body. The change is safe against the death of any process when this returns. It
     * gets its position, and is judged, when it is applied:
     *
     *  - A change without a limit is dropped if the key is held, and made if not.
     *  - A change with a limit is made if nobody but its writer has changed the key after the limit, or moved a marker that
     *    covers it, and the key is not held. If not, the key is dropped, or a held key gets a new position, and NOBODY signs
     *    it. So a change never hides another writer's from its own writer.
     *  - A change with $bounded leaves another's value where it has the same payload. If another value, or the drop of one,
     *    is in its way, $bounded is stored, and NOBODY signs it.
     *
     * The limit counts for the key and for the flush markers that cover it.
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
     * @param string              $writer  whose outcomes the caller wants
     * @param array<string, true> $bounded set to the keys of those for which Change::$bounded was stored
     *
     * @return array<string, int> by key: where this writer's last change stands that this process has applied since the last
     *                            call. Negative: minus the position at which the key was dropped, or $bounded stored.
     *                            0: nothing was done
     *
     * @throws Failure
     */
    public function settle(string $writer, array &$bounded = []): array;

    /**
     * Looks for a key's record without reading its body, or for a marker.
     *
     * @param string $epoch in which the caller compares positions
     *
     * @return ?int its position; 0: the key has none, or an intent stands on it. Of a marker that the store has forgotten: the
     *              floor (see Markers). Null: this cannot tell, for example because the store is in another epoch, or because
     *              an intent stands on the marker; read() can
     *
     * @throws Failure
     */
    public function position(string $key, string $epoch): ?int;
}
