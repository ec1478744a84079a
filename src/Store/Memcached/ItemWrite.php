<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Change;
use Larder\System\Failure;

/** Writes one change into its item; a large body goes into parts, which are stored before. */
final class ItemWrite
{
    /** True: the server has no room for the parts, so the item tells that the record was removed. */
    public readonly bool $refused;

    private readonly string $type;
    private readonly string $held;

    /** Expiry as memcached takes it, see Item::exptime(). */
    private readonly int $exptime;

    /** @throws Failure */
    public function __construct(
        private readonly Change $change,
        private readonly string $name,
        private readonly Chunks $parts,
        MemcachedJournal $log,
    ) {
        $body = $change->body;
        $now = $change->expiry === 0 ? 0 : $log->now();
        if ($change->expiry !== 0 && $change->expiry <= $now) {
            // The record has expired before it is stored; it still counts as a change.
            $body = null;
        }
        $this->exptime = Item::exptime($change->expiry, $now);
        if ($body !== null && $parts->needed($change->key, $body)) {
            $held = $parts->store($name, $body, $this->exptime);
            $this->refused = $held === null;
            $this->type = $held === null ? Item::REMOVED : Item::PARTS;
            $this->held = $held ?? '';

            return;
        }
        $this->refused = false;
        $this->type = $body === null ? Item::REMOVED : Item::WHOLE;
        $this->held = $body ?? '';
    }

    /** @return int number of the answer in the batch */
    public function add(Batch $batch, Servers $servers, int $position, string $token): int
    {
        $change = $this->change;

        return $batch->store(
            $servers->of($this->name),
            'cas',
            $this->name,
            Item::encode(
                $this->type,
                $this->refused ? 'x' : $change->kind,
                $change->writer,
                $position,
                $change->key,
                $this->held,
                $this->type === Item::REMOVED ? 0 : $change->expiry,
                $change->atomic || !$change->logged,
            ),
            $this->type === Item::REMOVED ? ($change->logged ? Item::REMEMBERED : 1) : $this->exptime,
            $token,
        );
    }

    /**
     * Deletes the parts that no item names any more: those of the old item or, if the write failed, this one's.
     *
     * @throws Failure
     */
    public function clean(bool $stored, ?Item $old): void
    {
        if ($stored && $old !== null && $old->type === Item::PARTS) {
            $this->parts->forget($this->name, $old->body);
        } elseif (!$stored && $this->type === Item::PARTS) {
            $this->parts->forget($this->name, $this->held);
        }
    }
}
