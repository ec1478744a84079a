<?php

declare(strict_types=1);

namespace Larder\Tier;

/**
 * The table of conflicts: what becomes of a write whose key somebody else changed since this request first read it.
 *
 * Why the verdicts are what they are: whoever writes after a newer change has computed from an older view. Storing
 * it could bury the newer value, refusing it could keep an older one; with neither kept, the database decides.
 */
final class ConflictTable
{
    /**
     * Whether a value just computed after a miss is stored: only if nobody else has changed its key, or what covers it, in
     * any way.
     *
     * @param int  $how     RequestHistory::SEEN, MISSED or UNSURE
     * @param bool $changed somebody else may have changed it since it was read
     */
    public static function stores(int $how, bool $changed): bool
    {
        return $how !== RequestHistory::UNSURE && !$changed;
    }

    /**
     * What becomes of a set.
     *
     * @param int    $how       RequestHistory::SEEN, MISSED or UNSURE
     * @param bool   $cacheOnly no database behind: the last set wins
     * @param ?string $change   kind of the foreign change: null none, '' unknown, else Store\Change::$kind
     * @param bool   $same      the foreign change stored the very same bytes
     * @param bool   $intent    somebody else's intent stands on the key
     */
    public static function set(int $how, bool $cacheOnly, ?string $change, bool $same, bool $intent): Verdict
    {
        if ($intent || $how === RequestHistory::UNSURE) {
            return Verdict::Drop;
        }
        if ($change === null) {
            return Verdict::Store;
        }
        if ($how === RequestHistory::SEEN) {
            return $cacheOnly ? Verdict::Store : Verdict::Drop;
        }

        return match ($change) {
            's' => $same ? Verdict::Same : Verdict::Bounded,
            'x' => Verdict::Bounded,
            default => Verdict::Drop,
        };
    }
}
