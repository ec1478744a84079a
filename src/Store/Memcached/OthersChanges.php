<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Journal\JournalIndex;
use Larder\System\Failure;

/**
 * Others' changes that one writer knows of, before the stretch of the journal that it reads for a write.
 *
 * The journal itself reaches back some thousand positions. A request that has taken all of them itself would find there
 * nothing of what others changed.
 */
final class OthersChanges
{
    private string $epoch = '';
    private string $writer = '';

    /** Others' changes up to this position are known. */
    private int $to = 0;

    private JournalIndex $known;

    /** Slots read for one change, kept for the others of its batch. */
    private ?SlotWindow $older = null;

    public function __construct(private readonly MemcachedJournal $log)
    {
        $this->known = new JournalIndex(0);
    }

    /** The position after which the writer must read the journal to continue what is known here. */
    public function from(string $writer): int
    {
        if ($this->epoch !== $this->log->epoch || ($this->writer !== $writer && $writer !== Healer::WRITER)) {
            $this->begin($this->epoch === $this->log->epoch ? $this->to : $this->log->first);
            $this->epoch = $this->log->epoch;
            $this->writer = $writer;
        }
        if ($this->log->end - $this->to > Slot::KEPT) {
            $this->begin($this->log->end);
        }

        return \min($this->to, $this->log->end);
    }

    /** Adds the changes that a writer has read, up to the first that is still under way. */
    public function follow(SlotWindow $window): void
    {
        if ($window->from > $this->to) {
            $this->begin($window->from);
        }
        foreach ($window->stretches as [$first, $last, $slot]) {
            if ($last <= $this->to) {
                continue;
            }
            if ($slot === null ? $last > $this->log->end : !$slot->final() || $slot->doubtful()) {
                break;
            }
            if ($slot === null || $slot->state === Slot::UNKNOWN) {
                $this->begin($last);
                continue;
            }
            foreach ($slot->entries as $n => [$kind, $writer, $key, $done]) {
                if ($done && $writer !== $this->writer) {
                    $this->known->add($key, $first + $n, $writer, $kind);
                }
            }
            $this->to = $last;
        }
    }

    /** Notes a writer's own positions, whose changes do not count against it. */
    public function own(string $writer, int $first, int $last): void
    {
        if ($this->to === $first - 1 && $this->writer === $writer) {
            $this->to = $last;
        }
    }

    /**
     * The last change of a key after a position.
     *
     * @param int    $until  up to and with this position; a known later change may be returned too
     * @param string $except a writer whose changes do not count; '' counts all
     *
     * @return ?array{int, string, string} position, writer, kind; position -1: no longer known
     *
     * @throws Failure
     */
    public function change(string $key, int $after, int $until, string $except): ?array
    {
        if ($this->to >= $until && $except === $this->writer && $after >= $this->known->floor()) {
            $last = $this->known->find($key);

            return $last === null || $last[0] <= $after ? null : $last;
        }
        if ($until - $after > Slot::KEPT) {
            return [-1, '', ''];
        }
        if ($this->older?->from !== $after || $this->older->to !== $until) {
            $this->older = $this->log->window($after, $until);
        }

        return $this->older->change($key, $after, $except);
    }

    private function begin(int $position): void
    {
        $this->to = $position;
        $this->known = new JournalIndex($position, Slot::KEPT);
        $this->older = null;
    }
}
