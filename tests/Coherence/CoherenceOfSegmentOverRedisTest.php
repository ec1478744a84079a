<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;

#[CoversNothing]
final class CoherenceOfSegmentOverRedisTest extends CoherenceTestCase
{
    protected function engine(): string
    {
        return 'redis';
    }

    protected function near(): string
    {
        return Experiment::SEGMENT;
    }
}
