<?php

declare(strict_types=1);

namespace Larder;

/** What a computation of Cache::remember() says of its value. */
final class Computation
{
    /** @param list<string> $tags */
    public function __construct(public int $ttl, public array $tags, public int $soft) {}
}
