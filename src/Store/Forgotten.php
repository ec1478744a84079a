<?php

declare(strict_types=1);

namespace Larder\Store;

/**
 * How far back changes have been forgotten: the newest forgotten one, and the newest by anybody but its writer.
 *
 * Two positions are enough, so that a writer's own changes never count against it, however many of them it has made
 * and others have forgotten.
 */
final class Forgotten
{
    /** By anybody but $writer. */
    private int $others;
    private string $writer = '';

    /** @param int $position nothing is known of the changes up to there */
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

    /** Who made the newest one. */
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
