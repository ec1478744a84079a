<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\Memory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

#[CoversClass(Memory::class)]
final class MemoryTest extends TestCase
{
    // Seen to fail: a page of 4 MB was taken for one that fits, and ended the process.
    public function testHolesDoNotCount(): void
    {
        $pieces = [];
        for ($i = 0; $i < 100_000; $i++) {
            $pieces[] = \str_repeat('x', 200);
        }
        for ($i = 0; $i < 100_000; $i++) {
            if ($i % 50 !== 0) {
                unset($pieces[$i]);
            }
        }
        $before = (string) \ini_get('memory_limit');
        $limit = \memory_get_usage(true) + (8 << 20);
        \ini_set('memory_limit', (string) $limit);
        try {
            self::assertGreaterThan(8 << 20, $limit - \memory_get_usage(), 'there are holes');
            self::assertLessThanOrEqual(8 << 20, Memory::left());
        } finally {
            \ini_set('memory_limit', $before);
        }
        self::assertCount(2_000, $pieces);
    }
}
