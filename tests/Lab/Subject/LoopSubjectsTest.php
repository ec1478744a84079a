<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Subject;

use Larder\Lab\Scenario\Loop;
use Larder\Lab\Subject\EngineSubjects;
use PHPUnit\Framework\TestCase;

final class LoopSubjectsTest extends TestCase
{
    public function testTheyAreThePublishedOnesAndLarderEachAnEngineOfTheEnginesWithPlainStrings(): void
    {
        $engines = \array_column(EngineSubjects::all(), null, 'name');
        $names = [];
        foreach ((new Loop())->subjects() as $subject) {
            $names[] = $subject->name;
            $form = \in_array($subject->engine, ['redis', 'predis'], true) ? 'none' : 'php';
            $engine = $subject->engine === 'larder-request' ? 'larder-sqlite' : $subject->engine;
            $other = $engines["$engine:$subject->connection:$form"];
            self::assertSame(["$subject->engine:$subject->connection", 'none'], [$subject->name, $subject->serializer]);
            self::assertEquals([$other->driver, $other->service, $other->compressor, $other->ini, $other->needs], [$subject->driver, $subject->service, $subject->compressor, $subject->ini, $subject->needs]);
            self::assertSame([], \array_diff_key($other->parameters, $subject->parameters));
            // APCu's serializer is a setting, which strings have nothing to do with.
            self::assertSame($subject->engine === 'apcu' ? 'php' : 'none', $subject->parameters['serializer']);
        }
        self::assertSame([
            'redis:socket', 'redis:tcp', 'predis:socket', 'predis:tcp', 'memcached:socket', 'memcached:tcp', 'apcu:process', 'files:process',
            'larder-request:process', 'larder-apcu:process', 'larder-segment:process', 'larder-sqlite:process', 'larder-redis:socket',
        ], $names);
    }
}
