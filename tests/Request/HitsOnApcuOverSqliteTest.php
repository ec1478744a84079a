<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Tests\Psr\Engine\OnApcuOverSqlite;

final class HitsOnApcuOverSqliteTest extends Hits
{
    use OnApcuOverSqlite;

    public function testARequestThatFindsAllNearCallsNoStore(): void
    {
        $this->cache()->set('k', 'v');
        $this->cache()->get('k');
        $cache = $this->cache();
        self::assertSame('v', $cache->get('k'));
        self::assertSame(0, $cache->stats(false)['disk']['calls'] ?? null);
        $this->cache()->set('k', 'w');
        $cache = $this->cache();
        self::assertSame('w', $cache->get('k'));
        self::assertNotSame(0, $cache->stats(false)['disk']['calls'] ?? null);
    }
}
