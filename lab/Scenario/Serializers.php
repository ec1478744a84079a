<?php

declare(strict_types=1);

namespace Larder\Lab\Scenario;

use Larder\Lab\Payload\WordPressCorpus;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use Larder\Lab\Subject\SerializerSubjects;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;

/** Time to write, time to read, and size, of each serializer with each compressor: an array, and values like WordPress's. */
final readonly class Serializers implements Scenario
{
    public const NAME = 'serializers';

    private const OPERATIONS = ['write', 'read', 'size'];

    public function name(): string
    {
        return self::NAME;
    }

    public function about(): string
    {
        return 'serialize and unserialize a 50x50 array and values like WordPress\'s, plain and compressed: time and size';
    }

    public function subjects(): array
    {
        return SerializerSubjects::all();
    }

    public function tasks(Scope $scope, array $subjects): array
    {
        $tasks = [];
        foreach ($subjects as $subject) {
            $sides = [];
            foreach (['50x50', ...WordPressCorpus::names()] as $payload) {
                foreach (self::OPERATIONS as $operation) {
                    $unit = $operation === 'size' ? Cell::BYTES : Cell::MICROSECONDS;
                    $sides[] = new Side(new Cell(self::NAME, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, $payload, $operation, 1, $unit), $subject);
                }
            }
            $tasks[] = new ProcessTask(self::NAME . "/$subject->name", $sides, $scope->level === Scope::EVERY ? Effort::full() : Effort::quick());
        }

        return $tasks;
    }

    public function base(Cell $cell): ?string
    {
        return $cell->subject === 'php:none' ? null : \implode('/', [self::NAME, 'php:none', $cell->payload, $cell->operation, 1]);
    }
}
