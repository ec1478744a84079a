<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Html;
use Larder\Lab\Report\Markdown;
use Larder\Lab\Report\Rank;
use Larder\Lab\Report\Tables;
use Larder\Lab\Report\Terminal;
use Larder\Lab\Run\Report;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Output\BufferedOutput;

/**
 * What a report says, in a whole file: report.json is a run, and report.md is what is made of it.
 *
 * They have what tables must get right: bases, ties, where a server ran, keys a request, percentiles only of enough and
 * of equal samples, processes at once by their mean, populations, gaps, promises that hold, do not, or cannot be told,
 * noise, losses. LARDER_WRITE=1 writes it anew: read the difference before it is committed.
 */
final class ReportTest extends TestCase
{
    public function testWhatIsMadeOfARun(): void
    {
        $made = (new Markdown())->render(Fixture::report());
        \getenv('LARDER_WRITE') !== '1' || \file_put_contents(__DIR__ . '/report.md', $made);

        self::assertStringEqualsFile(__DIR__ . '/report.md', $made);
    }

    public function testAPartialRunSaysSoFirst(): void
    {
        $report = Fixture::report(['partial' => true]);

        self::assertStringStartsWith("# What the laboratory found (partial)\n\n**This run was stopped before its end.**", (new Markdown())->render($report));
        self::assertStringContainsString(' (stopped before its end)', \strtok(self::printed($report), "\n") ?: '');
    }

    /** @return iterable<string, array{\Closure(Report): string, string}> */
    public static function forms(): iterable
    {
        yield 'Markdown' => [(new Markdown())->render(...), '# What the laboratory found'];
        yield 'a page' => [(new Html())->render(...), 'nothing that could be drawn'];
        yield 'a terminal' => [self::printed(...), 'bin/larder bench (stopped before its end)'];
    }

    /** @param \Closure(Report): string $form */
    #[DataProvider('forms')]
    public function testOfNothingThereIsStillAReport(\Closure $form, string $says): void
    {
        self::assertStringContainsString($says, $form(Reports::report(partial: true)));
    }

    /** @param \Closure(Report): string $form */
    #[DataProvider('forms')]
    public function testNothingThatATerminalObeysIsLeft(\Closure $form): void
    {
        self::assertDoesNotMatchRegularExpression('/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\x{202e}/u', $form(Fixture::hostile()));
    }

    public function testEachTableIsWholeAndHasANameOfItsOwn(): void
    {
        $tables = new Tables(Fixture::hostile());
        $names = [];
        foreach (\array_filter([...\array_merge(...\array_values($tables->all())), $tables->ratios(), $tables->noise(), $tables->missing(), $tables->disqualified(), $tables->machine()]) as $table) {
            $names[] = $table->id;
            self::assertMatchesRegularExpression('/^[a-z0-9-]+$/D', $table->id);
            foreach ($table->rows as $row) {
                self::assertCount(\count($table->columns), $row->cells);
            }
        }

        self::assertSame($names, \array_unique($names));
    }

    public function testNothingBecomesMarkupOfMarkdown(): void
    {
        $markdown = (new Markdown())->render(Fixture::hostile());
        self::assertSame(1, \preg_match('/^(`{4,})sh\n(.*)\n(`{3,})$/m', $markdown, $block));
        self::assertSame($block[1], $block[3]);
        self::assertStringNotContainsString($block[1], $block[2]);
        $outside = \str_replace($block[0], '', $markdown);

        self::assertStringContainsString('\*\*x\*\*', $outside);
        self::assertDoesNotMatchRegularExpression('/<|http:\/\/|(?<!\\\\)[`\[]/', $outside);
        foreach (\explode("\n\n", $outside) as $paragraph) {
            if (\str_starts_with($paragraph, '| ')) {
                // A pipe behind an odd number of backslashes is text.
                $cells = \array_map(static fn(string $line): int|false => \preg_match_all('/(?<!\\\\)(?:\\\\\\\\)*\|/', $line), \explode("\n", \trim($paragraph)));
                self::assertCount(1, \array_unique($cells), $paragraph);
            }
        }
    }

    #[TestWith([40, 0, 0])]
    #[TestWith([80, 2, 2])]
    #[TestWith([160, 5, 7])]
    public function testTheNarrowerTheFewerColumnsButNeverWithoutNameAndFigure(int $width, int $intervals, int $subjects): void
    {
        foreach ([Fixture::report(), Fixture::hostile()] as $report) {
            $printed = self::printed($report, $width);
            $widths = \array_map(\mb_strwidth(...), \explode("\n", $printed));
            self::assertTrue(\max($widths) <= $width && \max($widths) > 0.9 * $width, (string) \max($widths));
            self::assertGreaterThanOrEqual(5, \preg_match_all('/^what .*\bvalues .*\b(median|mean)\b/m', $printed));
        }
        $printed = self::printed(Fixture::report(), $width);
        self::assertSame([$intervals, $subjects], [\preg_match_all('/^what .*95 % of ×/m', $printed), \preg_match_all('/^what .*\bsubject/m', $printed)]);
    }

    public function testATerminalGetsColoursAndNothingElse(): void
    {
        $printed = self::printed(Fixture::hostile(), 100, true);
        self::assertMatchesRegularExpression('/\x1b\[31;1mDisqualified/', $printed);
        self::assertMatchesRegularExpression('/\x1b\[33;1mNot measured here/', $printed);

        self::assertSame(self::printed(Fixture::hostile()), \preg_replace('/\x1b\[\d+(;\d+)*m/', '', $printed));
        self::assertStringContainsString('<fg=red>red</>', \str_replace("\n", '', $printed));
    }

    /** A run that was stopped in a round has fewer rounds of some. */
    public function testRoundsThatHaveNoPartnerAreLeftOut(): void
    {
        [$a, $b] = [Reports::of(1, [4.0, 4.0, 4.0, 90.0]), Reports::of(2, [2.0, 2.0, 2.0])];
        $rank = new Rank(Reports::report([$a, $b]));

        self::assertEqualsWithDelta([2.0, 2.0], [$rank->between($a, $b)->median, $rank->between($a, $b)->high], 1e-9);
        self::assertFalse($rank->between($a, Reports::of(3, [0.0]))->bounded(), 'a time of nothing has no ratio');
    }

    private static function printed(Report $report, int $width = 100, bool $colours = false): string
    {
        $output = new BufferedOutput(decorated: $colours);
        (new Terminal($output, $width))->print($report, ['html' => '/tmp/report.html', 'json' => '/tmp/report.json']);

        return $output->fetch();
    }
}
