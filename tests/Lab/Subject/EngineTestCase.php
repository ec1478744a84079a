<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\Driver;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

/** Drivers of real engines: a class starts each server once. */
abstract class EngineTestCase extends TestCase
{
    protected TemporaryDirectory $directory;
    private static ?Services $services = null;

    final public static function tearDownAfterClass(): void
    {
        self::$services?->stopAll();
        self::$services = null;
    }

    final protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-l');
    }

    final protected function driver(Subject $subject, ?Services $services = null): Driver
    {
        $driver = new ($subject->driver)($this->parameters($subject, $services));
        self::assertInstanceOf(Driver::class, $driver);

        return $driver;
    }

    /**
     * As the process that measures is given them; skips the test where something is missing.
     *
     * @return array<string, string|int>
     */
    final protected function parameters(Subject $subject, ?Services $services = null): array
    {
        foreach ($subject->missing() as $need) {
            self::markTestSkipped("$need->what is needed: $need->advice");
        }

        return self::address($subject, $services)
            + (isset($subject->parameters['shared']) ? ['shared' => $this->directory->file('shared')] : [])
            + $subject->parameters
            + ['connection' => $subject->connection, 'directory' => $this->directory->path];
    }

    /** @return array<string, string|int> */
    final protected static function address(Subject $subject, ?Services $services): array
    {
        return $subject->service === null ? [] : ($services ?? self::$services ??= new Services())->get($subject->service)->address();
    }
}
