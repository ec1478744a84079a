<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Worker;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Side;
use Larder\Lab\Worker\Effort;
use Larder\Lab\Worker\ProcessTask;
use Larder\Tests\Lab\Support\CheatingDriver;
use Larder\Tests\Lab\Support\Tasks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('slow')]
final class CheatsTest extends TestCase
{
    /** @return iterable<string, array{string, string, string, int<1, max>}> */
    public static function cheats(): iterable
    {
        foreach ([1, 3] as $processes) {
            foreach ([
                [CheatingDriver::KEEPS_THREE, 'short', 'read'],
                [CheatingDriver::FALSE_IN_TIME, 'short', 'read'],
                [CheatingDriver::STRINGS, 'integers', 'read'],
                [CheatingDriver::ANOTHER_KEY, 'short', 'read'],
                [CheatingDriver::STOPS_WRITING, 'short', 'write'],
                [CheatingDriver::OF_THE_PROCESS_BEFORE, 'short', 'read'],
            ] as [$cheat, $payload, $operation]) {
                yield "$cheat, $processes" => [$cheat, $payload, $operation, $processes];
            }
        }
    }

    /**
     * A whole run, of two rounds. Seen to fail, all of them: three keys compared, once, loosely, and the same value under each.
     *
     * @param int<1, max> $processes
     */
    #[DataProvider('cheats')]
    public function testWhoCheatsIsDisqualified(string $cheat, string $payload, string $operation, int $processes): void
    {
        $directory = new TemporaryDirectory('lab');
        $subject = Tasks::subject('cheat:x', CheatingDriver::class, ['cheat' => $cheat]);
        $cell = new Cell('test', $subject->name, 'cheat', Cell::PROCESS, 'none', 'none', $payload, $operation, $processes);
        $effort = new Effort(3, 10.0, 25.0, $cheat === CheatingDriver::KEEPS_THREE ? 10_000 : 100, 3);
        $tasks = [new ProcessTask('test', [new Side($cell, $subject)], $effort, $processes)];
        $collection = Tasks::run($tasks, $directory->path, 2);

        self::assertSame([], $collection->results());
        $reason = $collection->disqualified()[0]['reason'];
        self::assertMatchesRegularExpression('/^' . $payload . ', ' . $operation . ', ' . $processes . ' at once, round \d: .* was written, but .* came back/', $reason);
    }
}
