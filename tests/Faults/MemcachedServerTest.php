<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use PHPUnit\Framework\Attributes\Group;

/** Memcached. */
#[Group('long')]
final class MemcachedServerTest extends ServerFaults
{
    protected const SCHEME = 'memcached';

    /**
     * Memcached reads on where it stopped, and may find the beginning of a write whose process has given up. Until that
     * is closed, after five seconds (Store\Memcached\Slot), it counts as somebody else's change.
     */
    protected function settle(): void
    {
        // The five seconds count from when it is first seen, and its end from when it is looked at again. What lies in
        // sockets that were given up may be read after what comes by another.
        self::rest(0.3);
        $this->open($this->server->options())->get('anything');
        self::rest(6.0);
        $this->open($this->server->options())->get('anything');
    }
}
