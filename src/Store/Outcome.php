<?php

declare(strict_types=1);

namespace Larder\Store;

/** What became of one Change. */
final class Outcome
{
    /** Kind of a change that the engine will never take: the value is too large for it, or there is no room. */
    public const REFUSED = 'r';

    /**
     * @param bool    $done
     * @param int     $position   done: the change's position; else: the position of the change in the way,
     *                            or -1 if nothing is known that far back (treat as a conflict)
     * @param string  $writer     done: who made the key's change before, '' if unknown; else: who made the change in the way
     * @param int     $previous   done: position of the key's change before, 0 if unknown
     * @param string  $kind       done: kind of the change that made the record there was, '' if there was none;
     *                            not done: kind of the change in the way (Change::$kind), '' if unknown
     * @param ?Record $record     not done: the key's record now, null if it has none
     * @param ?string $guard      not done: the guard that stopped it, null if it was the key itself
     * @param int     $step       done: by how much the position is above the end of the log before it
     */
    public function __construct(
        public readonly bool $done,
        public readonly int $position,
        public readonly string $writer = '',
        public readonly int $previous = 0,
        public readonly string $kind = '',
        public readonly ?Record $record = null,
        public readonly ?string $guard = null,
        public readonly int $step = 1,
    ) {}

    /** The engine cannot keep this value. The older one is gone, or is to be removed by the caller. */
    public static function refused(?Record $record = null): self
    {
        return new self(false, -1, kind: self::REFUSED, record: $record);
    }
}
