<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Web;

use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Context;
use Larder\Lab\Service\Services;
use Larder\Lab\Web\Stand;
use PHPUnit\Framework\TestCase;

/** Subjects on real web servers. */
abstract class WebTestCase extends TestCase
{
    protected Context $context;
    protected Stand $stand;
    private Services $services;

    final protected function setUp(): void
    {
        $this->services = new Services();
        $this->context = new Context($this->services, $this->services->directory()->path, 1);
        $this->stand = new Stand();
    }

    final protected function tearDown(): void
    {
        $this->services->stopAll();
    }

    final protected static function subject(Scenario $scenario, string $engine): Subject
    {
        foreach ($scenario->subjects() as $subject) {
            if ($subject->engine === $engine) {
                return $subject;
            }
        }
        self::fail("There is no subject $engine.");
    }
}
