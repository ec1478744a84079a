<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Side;
use PHPUnit\Framework\TestCase;

/**
 * All that is measured and compared, in a whole file: plan.txt, as a machine has it with two cores and every engine.
 *
 * A line of cells has payloads, operations, and then how many at once, where the server runs, keys a request and the
 * unit, where they are not the usual. LARDER_WRITE=1 writes it anew: read the difference before it is committed.
 */
final class PlanTest extends TestCase
{
    public function testWhatIsMeasuredAndCompared(): void
    {
        $plan = '';
        foreach (ScenariosTest::scenarios() as $name => [$scenario]) {
            $levels = [];
            foreach ([Scope::PART, Scope::QUICK, Scope::EVERY] as $level) {
                $levels[$level] = self::of($scenario, $level);
            }
            foreach (self::grouped($levels) as $lines => $of) {
                $plan .= "$name, $of:\n$lines";
            }
        }
        \getenv('LARDER_WRITE') !== '1' || \file_put_contents(__DIR__ . '/plan.txt', $plan);
        self::assertStringEqualsFile(__DIR__ . '/plan.txt', $plan);
    }

    private static function of(Scenario $scenario, string $level): string
    {
        $cells = $subjects = $bases = $ratios = $promises = [];
        foreach ($scenario->tasks(new Scope($level), $scenario->subjects()) as $task) {
            $pair = $task->pair();
            foreach ($pair === null ? $task->sides() : [] as $side) {
                $cells[] = $cell = $side->cell;
                $unit = $cell->unit === Cell::MICROSECONDS ? '' : " $cell->unit";
                $subjects[$cell->subject][$cell->payload]["$cell->operation$unit"][] = \explode('/', $cell->id(), 5)[4];
                $base = \explode('/', $scenario->base($cell) ?? '')[1] ?? null;
                $base === null || $bases[$base === $cell->subject ? 'itself' : $base]["$cell->operation$unit"] = '';
            }
            if ($pair !== null) {
                $sides = \implode(' : ', \array_map(static fn(Side $side): string => \explode('/', $side->cell->id(), 2)[1], $task->sides()));
                $ratios[$sides] = $pair->kind . ($pair->limit === null ? '' : ' ' . \round($pair->limit, 6));
            }
        }
        foreach ($scenario->promises($cells) as $promise) {
            [[, $of, $work], [, $to, $same]] = [\explode('/', $promise->of, 3), \explode('/', $promise->to, 3)];
            self::assertSame($work, $same);
            $promises["$of : $to"][] = $work . ' ' . \round($promise->limit, 6);
        }
        $text = '';
        foreach (self::grouped(\array_map(static fn(array $payloads): string => self::lines('    ', \array_map(
            static fn(array $operations): string => \rtrim(\strtr(self::lines('', \array_map(static fn(array $cells): string => \implode(' | ', $cells), $operations)), ["\n" => '; ']), '; '),
            $payloads,
        )), $subjects)) as $lines => $of) {
            $text .= "  $of\n$lines";
        }

        return $text . self::lines('  in turn, or again: ', $ratios)
            . self::lines('  promised: ', \array_map(static fn(array $works): string => \implode(', ', $works), $promises))
            . self::lines('  compared with ', \array_map(static fn(array $operations): string => \implode(', ', \array_keys($operations)), $bases));
    }

    /** @param array<string, string> $texts by name */
    private static function lines(string $indent, array $texts): string
    {
        $lines = '';
        foreach (self::grouped($texts) as $text => $names) {
            $lines .= "$indent$names: $text\n";
        }

        return $lines;
    }

    /**
     * @param array<string, string> $texts by name
     *
     * @return array<string, string> the names that have it, by text
     */
    private static function grouped(array $texts): array
    {
        $names = [];
        foreach ($texts as $name => $text) {
            $names[$text][] = $name;
        }

        return \array_map(static fn(array $of): string => \implode(', ', $of), $names);
    }
}
