<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Payload\Recording;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Run\Again;
use Larder\Lab\Run\Once;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Subject\SegmentFormDriver;
use Larder\Lab\Subject\SerializerDriver;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\Population;
use Larder\Lab\Worker\ProcessTask;

/** Time to write, time to read, and size, of each serializer with each compressor: an array, objects of a real site's object cache, and the sizes of all of them. */
final readonly class Serializers extends Scenario
{
    public const NAME = 'serializers';

    private const BASE = 'php:none';

    /** Of a sample: the largest objects take milliseconds to compress. */
    private const TIMES = 10;

    private const OPERATIONS = ['write', 'read', 'size'];

    private const SERIALIZERS = ['php', 'igbinary', 'msgpack'];
    private const COMPRESSORS = ['none', 'gzdeflate', 'zstd', 'lz4'];

    /** The extensions' own defaults, in case a php.ini says otherwise; the second is what objects come back by. */
    private const INI = [
        'memory_limit' => '1G',
        'display_errors' => 'stderr',
        'opcache.enable' => 1,
        'opcache.enable_cli' => 1,
        'igbinary.compact_strings' => 1,
        'msgpack.php_only' => 1,
    ];

    public function presentation(): Presentation
    {
        return new Presentation(
            self::NAME,
            'serialize and unserialize a 50x50 array and objects of a real WordPress\'s cache, plain and compressed: time and size; the sizes of all of its objects',
            'Serializers',
            sideBySide: true,
            operations: ['size' => 'size of %s'],
            populations: [Population::NAME],
            payloads: [
                Population::NAME => 'all objects of the recorded cache', 'alloptions' => 'all options', 'post' => 'a post', 'meta' => 'a post\'s metadata',
                'terms' => 'a list of terms', 'feed' => 'a feed',
            ],
        );
    }

    public function subjects(): array
    {
        $subjects = [];
        foreach (self::SERIALIZERS as $serializer) {
            foreach (self::COMPRESSORS as $compressor) {
                $subjects[] = new Subject(
                    "$serializer:$compressor",
                    $serializer,
                    Cell::PROCESS,
                    $serializer,
                    $compressor,
                    SerializerDriver::needs($serializer, $compressor),
                    SerializerDriver::class,
                    ['serializer' => $serializer, 'compressor' => $compressor],
                    null,
                    self::INI,
                );
            }
        }

        $subjects[] = new Subject(
            'segment:none',
            'segment',
            Cell::PROCESS,
            'segment',
            'none',
            [LarderExtension::need()],
            SegmentFormDriver::class,
            ['serializer' => 'none', 'shared' => 1],
            null,
            LarderExtension::ini() + self::INI,
        );

        return $subjects;
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            $side = static fn(string $payload, string $operation): Side => Side::of(self::NAME, $subject, $payload, $operation, unit: $operation === 'size' ? Cell::BYTES : Cell::MICROSECONDS);
            $sides = [];
            foreach (['50x50', ...Recording::NAMES] as $payload) {
                foreach (self::OPERATIONS as $operation) {
                    $sides[] = $side($payload, $operation);
                }
            }
            $tasks[] = $task = new ProcessTask(self::NAME . "/$subject->name", $sides, $scope->level === Scope::EVERY ? Effort::full(self::TIMES) : Effort::quick(self::TIMES));
            \array_push($tasks, ...$subject->name === self::BASE ? Again::of($task, '50x50', 'read') : []);
            $population = new ProcessTask(self::NAME . "/$subject->name/" . Population::NAME, [$side(Population::NAME, 'size')], Effort::quick());
            $tasks[] = new Once($population);
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === self::BASE || $cell->payload === Population::NAME ? null : $cell->idOf(self::BASE);
    }
}
