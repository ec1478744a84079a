<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;

/**
 * Processes with the extension and processes without it share one directory of SQLite's, in a storm. How many calls the
 * long form makes is in COHERENCE_OPERATIONS; 200,000 if nothing is.
 */
#[CoversNothing]
abstract class StormTestCase extends CoherenceTestCase
{
    protected function engine(): string
    {
        return 'sqlite';
    }

    public function testKeepsItsPromisesInAStorm(): void
    {
        $this->storm(1_000);
    }

    #[Group('long')]
    public function testKeepsItsPromisesInALongStorm(): void
    {
        $this->storm((int) (\getenv('COHERENCE_OPERATIONS') ?: 200_000));
    }

    private function storm(int $operations): void
    {
        $this->keeps(new Experiment($this->engine(), $operations, \random_int(1, 1_000_000), true, near: $this->near(), storm: true), 10);
    }
}
