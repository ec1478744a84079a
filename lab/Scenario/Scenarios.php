<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Plan\Scenario;
use Larder\Lab\Web\Stand;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\Stage;

/** All that there are; a new one is a file of this folder and a line here. */
final class Scenarios
{
    /** Not in the representative part that is measured where nothing is asked for: they bring up whole sites and web servers, or last long. */
    public const LARGE = [Transients::NAME, Catalog::NAME, Fpm::NAME, Requests::NAME, Pages::NAME, Counters::NAME, Queues::NAME, Laravel::NAME, Instructions::NAME];

    /** @return non-empty-array<string, Scenario> by name, in the order in which they are listed and reported */
    public static function all(Choice $wordpress = new Choice()): array
    {
        $scenarios = [];
        $stage = new Stage($wordpress);
        $web = new Stand();
        foreach ([new Engines(), new Serializers(), new Loop(), new Segment(), new Transients($wordpress, $stage), new Catalog($wordpress, $stage), new Fpm($web), new Requests($web), new Pages($web), new Counters($web), new Queues($web), new Laravel($web), new Instructions()] as $scenario) {
            $scenarios[$scenario->presentation()->name] = $scenario;
        }

        return $scenarios;
    }
}
