<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Scenario;

/** All that there are; a new one is a file of this folder and a line here. */
final class Scenarios
{
    /** @return non-empty-array<string, Scenario> by name, in the order in which they are listed and reported */
    public static function all(): array
    {
        $scenarios = [];
        foreach ([new Engines(), new Serializers(), new Loop(), new Segment()] as $scenario) {
            $scenarios[$scenario->name()] = $scenario;
        }

        return $scenarios;
    }
}
