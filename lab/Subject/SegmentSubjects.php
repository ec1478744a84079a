<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Worker\MemoryBench;

/** The subjects of the scenario `segment`: what keeps values in this machine's memory. */
final class SegmentSubjects
{
    /**
     * What differs from the settings of `engines`: APCu is told how many keys there will be, as whoever tunes it would
     * do. Its default of 4,096 places makes chains of five of the 20,000 (apc.entries_hint).
     */
    private const INI = ['apc.entries_hint' => 32_768];

    /** The subject of `engines` => what it is measured by here. */
    private const FROM = [
        'lookup:process:none' => LookupDriver::class,
        'opcache:process:none' => IncludeDriver::class,
        'apcu:process:php' => ApcuDriver::class,
        'apcu:process:igbinary' => ApcuDriver::class,
        'larder-segment:process:igbinary' => LarderDriver::class,
    ];

    /** @return list<Subject> */
    public static function all(): array
    {
        $subjects = [];
        foreach (EngineSubjects::all() as $subject) {
            if (isset(self::FROM[$subject->name])) {
                $subjects[] = new Subject(
                    $subject->name,
                    $subject->engine,
                    $subject->connection,
                    $subject->serializer,
                    $subject->compressor,
                    $subject->needs,
                    self::FROM[$subject->name],
                    ['work' => MemoryBench::NAME] + $subject->parameters,
                    $subject->service,
                    self::INI + $subject->ini,
                );
            }
        }

        return [self::segment(), ...$subjects];
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
            ['work' => MemoryBench::NAME, 'shared' => 1, 'serializer' => 'none'],
            null,
            LarderExtension::ini() + self::INI + EngineSubjects::ini(),
        );
    }
}
