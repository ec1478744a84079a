<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Worker\Keys;

/** The subjects of the scenario `segment`: what keeps values in this machine's memory. */
final class SegmentSubjects
{
    /**
     * What differs from the settings of `engines`: APCu is told how many keys there will be, as whoever tunes it would
     * do. Its default of 4,096 places makes chains of five of the 20,000 (apc.entries_hint).
     */
    private const INI = ['apc.entries_hint' => 32_768];

    /** Those of `engines` that are measured here too. */
    private const FROM = ['lookup:process:none', 'opcache:process:none', 'apcu:process:php', 'apcu:process:igbinary', 'larder-segment:process:igbinary'];

    /** @return list<Subject> */
    public static function all(): array
    {
        $subjects = [];
        foreach (EngineSubjects::all() as $subject) {
            if (\in_array($subject->name, self::FROM, true)) {
                $subjects[] = self::like($subject, $subject->engine, $subject->driver);
            }
            if ($subject->engine === 'opcache') {
                $subjects[] = self::like($subject, 'include', IncludeDriver::class);
            }
        }

        return [self::segment(), ...$subjects];
    }

    /** @param class-string $driver */
    private static function like(Subject $subject, string $engine, string $driver): Subject
    {
        return $subject->with(
            name: "$engine:$subject->connection:$subject->serializer",
            engine: $engine,
            driver: $driver,
            parameters: ['work' => Keys::MEMORY] + $subject->parameters,
            ini: self::INI + $subject->ini,
        );
    }

    private static function segment(): Subject
    {
        return new Subject(
            'segment:process:none',
            'segment',
            Cell::PROCESS,
            'none',
            'none',
            [LarderExtension::need()],
            SegmentDriver::class,
            ['work' => Keys::MEMORY, 'shared' => 1, 'serializer' => 'none'],
            null,
            LarderExtension::ini() + self::INI + EngineSubjects::ini(),
        );
    }
}
