<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Store\Change;
use Larder\Store\Outcome;
use Larder\System\Failure;

/**
 * Whether a change may be made at the positions that its writer took, by what was read after it said so in the log.
 *
 * The order of two changes of one key is decided by CAS, so nothing but its item counts for it, if that knows when
 * the key last changed. Otherwise, and for guards, whose items the writer does not touch, the log decides: a change
 * at a lower position that is still under way may be made after this one, and counts as made.
 */
final class WriteConditions
{
    /**
     * @param int    $position the writer's first
     * @param Window $window   the log up to that
     */
    public function __construct(
        private readonly Journal $log,
        private readonly Past $past,
        private readonly Parts $parts,
        private readonly int $position,
        private readonly Window $window,
    ) {}

    /**
     * @param array<array-key, ?Item> $items by key: the change's own and its guards'
     *
     * @return ?Outcome null: it may be made; else why not
     *
     * @throws Failure
     */
    public function conflict(Change $change, array $items): ?Outcome
    {
        $own = $items[$change->key] ?? null;
        if (!$change->isOf($this->log->epoch)) {
            return new Outcome(false, -1, record: $this->parts->record($own));
        }
        if ($own !== null && $own->held() && !$change->strict && $change->logged) {
            return new Outcome(false, $own->position, $own->writer, 0, $own->kind, $this->parts->record($own));
        }
        $found = $this->changed($change->key, $change->limit, $change->strict ? '' : $change->writer, $own, false);
        $guard = null;
        if ($found === null) {
            foreach ($change->guards as $name => $limit) {
                $name = (string) $name;
                $found = $this->changed($name, $limit, $change->writer, $items[$name] ?? null, true);
                if ($found !== null) {
                    $guard = $name;
                    break;
                }
            }
        }

        return $found === null ? null : new Outcome(false, $found[0], $found[1], 0, $found[2], $this->parts->record($own), $guard);
    }

    /** @return ?array{int, string, string} position, writer and kind of the change in the way */
    private function changed(string $key, int $limit, string $except, ?Item $item, bool $guard): ?array
    {
        if ($limit === Change::ALWAYS) {
            return null;
        }
        if ($limit === 0) {
            $limit = $this->log->start;
        } elseif ($limit >= $this->position || $this->log->foreign($limit)) {
            // Not a position of this epoch.
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
