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
     *                          key is enough
     */
    public function __construct(
        public readonly string $epoch,
        public readonly int $end,
        public readonly string $token,
        public readonly bool $complete,
        public readonly array $list = [],
    ) {}
}
