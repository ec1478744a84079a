<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\JournalIndex;
use Larder\System\Failure;

/**
 * What one writer knows of the log before the part that it reads for a write: what others did there.
 *
 * The log itself reaches back for some thousand positions. A request that has taken all of them itself would find
 * nothing there of what it has to know.
 */
final class Past
{
    private string $epoch = '';
    private string $writer = '';

    /** Everything up to this position is known. */
    private int $to = 0;

    private JournalIndex $known;

    /** What was read for one change, for the others of its batch. */
    private ?Window $older = null;

    public function __construct(private readonly Journal $log)
    {
        $this->known = new JournalIndex(0);
    }

    /** The position after which the writer is to read the log, so that this goes on where it ended. */
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

    /** Takes what a writer has read, as far as nothing is under way there. */
    public function follow(Window $window): void
    {
        if ($window->from > $this->to) {
            $this->begin($window->from);
        }
        foreach ($window->stretches as [$first, $last, $slot]) {
            if ($last <= $this->to) {
                continue;
            }
            if ($slot === null ? $last > $this->log->end : !$slot->final()) {
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

    /** These positions are a writer's own: what was done there is of no interest to it. */
    public function own(string $writer, int $first, int $last): void
    {
        if ($this->to === $first - 1 && $this->writer === $writer) {
            $this->to = $last;
        }
    }

    /**
     * The last change of a key after a position.
     *
     * @param int    $until  up to and with this position; what is known of later ones may be told too
     * @param string $except a writer whose changes do not count; '' counts all
     *
     * @return ?array{int, string, string} position, writer, kind; position -1 where that is not known any more
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
