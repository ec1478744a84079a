<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use PHPUnit\Framework\Attributes\Group;

/** Redis by Predis. */
#[Group('long')]
final class PredisServerTest extends ServerFaults
{
    protected const SCHEME = 'predis';
}
