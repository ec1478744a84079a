<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Presentation;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/** A report of a real run, with a part of its cells and samples, and some that it did not have. */
final class Fixture
{
    /** What breaks tables, pages and terminals that trust what they are given. */
    public const HOSTILE = "ev|il</td></script><script>alert(1)</script>\x1b[2J\r\n| **x** | `` ``` <fg=red>red</> \u{202E}\u{0085}[a](http://a.example) \\";

    /** @param array<string, mixed> $changed members of the report */
    public static function report(array $changed = []): Report
    {
        return new Report(...$changed + \get_object_vars((new JsonReader())->read(__DIR__ . '/report.json')));
    }

    /** HOSTILE wherever a report has text. */
    public static function hostile(): Report
    {
        $text = self::HOSTILE;
        $report = self::report();
        $results = $report->results;
        foreach ([['engines', '50x50'], ['serializers', $text], [$text, $text]] as [$scenario, $payload]) {
            $results[] = new Result(new Cell($scenario, $text, $text, Cell::PROCESS, $text, $text, $payload, 'read'), [[1.0, 2.0], [1.5]], 9.0);
        }

        return new Report(...[
            'command' => "$report->command $text",
            'machine' => [$text => $text] + $report->machine,
            'versions' => [$text => $text] + $report->versions,
            'scenarios' => [...$report->scenarios, new Presentation($text, $text, $text, $text)],
            'results' => $results,
            'missing' => [...$report->missing, ['subject' => $text, 'scenario' => $text, 'what' => $text, 'advice' => $text]],
            'disqualified' => [...$report->disqualified, ['subject' => $text, 'scenario' => $text, 'reason' => $text]],
            'notes' => [...$report->notes, $text],
        ] + \get_object_vars($report));
    }
}
