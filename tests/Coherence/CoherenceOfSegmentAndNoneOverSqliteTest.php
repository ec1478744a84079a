<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;

#[CoversNothing]
final class CoherenceOfSegmentAndNoneOverSqliteTest extends StormTestCase
{
    protected function near(): string
    {
        return Experiment::SEGMENT_AND_NONE;
    }
}
