<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Plan\Subject;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\Driver;
use Larder\Lab\Subject\EngineSubjects;
use Larder\Lab\Subject\FilesDriver;
use Larder\Lab\Subject\LoopSubjects;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class LoopSubjectsTest extends TestCase
{
    private static ?Services $services = null;
    private static ?TemporaryDirectory $directory = null;

    public static function tearDownAfterClass(): void
    {
        self::$services?->stopAll();
        self::$services = self::$directory = null;
    }

    /** @return iterable<string, array{Subject}> */
    public static function subjects(): iterable
    {
        foreach (LoopSubjects::all() as $subject) {
            yield $subject->name => [$subject];
        }
    }

    public function testTheyAreThePublishedOnesAndLarder(): void
    {
        $names = \array_keys(\iterator_to_array(self::subjects()));

        self::assertSame([
            'redis:socket', 'redis:tcp', 'predis:socket', 'predis:tcp', 'memcached:socket', 'memcached:tcp', 'apcu:process', 'files:process',
            'larder-request:process', 'larder-apcu:process', 'larder-segment:process', 'larder-sqlite:process', 'larder-redis:socket',
        ], $names);
    }

    #[DataProvider('subjects')]
    public function testItIsAnEngineOfTheEnginesWithPlainStrings(Subject $subject): void
    {
        self::assertSame("$subject->engine:$subject->connection", $subject->name);
        self::assertSame('none', $subject->serializer);
        // APCu's serializer is a setting, which strings have nothing to do with.
        self::assertSame($subject->engine === 'apcu' ? 'php' : 'none', $subject->parameters['serializer']);
        $form = \in_array($subject->engine, ['redis', 'predis'], true) ? 'none' : 'php';
        $engine = $subject->engine === 'larder-request' ? 'larder-sqlite' : $subject->engine;
        foreach (EngineSubjects::all() as $other) {
            if ($other->name === "$engine:$subject->connection:$form") {
                self::assertSame([$other->driver, $other->service, $other->compressor, $other->ini], [$subject->driver, $subject->service, $subject->compressor, $subject->ini]);
                self::assertEquals($other->needs, $subject->needs);
                self::assertSame([], \array_diff_key($other->parameters, $subject->parameters));

                return;
            }
        }
        self::fail("There is no engine $engine");
    }

    /** Both loops: over one connection, and with connect, get and close around each get. */
    #[DataProvider('subjects')]
    public function testAStringComesBackInBothLoops(Subject $subject): void
    {
        if (isset($subject->parameters['shared']) && !\extension_loaded('larder')) {
            self::markTestSkipped('The extension is not loaded here: make ext');
        }
        self::assertSame([], $subject->missing(), 'What the tests need is missing');
        $driver = self::driver($subject);
        $driver->connect();
        $driver->write(\array_fill_keys(['lab:0:0:0', 'lab:0:0:1'], 'value 00000042'));
        $driver->begin();
        self::assertSame('value 00000042', $driver->read(['lab:0:0:0', 'lab:0:0:1']));
        $driver->disconnect();

        for ($i = 0; $i < 3; ++$i) {
            $driver->connect();
            self::assertSame('value 00000042', $driver->read(['lab:0:0:1']));
            $driver->disconnect();
        }
    }

    public function testAFileHasTheStringAndNothingElse(): void
    {
        foreach (LoopSubjects::all() as $subject) {
            if ($subject->driver === FilesDriver::class) {
                $driver = self::driver($subject);
                $driver->connect();
                $driver->write(['lab:plain' => 'value 00000042']);
                self::assertSame('value 00000042', \file_get_contents(self::directory($subject) . '/lab:plain'));
            }
        }
    }

    /** As the process that measures makes it. */
    private static function driver(Subject $subject): Driver
    {
        $address = [];
        if ($subject->service !== null) {
            self::$services ??= new Services();
            $address = self::$services->get($subject->service)->address();
        }
        $driver = new ($subject->driver)($address + ['directory' => self::directory($subject)] + (isset($subject->parameters['shared']) ? ['shared' => self::directory($subject) . '-shared'] : []) + $subject->parameters + ['connection' => $subject->connection]);
        self::assertInstanceOf(Driver::class, $driver);

        return $driver;
    }

    private static function directory(Subject $subject): string
    {
        self::$directory ??= new TemporaryDirectory();
        $path = self::$directory->path . '/' . \strtr($subject->name, ':', '-');
        if (!\is_dir($path)) {
            \mkdir($path, 0o700);
        }

        return $path;
    }
}
