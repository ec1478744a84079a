<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Scenario\Loop;
use Larder\Lab\Service\Cores;
use Larder\Tests\Lab\Support\Tasks;
use PHPUnit\Framework\TestCase;

final class LoopTest extends TestCase
{
    /** Seen to fail: without the one key; without a placement. */
    public function testEachLoopIsThereOnceByOneKeyByManyAndWithItsConnection(): void
    {
        $expected = [];
        foreach ((new Loop())->subjects() as $subject) {
            foreach ($subject->service === null ? [''] : ['/same', '/other'] as $placement) {
                foreach (['repeat', 'read', 'cycle'] as $operation) {
                    $expected[] = "loop/$subject->name/short/$operation/1$placement/10000";
                }
            }
        }

        self::assertEqualsCanonicalizing($expected, self::ids(Scope::EVERY));
    }

    /** @return list<string> */
    private static function ids(string $level): array
    {
        return \array_map(static fn(Cell $cell): string => $cell->id(), self::cells($level));
    }

    /** @return list<Cell> */
    private static function cells(string $level): array
    {
        $loop = new Loop(new Cores([0, 1]));

        return Tasks::cells($loop->tasks(new Scope($level), $loop->subjects()));
    }
}
