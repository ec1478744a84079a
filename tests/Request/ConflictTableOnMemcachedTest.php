<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnMemcached;

final class ConflictTableOnMemcachedTest extends ConflictTableRules
{
    use OnMemcached;

    /** More positions than Memcached's journal has slots, and nobody else writes. */
    public function testOneThatMakesManyMarkersLosesNothing(): void
    {
        $a = $this->cache();
        for ($i = 0; $i < 2_200; $i++) {
            $a->set("k$i", $i, 0, ["t$i"]);
        }
        self::assertSame(0, $a->stats(false)['conflicts']['dropped'] ?? null);
        self::assertSame(2_199, $this->cache()->get('k2199'));
    }
}
