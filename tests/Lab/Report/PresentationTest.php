<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\Column;
use Larder\Lab\Report\Html;
use Larder\Lab\Report\Json;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\Markdown;
use Larder\Lab\Report\Method;
use Larder\Lab\Report\Names;
use Larder\Lab\Report\Tables;
use Larder\Lab\Scenario\Scenarios;
use Larder\Tests\Lab\Compare\Reports;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** All that a report says of a scenario comes from the scenario's own file. */
final class PresentationTest extends TestCase
{
    /** A scenario's file is its presentation; the line in Scenarios brings it into the report. Here both are one line. */
    public function testANewScenarioHasItsSectionItsTableAndItsPicture(): void
    {
        $presentation = new Presentation('mail', 'send a letter by each post office', 'The mail', 'Letters weigh 20 g.', 'letter/send', true, ['letter' => 'a letter'], ['send' => 'send %s', 'stamp' => 'stamp %s'], ['stamp' => 'with a stamp']);
        $results = [];
        foreach (['horse' => 9.0, 'train' => 3.0] as $engine => $time) {
            foreach (['stamp', 'send'] as $operation) {
                $results[] = Reports::measured("mail/$engine/letter/$operation/1", [$time, $time * 1.01, $time * 0.99]);
            }
        }
        $report = (new JsonReader())->decode((new Json())->encode(Reports::report($results, scenarios: [$presentation])));

        $table = (new Tables($report))->all()['mail'][0];
        self::assertSame('The mail: a letter', $table->title);
        self::assertSame(['what', 'send µs', 'with a stamp µs'], \array_map(static fn(Column $column): string => $column->label, $table->columns));
        $page = (new Html())->render($report);
        foreach (['<h2>The mail</h2>', 'Send a letter by each post office.', 'Letters weigh 20 g.', '<figcaption>The mail: send a letter, one process</figcaption>', '<title id="p1-t">The mail: send a letter, one process</title>', '>train</text>'] as $part) {
            self::assertStringContainsString($part, $page);
        }
        self::assertStringContainsString('## The mail', (new Markdown())->render($report));
    }

    /** @return iterable<string, array{string}> */
    public static function files(): iterable
    {
        foreach ([...\glob(__DIR__ . '/../../../lab/Report/*.php') ?: [], __DIR__ . '/../../../lab/Run/Reporting.php'] as $file) {
            yield \basename($file) => [$file];
        }
    }

    #[DataProvider('files')]
    public function testTheReportKnowsNoScenario(string $file): void
    {
        $text = (string) \file_get_contents($file);
        foreach (Scenarios::all() as $scenario) {
            // "segment" is an engine as well.
            if ($scenario->presentation()->name !== 'segment') {
                self::assertDoesNotMatchRegularExpression('/[\'"]' . $scenario->presentation()->name . '[\'"]/', $text);
            }
            self::assertStringNotContainsString('Scenario\\' . \ucfirst($scenario->presentation()->name), $text);
        }
    }

    /** Of what was disqualified a report has the id alone. Seen to fail: the id's last words left out. */
    public function testASubjectsIdSaysWhatItsCellSays(): void
    {
        $named = 0;
        foreach (Scenarios::all() as $scenario) {
            foreach ($scenario->subjects() as $subject) {
                $cell = new Cell($scenario->presentation()->name, $subject->name, $subject->engine, $subject->connection, $subject->serializer, $subject->compressor, 'short', 'read');
                // What Memcached compresses with is no part of an id.
                self::assertSame(\str_replace(', fastlz', '', Names::subject($cell)), Names::called(['scenario' => $scenario->presentation()->name, 'subject' => $subject->name]));
                self::assertSame($cell->id(), Names::cell($cell->id())?->id());
                ++$named;
            }
        }
        self::assertGreaterThan(100, $named);
    }

    public function testNoSentenceIsLongerThanThirtyWords(): void
    {
        $texts = \array_values(Method::POINTS);
        foreach (Scenarios::all() as $scenario) {
            $presentation = $scenario->presentation();
            \array_push($texts, $presentation->about, $presentation->remark, ...$scenario->remarks([]));
        }
        $page = (new Html())->render(Fixture::report(['partial' => true]));
        $text = \preg_replace(['~<(style|pre|svg|td|th|title)\b.*?</\1>~s', '~</?(p|li|strong|h\d|b|dd|dt|caption|summary|div|figcaption|section)\b[^>]*>~'], [' ', "\n"], $page);
        \array_push($texts, ...\explode("\n", \str_replace(' · ', "\n", \strip_tags((string) $text))));
        foreach ($texts as $one) {
            foreach (\preg_split('/(?<=[.!?])\s+/', \html_entity_decode($one)) ?: [] as $sentence) {
                self::assertLessThanOrEqual(30, \count(\preg_split('/\s+/', \trim($sentence)) ?: []), $sentence);
            }
        }
    }
}
