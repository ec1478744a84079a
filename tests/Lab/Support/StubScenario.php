<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Support;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;

/** A scenario for tasks that a test makes: the subject "slow" is compared with "base". */
final readonly class StubScenario extends Scenario
{
    public function presentation(): Presentation
    {
        return new Presentation('test', '', 'Test');
    }

    public function subjects(): array
    {
        return [];
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        return [];
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === 'slow' ? 'test/base/short/read/1' : null;
    }
}
