<?php

declare(strict_types=1);

namespace Larder\Lab\WordPress;

/** What a page did in its object cache. */
final readonly class Timing
{
    /**
     * @param float $microseconds inside wp_cache_*, the watch's own cost taken off
     * @param int   $calls        of these functions, those that another of them made left out
     * @param int   $reads        keys that were asked for
     * @param int   $queries      SQL
     * @param ?int  $below        calls of Larder's tiers, as it counts them; null for another's cache
     * @param bool  $near         whether Larder has a near tier
     */
    public function __construct(
        public float $microseconds,
        public int $calls,
        public int $reads,
        public int $queries,
        public ?int $below,
        public bool $near,
    ) {}
}
