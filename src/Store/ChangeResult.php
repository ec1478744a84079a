<?php

declare(strict_types=1);

namespace Larder\Store;

/** The result of one Change. */
final class ChangeResult
{
    /** Kind of a change that the engine refuses: the value is too large, or there is no room for it. */
    public const REFUSED = 'r';

    // No code changes these properties. They are plain ones for the reason that Record gives.
    public bool $done = false;

    /**
     * Done: the change's position; not done: the position of the conflicting change, or -1 if nothing is known that far back
     * (treat as a conflict).
     */
    public int $position = 0;

    /** Done: writer of the key's previous change, '' if unknown; not done: writer of the conflicting change. */
    public string $writer = '';

    /** Done: position of the key's previous change, 0 if unknown. */
    public int $previous = 0;

    /**
     * Done: kind of the change that made the previous record, '' if there was none or it is unknown; not done: kind of the conflicting change
     * (Change::$kind), '' if unknown.
     */
    public string $kind = '';

    /** Not done: the key's record now, null if it has none. */
    public ?Record $record = null;

    /** Not done: the guard that conflicts, null if it is the key itself. */
    public ?string $guard = null;

    /** Done: how far the position lies above the journal's previous end. */
    public int $step = 1;

    public function __construct(bool $done, int $position, string $writer = '', int $previous = 0, string $kind = '', ?Record $record = null, ?string $guard = null, int $step = 1)
    {
        $this->done = $done;
        $this->position = $position;
        $this->writer = $writer;
        $this->previous = $previous;
        $this->kind = $kind;
        $this->record = $record;
        $this->guard = $guard;
        $this->step = $step;
    }

    /** The engine cannot keep this value. It has removed the old one, or else the caller must. */
    public static function refused(?Record $record = null): self
    {
        return new self(false, -1, kind: self::REFUSED, record: $record);
    }
}
