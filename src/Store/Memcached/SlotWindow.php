<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

/** A stretch of the journal as a process read it: the slots of the positions after `from`, up to and with `to`. */
final class SlotWindow
{
    /** @var list<array{int, int, ?Slot}> first and last position, oldest first; null: the slot is missing */
    public readonly array $stretches;

    /** @param array<string, array{string, string}> $items */
    public function __construct(public readonly int $from, public readonly int $to, array $items, Keys $keys)
    {
        $stretches = [];
        $gap = 0;
        for ($n = $to; $n > $from; $n--) {
            $found = $items[$keys->slot($n)] ?? null;
            $slot = $found === null ? null : Slot::decode($found);
            if ($slot === null || $slot->last !== $n || $slot->first > $n) {
                $gap = $gap === 0 ? $n : $gap;
                continue;
            }
            if ($gap !== 0) {
                $stretches[] = [$n + 1, $gap, null];
                $gap = 0;
            }
            $stretches[] = [$slot->first, $n, $slot];
            $n = $slot->first;
        }
        if ($gap !== 0) {
            $stretches[] = [$from + 1, $gap, null];
        }
        $this->stretches = \array_reverse($stretches);
    }

    /** The last position up to which everything after $from is settled. */
    public function settled(int $from): int
    {
        foreach ($this->stretches as [$first, $last, $slot]) {
            if ($last > $from && ($first > $from + 1 || $slot === null || !$slot->final())) {
                break;
            }
            $from = \max($from, $last);
        }

        return $from;
    }

    /** Whether the slot of any position after $from is missing (not added yet, or evicted), or was guessed. */
    public function gap(int $from): bool
    {
        foreach ($this->stretches as [, $last, $slot]) {
            if (($slot === null || $slot->guessed) && $last > $from) {
                return true;
            }
        }

        return false;
    }

    /** Whether the writer of any position may yet say that it changed nothing there. */
    public function doubt(): bool
    {
        foreach ($this->stretches as [, , $slot]) {
            if ($slot?->doubtful() === true) {
                return true;
            }
        }

        return false;
    }

    /**
     * Whether any slot names one of these keys.
     *
     * @param array<array-key, mixed> $keys
     * @param bool                    $open only slots whose writer may still be at work
     */
    public function names(array $keys, bool $open): bool
    {
        foreach ($this->stretches as [, , $slot]) {
            foreach ($slot === null || ($open && $slot->final()) ? [] : $slot->entries as [, , $key, $done]) {
                if ($done && isset($keys[$key])) {
                    return true;
                }
            }
        }

        return false;
    }

    /**
     * Whether the position that keeps the end back at $settled is so new that its writer is probably at work.
     *
     * @param int $patience milliseconds since it took its positions
     * @param int $gap      milliseconds that this process has waited already for a missing slot
     */
    public function young(int $settled, int $patience, int $gap): bool
    {
        $now = Slot::now();
        $missing = false;
        foreach ($this->stretches as [$first, , $slot]) {
            if ($first <= $settled) {
                continue;
            }
            if ($slot === null) {
                $missing = true;
            } elseif (\abs($now - $slot->time) >= $patience) {
                // Missing slots before it are older still.
                $missing = false;
            } elseif (!$slot->final()) {
                return true;
            }
        }

        return $missing && $gap < $patience / 4;
    }

    /**
     * The last change of a key after a position, made or under way.
     *
     * @param string $except a writer whose changes do not count; '' counts all
     * @param bool   $open   only those under way
     *
     * @return ?array{int, string, string} position, writer, kind; position -1: no longer known
     */
    public function change(string $key, int $after, string $except, bool $open = false): ?array
    {
        for ($i = \count($this->stretches) - 1; $i >= 0; $i--) {
            [$first, $last, $slot] = $this->stretches[$i];
            if ($last <= $after) {
                break;
            }
            if ($slot === null || $slot->guessed || $slot->state === Slot::UNKNOWN) {
                if (!$open || $slot === null || $slot->guessed) {
                    return [-1, '', ''];
                }
                continue;
            }
            if ($open && $slot->final()) {
                continue;
            }
            for ($n = \count($slot->entries) - 1; $n >= 0 && $first + $n > $after; $n--) {
                [$kind, $writer, $name, $done] = $slot->entries[$n];
                if ($done && $name === $key && $writer !== $except) {
                    return [$first + $n, $writer, $kind];
                }
            }
        }

        return null;
    }

    /**
     * All changes after a position, made or under way, oldest first.
     *
     * @return ?list<array{string, int, string, string}> key, position, writer, kind; null: no longer known
     */
    public function changes(int $after, int $settled): ?array
    {
        $list = [];
        foreach ($this->stretches as [$first, $last, $slot]) {
            if ($slot === null && $last > $settled && $first > $settled) {
                // Allocated a moment ago: a reader that reads on from `settled` will find it.
                continue;
            }
            if ($slot === null || $slot->state === Slot::UNKNOWN || ($slot->guessed && $last <= $settled)) {
                return null;
            }
            foreach ($slot->entries as $n => [$kind, $writer, $key, $done]) {
                if ($done && $first + $n > $after) {
                    $list[] = [$key, $first + $n, $writer, $kind];
                }
            }
        }

        return $list;
    }
}
