<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Scenario\Engines;
use Larder\Lab\Scenario\Loop;
use Larder\Lab\Scenario\Scenarios;
use Larder\Lab\Service\Cores;
use Larder\Tests\Lab\Support\Tasks;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** What holds of every scenario, as a machine with two cores has it. */
final class ScenariosTest extends TestCase
{
    /** What a scenario's times are compared with, where one subject is it. */
    private const BASES = ['engines' => 'apcu:process:php', 'serializers' => 'php:none', 'loop' => 'apcu:process', 'segment' => 'apcu:process:php'];

    /** @return iterable<string, array{Scenario}> */
    public static function scenarios(): iterable
    {
        $held = ['engines' => new Engines(new Cores([0, 1])), 'loop' => new Loop(new Cores([0, 1]))];
        foreach (\array_replace(Scenarios::all(), $held) as $name => $scenario) {
            yield $name => [$scenario];
        }
    }

    /** Seen to fail: phpredis as the base of the loop; gets a second without one; a promise of a subject that is not measured. */
    #[DataProvider('scenarios')]
    public function testWhatACellIsComparedWithIsInTheTables(Scenario $scenario): void
    {
        $name = $scenario->presentation()->name;
        foreach ([Scope::PART, Scope::QUICK, Scope::EVERY] as $level) {
            $cells = self::cells($scenario, $level);
            $ids = \array_flip(self::ids($cells));
            self::assertCount(\count($cells), $ids, 'one twice');
            foreach ($cells as $cell) {
                $base = $scenario->base($cell);
                self::assertNotSame($cell->id(), $base);
                $base === null || self::assertArrayHasKey($base, $ids);
                if (isset(self::BASES[$name]) && $cell->payload !== 'population') {
                    // What several do in a second is compared with what one does.
                    $of = $cell->moreIsBetter() ? $cell->subject : self::BASES[$name];
                    self::assertSame($cell->moreIsBetter() ? $cell->concurrency === 1 : $cell->subject === $of, $base === null, $cell->id());
                    $base === null || self::assertStringStartsWith("$name/$of/", $base);
                }
            }
            foreach ($scenario->promises($cells) as $promise) {
                self::assertArrayHasKey($promise->of, $ids);
                self::assertArrayHasKey($promise->to, $ids);
            }
        }
    }

    #[DataProvider('scenarios')]
    public function testAPartIsAPart(Scenario $scenario): void
    {
        // Shorter loops have another number of keys a request.
        $works = static fn(string $level): array => \array_unique(\array_map(static fn(Cell $cell): string => $cell->idOf($cell->subject), self::cells($scenario, $level)));
        foreach ([Scope::PART, Scope::QUICK] as $level) {
            self::assertNotSame([], $works($level));
            self::assertSame([], \array_diff($works($level), $works(Scope::EVERY)));
        }
    }

    #[DataProvider('scenarios')]
    public function testASubjectThatIsNotThereIsNotPlanned(Scenario $scenario): void
    {
        self::assertSame([], $scenario->tasks(new Scope(Scope::EVERY), []));
    }

    /** @return list<Cell> */
    private static function cells(Scenario $scenario, string $level): array
    {
        return Tasks::cells($scenario->tasks(new Scope($level), $scenario->subjects()));
    }

    /**
     * @param list<Cell> $cells
     *
     * @return list<string>
     */
    private static function ids(array $cells): array
    {
        return \array_map(static fn(Cell $cell): string => $cell->id(), $cells);
    }
}
