<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Cache;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** A marker that the store evicts before whoever computed something under it has stored that. */
#[CoversNothing]
#[RequiresPhpExtension('apcu')]
final class ForgottenMarkerTest extends TestCase
{
    /** The fill makes the marker anew, and that hides the invalidation from the store. */
    public function testAnInvalidationCountsThoughItsMarkerIsMadeAnew(): void
    {
        \apcu_clear_cache();
        $reader = Cache::open('apcu://');
        self::assertNull($reader->get('k'));
        self::assertTrue($reader->fill('k', 'before the change', 0, ['t']));
        self::assertTrue(Cache::open('apcu://')->invalidateTags('t'));
        $evicted = 0;
        foreach (new \APCUIterator('/t::t$/') as $item) {
            \assert(\is_array($item) && \is_string($item['key']));
            $evicted += \apcu_delete($item['key']) ? 1 : 0;
        }
        self::assertSame(1, $evicted);
        $reader->commit();
        self::assertNull(Cache::open('apcu://')->get('k'));
    }
}
