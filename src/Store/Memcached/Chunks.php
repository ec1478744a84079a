<?php

declare(strict_types=1);

namespace Larder\Store\Memcached;

use Larder\Driver\Memcached\Batch;
use Larder\Driver\Memcached\Servers;
use Larder\Store\Record;
use Larder\System\Failure;

/**
 * Reads the records in items, and stores bodies beyond the megabyte that one item can hold. Such a body is stored in parts
 * under a random name, on the record's server, before the record, which then holds "name count length checksum". Parts are
 * never overwritten; a missing (evicted) or wrong part makes the whole record a miss.
 *
 * A server takes any number of parts, and may evict the first for the last. So a body is refused if it would take more than
 * half of the server's memory, or if some part is missing when the last has been stored.
 */
final class Chunks
{
    /** Bytes of the largest item that memcached takes by default (memcached: -I 1m), less some for header and key. */
    private const ITEM = 1_000_000;

    /** Bytes of a part: it fits into one chunk of a slab page (memcached: slab_chunk_max), so that memcached joins none. */
    private const PART = 480_000;

    /** @var array<int, int> bytes of the largest body by server */
    private array $largest = [];

    public function __construct(private readonly Servers $servers, private readonly Keys $keys, private readonly ServerClock $clock) {}

    public function needed(string $key, string $body): bool
    {
        return \strlen($body) + \strlen($key) + 300 > self::ITEM;
    }

    /**
     * Stores a body.
     *
     * @param string $record the name of the record's item
     *
     * @return ?string what the record must hold; null: the server refused a part, or evicted it
     *
     * @throws Failure
     */
    public function store(string $record, string $body, int $exptime): ?string
    {
        $id = \bin2hex(\random_bytes(8));
        $server = $this->servers->of($record);
        $size = \strlen($body);
        if ($size > ($this->largest[$server] ??= $this->half($server))) {
            return null;
        }
        $count = 0;
        for ($at = 0; $at < $size; $at += self::PART) {
            $batch = new Batch($this->servers);
            $n = $batch->store($server, 'set', $this->keys->part($id, $count), \substr($body, $at, self::PART), $exptime);
            $batch->run();
            $count++;
            if ($batch->replies[$n] !== 'STORED') {
                $this->forget($record, "$id $count");

                return null;
            }
        }
        $batch = new Batch($this->servers);
        for ($i = 0; $i < $count; $i++) {
            $batch->touch($server, $this->keys->part($id, $i), $exptime);
        }
        $batch->run();
        if (\in_array('NOT_FOUND', $batch->replies, true)) {
            $this->forget($record, "$id $count");

            return null;
        }

        return "$id $count $size " . \hash('xxh128', $body);
    }

    /**
     * The record of an item; null: it has none, or a part of its body is missing.
     *
     * @throws Failure
     */
    public function record(?Item $item): ?Record
    {
        $body = $item === null || !$item->live() ? null : $this->whole($item);
        if ($item === null || $body === null) {
            return null;
        }
        if ($item->stands) {
            $this->clock->stands($item->expiry);
        }

        return new Record($body, $item->position, $item->writer);
    }

    /** @throws Failure */
    private function whole(Item $item): ?string
    {
        if ($item->type !== Item::PARTS) {
            return $item->body;
        }
        $words = \explode(' ', $item->body);
        if (\count($words) !== 4) {
            return null;
        }
        [$id, $count, $size, $sum] = $words;
        $names = [];
        for ($i = 0; $i < (int) $count; $i++) {
            $names[] = $this->keys->part($id, $i);
        }
        $batch = new Batch($this->servers);
        $batch->gets($this->servers->of($this->keys->record($item->key)), $names);
        $batch->run();
        $body = '';
        foreach ($names as $name) {
            $body .= $batch->items[$name][0] ?? '';
        }

        return \strlen($body) === (int) $size && \hash('xxh128', $body) === $sum ? $body : null;
    }

    /**
     * Deletes the parts that a record named, or was to name.
     *
     * @throws Failure
     */
    public function forget(string $record, string $held): void
    {
        $words = \explode(' ', $held);
        $batch = new Batch($this->servers);
        for ($i = 0; $i < (int) ($words[1] ?? 0); $i++) {
            $batch->forget($this->servers->of($record), $this->keys->part($words[0], $i));
        }
        $batch->run();
    }

    /** Half of a server's memory, in bytes; no limit if the server does not tell. */
    private function half(int $server): int
    {
        $batch = new Batch($this->servers);
        $batch->stats($server);
        $batch->run();

        return \intdiv((int) ($batch->stats['limit_maxbytes'] ?? 0) ?: \PHP_INT_MAX, 2);
    }
}
