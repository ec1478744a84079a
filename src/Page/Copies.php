<?php

declare(strict_types=1);

namespace Larder\Page;

/**
 * Local copies of stored pages, where Serve reads them, each under a name (Serve::name()). They keep a budget.
 *
 * The names' first digit divides them into shards. Who changes a shard holds its lock, a file that is the same for all kinds.
 *
 * @phpstan-import-type Copy from Serve
 */
interface Copies
{
    /** Shards: each has its part of the budget. */
    public const SHARDS = 16;

    /**
     * @param resource     $lock  of the name's shard
     * @param Copy         $copy
     * @param list<string> $ready what Serve::ready() has made of it
     * @param string       $body  all forms of the page
     * @param int          $life  seconds for which it can be of use
     */
    public function put(mixed $lock, string $name, array $copy, array $ready, string $body, int $life): void;

    /** The caller holds the lock of the name's shard. */
    public function drop(string $name): void;

    /** The purge counter's value in the copy of a key; null: there is no copy that can be read. */
    public function counter(string $name, string $key): ?int;

    /** Drops all. No process may be putting any meanwhile. */
    public function wipe(): void;
}
