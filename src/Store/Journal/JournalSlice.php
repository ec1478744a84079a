<?php

declare(strict_types=1);

namespace Larder\Store\Journal;

/** The answer of Store::since(): what changed after a position. */
final class JournalSlice
{
    /**
     * @param string $epoch
     * @param int    $end       position of the journal's end: the records of every change up to it can be read
     * @param string $token     pass it to the next since(): by it an engine finds cheaply that nothing changed
     * @param bool   $complete  false: older changes are no longer known, or the epoch is a new one; $list is then empty
     * @param list<array{string, int, string, string}> $list  key, position, writer, kind; oldest first; at least the last
     *                          change of each key. May contain finished changes beyond $end, if one before them is not
     *                          settled yet (its writer is at work, or dead)
     */
    public function __construct(
        public readonly string $epoch,
        public readonly int $end,
        public readonly string $token,
        public readonly bool $complete,
        public readonly array $list = [],
    ) {}

    /** Position of the newest change listed beyond the end; 0: none. */
    public function ahead(): int
    {
        $last = $this->list === [] ? 0 : $this->list[\count($this->list) - 1][1];

        return $last > $this->end ? $last : 0;
    }

    /** Whether a reader that has followed the journal to this position learns anything new from this answer. */
    public function news(string $epoch, int $position): bool
    {
        $known = $epoch === $this->epoch && ($position > $this->end || ($position === $this->end && $this->complete));

        return !$known || $this->ahead() > $position;
    }
}
