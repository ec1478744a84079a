<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\Retry;
use PHPUnit\Framework\TestCase;

final class RetryTest extends TestCase
{
    public function testPausesGrowAndDifferAndHaveAnEnd(): void
    {
        $retry = new Retry(5, 1_000, 60_000);
        $before = 0;
        foreach ([1 => 1_000, 2 => 2_000, 3 => 4_000, 6 => 32_000, 7 => 60_000, 100 => 60_000, \PHP_INT_MAX => 60_000] as $attempts => $least) {
            $pauses = \array_map(static fn(): int => $retry->pause($attempts), \range(1, 50));
            self::assertGreaterThanOrEqual($least, \min($pauses));
            self::assertLessThanOrEqual(1.2 * $least, \max($pauses));
            self::assertGreaterThan(1, \count(\array_unique($pauses)), 'What failed together does not come back together.');
            self::assertGreaterThanOrEqual($before, $least);
            $before = $least;
        }
    }
}
