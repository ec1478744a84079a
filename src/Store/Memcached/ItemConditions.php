<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\System\Failure;

/**
 * Decides whether a change may be made at the positions that its writer took, by what the writer read after it announced
 * the change in the journal.
 *
 * CAS decides the order of two changes of one key, so for the key only its item counts, if that tells when the key last
 * changed. Otherwise, and for guards, whose items the writer does not write, the journal decides: a change at a lower
 * position that is still under way may be made after this one, and counts as made.
 */
final class ItemConditions
{
    /**
     * @param int        $position the writer's first position
     * @param SlotWindow $window   the journal up to it
     */
    public function __construct(
        private readonly MemcachedJournal $log,
        private readonly OthersChanges $past,
        private readonly Chunks $parts,
        private readonly int $position,
        private readonly SlotWindow $window,
    ) {}

    /**
     * @param array<array-key, ?Item> $items by key: the change's own and its guards'
     *
     * @return ?ChangeResult the conflict; null: the change may be made
     *
     * @throws Failure
     */
    public function conflict(Change $change, array $items): ?ChangeResult
    {
        $own = $items[$change->key] ?? null;
        if (!$change->isOf($this->log->epoch)) {
            return new ChangeResult(false, -1, record: $this->parts->record($own));
        }
        if ($own !== null && $own->held() && !$change->strict && $change->logged) {
            return new ChangeResult(false, $own->position, $own->writer, 0, $own->kind, $this->parts->record($own));
        }
        $found = $this->changed($change->key, $change->limit, $change->strict ? '' : $change->writer, $own, false);
        $guard = null;
        if ($found === null) {
            foreach ($change->guards as $name => $limit) {
                $name = (string) $name;
                $item = $items[$name] ?? null;
                $found = $this->changed($name, $limit, $change->writer, $item, true) ?? ($change->atomic ? $this->underWay($name, $item) : null);
                if ($found !== null) {
                    $guard = $name;
                    break;
                }
            }
        }

        return $found === null ? null : new ChangeResult(false, $found[0], $found[1], 0, $found[2], $this->parts->record($own), $guard);
    }

    /**
     * Whether a guard may yet get a higher position by a change that has begun, also one of the same writer: a call around
     * this one, or one that an exception has ended. The change would invalidate a counter or a lock that others rely on.
     *
     * @return ?array{int, string, string} as changed()
     */
    private function underWay(string $guard, ?Item $item): ?array
    {
        // The process that finds the marker missing makes it anew.
        return $item?->live() !== true ? [-1, '', ''] : $this->window->change($guard, \max($item->position, $this->log->end), '', true);
    }

    /** @return ?array{int, string, string} position, writer and kind of the conflicting change */
    private function changed(string $key, int $limit, string $except, ?Item $item, bool $guard): ?array
    {
        if ($limit === Change::ALWAYS) {
            return null;
        }
        if ($limit === 0) {
            $limit = $this->log->start;
        } elseif ($limit >= $this->position || $this->log->foreign($limit)) {
            // The limit may be a position of another epoch.
            return [-1, '', ''];
        }
        if ($item !== null && $item->known()) {
            if ($item->position > $limit && $item->writer !== $except) {
                return [$item->position, $item->writer, $item->kind];
            }

            return $guard ? $this->window->change($key, \max($limit, $this->log->end), $except, true) : null;
        }

        return $this->window->change($key, $limit, $except)
            ?? ($limit < $this->window->from ? $this->past->change($key, $limit, $this->window->from, $except) : null);
    }
}
