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
     * @param bool   $fill      a value just computed after a miss, not a set
     * @param int    $how       RequestHistory::SEEN, MISSED or UNSURE
     * @param bool   $cacheOnly no database behind: the last set wins
     * @param ?string $change   kind of the foreign change: null none, '' unknown, else Store\Change::$kind
     * @param bool   $same      the foreign change stored the very same bytes
     * @param bool   $intent    somebody else's intent stands on the key
     */
    public static function verdict(bool $fill, int $how, bool $cacheOnly, ?string $change, bool $same, bool $intent): Verdict
    {
        if ($intent || $how === RequestHistory::UNSURE) {
            return $fill ? Verdict::Ignore : Verdict::Drop;
        }
        if ($change === null) {
            return Verdict::Store;
        }
        if ($fill) {
            return Verdict::Ignore;
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
