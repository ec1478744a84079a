<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

/** A single endpoint; in chaos, servers that lack the last changes take over behind it, in the middle of its clients' connections. */
#[CoversNothing]
#[Group('slow')]
final class CoherenceOverSingleTest extends CoherenceTestCase
{
    protected function engine(): string
    {
        return 'single';
    }
}
