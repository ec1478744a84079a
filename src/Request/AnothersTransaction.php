<?php

declare(strict_types=1);

namespace Larder\Request;

/** A call in the middle of a database transaction that another fiber has open over the same object. */
final class AnothersTransaction extends \LogicException
{
    public static function open(): self
    {
        return new self('Another fiber has a transaction open on this cache. This call would join it: it would read what is not committed, and what it'
            . ' changes would go with a roll-back. Call it after the transaction has ended, or give each fiber a cache of its own: $cache->apart().');
    }
}
