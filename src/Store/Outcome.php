<?php

declare(strict_types=1);

namespace Larder\Store;

/** The result of one Change. */
final class Outcome
{
    /** Kind of a change that the engine refuses: the value is too large, or there is no room for it. */
    public const REFUSED = 'r';

    /**
     * @param bool    $done
     * @param int     $position   done: the change's position; not done: the position of the conflicting change, or -1 if
     *                            nothing is known that far back (treat as a conflict)
     * @param string  $writer     done: writer of the key's previous change, '' if unknown; not done: writer of the
     *                            conflicting change
     * @param int     $previous   done: position of the key's previous change, 0 if unknown
     * @param string  $kind       done: kind of the change that made the previous record, '' if there was none;
     *                            not done: kind of the conflicting change (Change::$kind), '' if unknown
     * @param ?Record $record     not done: the key's record now, null if it has none
     * @param ?string $guard      not done: the guard that conflicts, null if it is the key itself
     * @param int     $step       done: how far the position lies above the journal's previous end
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

    /** The engine cannot keep this value. It has removed the old one, or else the caller must. */
    public static function refused(?Record $record = null): self
    {
        return new self(false, -1, kind: self::REFUSED, record: $record);
    }
}
