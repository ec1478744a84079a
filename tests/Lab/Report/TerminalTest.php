<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Terminal;
use Larder\Lab\Run\Report;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Output\BufferedOutput;

final class TerminalTest extends TestCase
{
    private const FILES = ['html' => '/tmp/report.html', 'json' => '/tmp/report.json'];

    /** @return iterable<string, array{int}> */
    public static function widths(): iterable
    {
        foreach ([40, 60, 80, 100, 120, 160] as $width) {
            yield "$width columns" => [$width];
        }
    }

    #[DataProvider('widths')]
    public function testNoLineIsTooLong(int $width): void
    {
        $longest = 0;
        foreach (\explode("\n", self::printed(Fixture::report(hostile: true), $width)) as $line) {
            $longest = \max($longest, \mb_strwidth(\rtrim($line)));
        }

        self::assertLessThanOrEqual($width, $longest);
        self::assertGreaterThan($width * 0.9, $longest);
    }

    #[DataProvider('widths')]
    public function testTheNarrowerTheFewerColumnsButNeverWithoutNameAndFigure(int $width): void
    {
        $printed = self::printed(Fixture::report(scenarios: ['engines']), $width);

        self::assertSame(12, \preg_match_all('/^what .*\bvalues .*\b(median|mean)\b/m', $printed));
        self::assertSame($width >= 80, \preg_match('/^what .*× base/m', $printed) === 1);
        self::assertSame($width >= 100, \preg_match('/^what .*95 % of ×/m', $printed) === 1);
    }

    public function testWhatIsNoTerminalGetsNoEscapeSequences(): void
    {
        self::assertDoesNotMatchRegularExpression('/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/', self::printed(Fixture::report(hostile: true)));
    }

    public function testATerminalGetsColoursAndNothingElse(): void
    {
        $printed = self::printed(Fixture::report(hostile: true), 100, true);
        self::assertMatchesRegularExpression('/\x1b\[31;1mDisqualified/', $printed);
        self::assertMatchesRegularExpression('/\x1b\[33;1mNot measured here/', $printed);
        $printed = \preg_replace('/\x1b\[\d+(;\d+)*m/', '', $printed);

        self::assertDoesNotMatchRegularExpression('/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/', (string) $printed);
        self::assertSame(self::printed(Fixture::report(hostile: true)), $printed);
    }

    public function testMarkupOfANameIsShownAndNotObeyed(): void
    {
        self::assertStringContainsString('<fg=red>red</>', \str_replace("\n", '', self::printed(Fixture::report(hostile: true))));
    }

    public function testWhatMustBeKnownComesFirstAndTheFindingsLast(): void
    {
        $report = Fixture::report(partial: true, quiet: false);
        $printed = self::printed($report);
        $folded = \preg_replace('/\s+/', ' ', $printed);
        self::assertIsString($folded);
        $places = [];
        foreach (['(stopped before its end)', 'Stopped before its end: these are', 'too noisy to tell', 'Engines: read a 50x50', 'Serializers: a 50x50', 'The loop: a short', 'does not hold', 'against itself', 'read gave a string of 19,999 bytes', 'apt-get install php8.2-lzf', 'Who is first', 'Where Larder loses: ', '/tmp/report.html', '/tmp/report.json'] as $text) {
            $place = \strpos($folded, $text);
            self::assertIsInt($place, "\"$text\" was not printed.");
            $places[$text] = $place;
        }
        $sorted = $places;
        \asort($sorted);

        self::assertSame(\array_keys($sorted), \array_keys($places));
    }

    public function testTheBestHasAStar(): void
    {
        self::assertMatchesRegularExpression('/^PHP array +– +\*\d/m', self::printed(Fixture::report(scenarios: ['engines'])));
    }

    public function testOfNothingThereIsStillAReport(): void
    {
        $printed = self::printed(Reports::report(partial: true));

        self::assertStringContainsString('bin/larder bench (stopped before its end)', $printed);
        self::assertStringContainsString('/tmp/report.json', $printed);
    }

    private static function printed(Report $report, int $width = 100, bool $colours = false): string
    {
        $output = new BufferedOutput(decorated: $colours);
        (new Terminal($output, $width))->print($report, self::FILES);

        return $output->fetch();
    }
}
