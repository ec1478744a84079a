<?php

declare(strict_types=1);

namespace Larder\Store\Journal;

/**
 * Remembers how far changes have been forgotten: the position of the newest forgotten change, and of the newest one by
 * any other writer.
 *
 * Two positions are enough to keep a writer's own forgotten changes from counting against it, however many there are.
 */
final class JournalHorizon
{
    /** Position of the newest forgotten change by any writer but $writer. */
    private int $others;
    private string $writer = '';

    /** @param int $position the changes up to it are unknown */
    public function __construct(private int $position)
    {
        $this->others = $position;
    }

    public function add(int $position, string $writer): void
    {
        if ($writer === $this->writer) {
            $this->position = \max($this->position, $position);
        } elseif ($position > $this->position) {
            $this->others = $this->position;
            [$this->position, $this->writer] = [$position, $writer];
        } else {
            $this->others = \max($this->others, $position);
        }
    }

    /** The writer of the newest forgotten change. */
    public function writer(): string
    {
        return $this->writer;
    }

    /**
     * @param ?string $writer whose changes do not count; null: all count
     *
     * @return int every change after it is known
     */
    public function last(?string $writer): int
    {
        return $writer !== null && $writer === $this->writer ? $this->others : $this->position;
    }
}
