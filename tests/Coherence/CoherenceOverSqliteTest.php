<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

#[CoversNothing]
final class CoherenceOverSqliteTest extends CoherenceTestCase
{
    protected function engine(): string
    {
        return 'sqlite';
    }

    #[DataProvider('loops')]
    #[Group('slow')]
    public function testKeepsItsPromisesInALoopForAMoment(string $loop): void
    {
        $this->keeps(new Experiment($this->engine(), 3_000, \random_int(1, 1_000_000), near: $this->near(), loop: $loop));
    }
}
