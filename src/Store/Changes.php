<?php

declare(strict_types=1);

namespace Larder\Store;

/** What changed since somebody last looked. */
final class Changes
{
    /**
     * @param string $epoch
     * @param int    $end       position of the log's end now: all of it is readable
     * @param string $token     give it back with the next since(): lets an engine see cheaply that nothing changed
     * @param bool   $complete  false: older changes are no longer known, or the epoch is another; $list is then empty
     * @param list<array{string, int, string, string}> $list  key, position, writer, kind; oldest first; the last change a
     *                          key is enough. May go on after $end: changes that are made, after one that is not
     *                          settled yet (its writer is at work, or dead)
     */
    public function __construct(
        public readonly string $epoch,
        public readonly int $end,
        public readonly string $token,
        public readonly bool $complete,
        public readonly array $list = [],
    ) {}

    /** Position of the newest change listed after the end; 0 if there is none. */
    public function ahead(): int
    {
        $last = $this->list === [] ? 0 : $this->list[\count($this->list) - 1][1];

        return $last > $this->end ? $last : 0;
    }

    /** Whether who has followed the log up to there has anything left to learn from this. */
    public function news(string $epoch, int $position): bool
    {
        $known = $epoch === $this->epoch && ($position > $this->end || ($position === $this->end && $this->complete));

        return !$known || $this->ahead() > $position;
    }
}
