<?php

declare(strict_types=1);

namespace Larder\Request;

/**
 * The table of conflicts: decides a write whose key another request changed since this request first read it.
 *
 * Why the verdicts are what they are. A request that writes after a newer change has computed from an older view.
 * Storing its value could bury the newer one; refusing it could keep an older one. With neither kept, the database
 * decides.
 */
final class ConflictTable
{
    /**
     * Whether a fill is stored: only if no other request has changed its key, or a marker that covers it, in any way.
     *
     * @param int  $how     History::SEEN, MISSED or UNSURE
     * @param bool $changed another request may have changed the key since this one read it
     */
    public static function stores(int $how, bool $changed): bool
    {
        return $how !== History::UNSURE && !$changed;
    }

    /**
     * Decides a set.
     *
     * @param int    $how       History::SEEN, MISSED or UNSURE
     * @param bool   $cacheOnly no database is behind the space: the last set wins
     * @param ?string $change   kind of the other request's change: null none, '' unknown, else Store\Change::$kind
     * @param bool   $same      the other request stored the very same bytes
     * @param bool   $intent    another request's intent stands on the key
     */
    public static function set(int $how, bool $cacheOnly, ?string $change, bool $same, bool $intent): Verdict
    {
        if ($intent || $how === History::UNSURE) {
            return Verdict::Drop;
        }
        if ($change === null) {
            return Verdict::Store;
        }
        if ($how === History::SEEN) {
            return $cacheOnly ? Verdict::Store : Verdict::Drop;
        }

        return match ($change) {
            's' => $same ? Verdict::Same : Verdict::Bounded,
            'x' => Verdict::Bounded,
            default => Verdict::Drop,
        };
    }
}
