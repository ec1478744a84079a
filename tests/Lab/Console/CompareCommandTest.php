<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Console;

use Larder\Console\Application;
use Larder\Lab\Compare\Destination;
use Larder\Lab\Compare\Document;
use Larder\Lab\Compare\Findings;
use Larder\Lab\Compare\Markdown;
use Larder\Lab\Compare\Name;
use Larder\Lab\Compare\Source;
use Larder\Lab\Compare\Terminal;
use Larder\Lab\Console\CompareCommand;
use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Json;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Tests\Lab\Compare\Reports;
use Larder\Tests\Lab\Report\Fixture;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Console\Application as Symfony;
use Symfony\Component\Console\Input\ArrayInput;
use Symfony\Component\Console\Input\StringInput;
use Symfony\Component\Console\Output\BufferedOutput;
use Symfony\Component\Console\Output\OutputInterface;
use Symfony\Component\Console\Tester\ApplicationTester;

#[CoversClass(CompareCommand::class)]
#[CoversClass(Destination::class)]
#[CoversClass(Document::class)]
#[CoversClass(Findings::class)]
#[CoversClass(Markdown::class)]
#[CoversClass(Name::class)]
#[CoversClass(Source::class)]
#[CoversClass(Terminal::class)]
final class CompareCommandTest extends TestCase
{
    private const CALM = [10.0, 10.1, 9.9, 10.2, 9.8];
    private const BEFORE = '2026-05-01T10:00:00Z';
    private const AFTER = '2026-05-02T10:00:00Z';

    private TemporaryDirectory $root;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
    }

    private function file(Report $report, string $name): string
    {
        \file_put_contents($this->root->path . "/$name", (new Json())->encode($report));

        return $this->root->path . "/$name";
    }

    /** @param list<Result> $results */
    private function old(array $results): string
    {
        return $this->file(Reports::report($results, started: self::BEFORE), 'old.json');
    }

    /** @param list<Result> $results */
    private function new(array $results): string
    {
        return $this->file(Reports::report($results, started: self::AFTER), 'new.json');
    }

    private static function redis(int $number, float $factor = 1.0): Result
    {
        return Reports::of($number, \array_map(static fn(float $time): float => $factor * $time, self::CALM));
    }

    private static function dated(Report $report, string $started): Report
    {
        return new Report(
            $report->command,
            $report->machine,
            $report->versions,
            $report->scenarios,
            $report->results,
            $report->ratios,
            $report->missing,
            $report->disqualified,
            $report->notes,
            $report->partial,
            $report->quiet,
            $report->seed,
            $report->rounds,
            $started,
            $report->seconds,
        );
    }

    /**
     * @param array<string, mixed> $options
     *
     * @return array{int, string, string} status, output, errors
     */
    private function tell(string $old, string $new, array $options = [], int $verbosity = OutputInterface::VERBOSITY_NORMAL, bool $decorated = false): array
    {
        $application = new Symfony();
        $application->setAutoExit(false);
        $application->setCatchExceptions(false);
        $application->add(new CompareCommand());
        $tester = new ApplicationTester($application);
        $tester->run(
            ['command' => 'bench:compare', 'old' => $old, 'new' => $new] + $options,
            ['capture_stderr_separately' => true, 'interactive' => false, 'decorated' => $decorated, 'verbosity' => $verbosity],
        );

        return [$tester->getStatusCode(), $tester->getDisplay(true), $tester->getErrorOutput(true)];
    }

    public function testAPlantedRegressionIsNamed(): void
    {
        $old = $this->file(self::dated(Reports::noisy(1, 400), self::BEFORE), 'old.json');
        $new = $this->file(self::dated(Reports::noisy(2, 400, slow: [217 => 1.25]), self::AFTER), 'new.json');
        [$status, $output, $errors] = $this->tell($old, $new);

        self::assertSame([Application::NOT_DONE, ''], [$status, $errors]);
        self::assertStringContainsString('engines/redis:socket:217/short/read/1', $output);
        self::assertSame(1, \substr_count($output, 'engines/redis:socket:'), 'and no other');
        self::assertStringContainsString('1 of 400 cells lost more than 10 %', $output);
        self::assertSame(Application::OK, $this->tell($old, $new, ['--limit' => '50%'])[0]);
    }

    public function testTheSameTwiceIsQuiet(): void
    {
        $old = $this->file(self::dated(Reports::noisy(1, 400), self::BEFORE), 'old.json');
        [$status, $output] = $this->tell($old, $this->file(self::dated(Reports::noisy(2, 400), self::AFTER), 'new.json'));

        self::assertSame(Application::OK, $status);
        self::assertMatchesRegularExpression('/^Nothing changed beyond 10 % in 400 cells; at 95 %: \d+ slower, \d+ faster \(by chance up to 10 each\)\.\n$/', $output);
    }

    public function testARealisticReportWithEverythingFitsInAHundredColumns(): void
    {
        $old = $this->file(self::dated(Fixture::report(1, 8), self::BEFORE), 'old.json');
        $report = Fixture::report(2, 8);
        $slow = \array_map(
            static fn(Result $result): Result => $result->cell->engine === 'memcached_nocompression'
                ? new Result($result->cell, \array_map(static fn(array $samples): array => \array_map(static fn(float $sample): float => 1e4 * $sample, $samples), $result->rounds))
                : $result,
            $report->results,
        );
        $new = $this->file(Reports::report($slow, ['processor' => 'Other 9000 with a name that goes on for a while and then for a while more'], ['PHP' => '8.5.0'], started: self::AFTER), 'new.json');
        [$status, $output] = $this->tell($old, $new, verbosity: OutputInterface::VERBOSITY_VERBOSE);

        self::assertSame(Application::NOT_DONE, $status);
        self::assertStringContainsString('engines/memcached_nocompression:network:', $output);
        self::assertStringContainsString('The machine is not the same: processor Other 9000', $output);
        self::assertStringContainsString('Different versions: PHP 8.5.0, was 8.2.31;', $output);
        self::assertLessThan(\strpos($output, 'Lost, beyond'), \strpos($output, 'The machine is not the same'), 'told first');
        foreach (\explode("\n", $output) as $line) {
            self::assertLessThanOrEqual(100, \mb_strwidth($line), $line);
        }
    }

    public function testWrongValuesAreSaidFirst(): void
    {
        $old = $this->old([self::redis(1), self::redis(2)]);
        $new = $this->file(Reports::report(
            [self::redis(1)],
            ['processor' => 'Other'],
            disqualified: [['subject' => 'redis:socket:2', 'scenario' => 'engines', 'reason' => 'read gave null']],
            started: self::AFTER,
        ), 'new.json');
        [$status, $output] = $this->tell($old, $new);

        self::assertSame(Application::NOT_DONE, $status);
        self::assertStringStartsWith('Disqualified: redis:socket:2 in engines, which the old report measured: read gave null', $output);
        self::assertStringContainsString('1 subject gave wrong values or failed', $output);
    }

    public function testCellsOfOneReportAreNamedWithWhatIsMissing(): void
    {
        $many = \array_map(static fn(int $number): Result => self::redis($number), \range(1, 30));
        $old = $this->old($many);
        $new = $this->file(Reports::report(
            [self::redis(1), self::redis(99)],
            missing: [['subject' => 'redis:socket:2', 'scenario' => 'engines', 'what' => 'redis-server', 'advice' => 'apt-get install redis-server']],
            started: self::AFTER,
        ), 'new.json');
        [$status, $output] = $this->tell($old, $new);

        self::assertSame(Application::OK, $status);
        self::assertStringContainsString('engines/redis:socket:2/short/read/1 (redis-server is missing: apt-get install redis-server)', $output);
        self::assertStringContainsString("Only in the old report, 29:\n", $output);
        self::assertStringContainsString("  and 19 more (-v names them all)\n", $output);
        self::assertStringContainsString("Only in the new report, 1:\n  engines/redis:socket:99/short/read/1\n", $output);
        self::assertStringContainsString('engines/redis:socket:30/', $this->tell($old, $new, verbosity: OutputInterface::VERBOSITY_VERBOSE)[1]);
    }

    public function testDoubtsAreTold(): void
    {
        $results = [self::redis(1)];
        $late = $this->file(Reports::report($results, partial: true, started: self::AFTER), 'late.json');
        $early = $this->file(Reports::report($results, quiet: false, started: self::BEFORE), 'early.json');

        [$status, $output] = $this->tell($late, $early);
        self::assertSame(Application::OK, $status);
        self::assertStringContainsString('are the two files swapped?', \str_replace("\n", ' ', $output));
        self::assertStringContainsString('The old report is partial', $output);
        self::assertStringContainsString('the machine of the new report could not tell 10 %', \str_replace("\n", ' ', $output));

        [, $output] = $this->tell($early, $late);
        self::assertStringNotContainsString('swapped', $output);
        self::assertStringContainsString('The new report is partial', $output);
        self::assertStringContainsString('is it the same run twice?', \str_replace("\n", ' ', $this->tell($late, $late)[1]));
    }

    public function testASlowMachine(): void
    {
        $old = $this->file(self::dated(Reports::noisy(1, 50), self::BEFORE), 'old.json');
        $new = $this->file(self::dated(Reports::noisy(2, 50, all: 1.5), self::AFTER), 'new.json');

        [$status, $output] = $this->tell($old, $new);
        self::assertSame(Application::NOT_DONE, $status);
        self::assertStringContainsString('Everything together took 1.50 times as long as before', $output);
        [$status, $output] = $this->tell($old, $new, ['--relative' => true]);
        self::assertSame(Application::OK, $status);
        self::assertStringContainsString('Each ratio here is divided by that.', \str_replace("\n", ' ', $output));
    }

    public function testTheFilesHoldEverything(): void
    {
        $sizes = static fn(float $bytes): Result => Reports::of(9, [$bytes], Cell::BYTES);
        $old = $this->old([self::redis(1), self::redis(2), self::redis(3), $sizes(0.0)]);
        $new = $this->new([self::redis(1, 2.0), self::redis(2), self::redis(4), $sizes(12.0)]);
        $json = $this->root->path . '/changes.json';
        $markdown = $this->root->path . '/changes.md';
        [$status] = $this->tell($old, $new, ['--json' => $json, '--markdown' => $markdown]);

        self::assertSame(Application::NOT_DONE, $status);
        $document = \json_decode((string) \file_get_contents($json), true, flags: \JSON_THROW_ON_ERROR);
        self::assertIsArray($document);
        self::assertIsArray($document['changes']);
        self::assertTrue($document['failed']);
        self::assertSame(0.1, $document['limit']);
        self::assertSame([Reports::cell(3)->id()], $document['missing']);
        self::assertSame([Reports::cell(4)->id()], $document['added']);
        self::assertSame(['lost', 'lost', 'same'], \array_column($document['changes'], 'verdict'));
        self::assertSame([null, 2.0, 1], \array_map(static fn(mixed $ratio): mixed => \is_float($ratio) ? \round($ratio, 6) : $ratio, \array_column($document['changes'], 'ratio')));
        $text = (string) \file_get_contents($markdown);
        self::assertStringStartsWith('**Lost. 2 of 3 cells lost more than 10 %', $text);
        self::assertStringContainsString('| engines/redis:socket:1/short/read/1 | 10.0 us | 20.0 us | 2.00 |', $text);
        self::assertStringContainsString('| engines/redis:socket:9/short/size/1 | 0 B | 12 B | inf | exact |', $text);
    }

    public function testFilesThatCannotBeWrittenAreToldBeforeAnythingIsRead(): void
    {
        $old = $this->old([self::redis(1)]);
        foreach ([
            'no name was given' => '',
            'it is a directory' => $this->root->path,
            'there is no directory' => $this->root->path . '/none/changes.json',
            'which would be overwritten' => $this->root->path . '/../' . \basename($this->root->path) . '/old.json',
        ] as $why => $file) {
            foreach (['json', 'markdown'] as $option) {
                [$status, $output, $errors] = $this->tell($old, '/does/not/exist.json', ["--$option" => $file]);
                self::assertSame([Application::USAGE, ''], [$status, $output]);
                self::assertStringContainsString("--$option=", $errors);
                self::assertStringContainsString($why, $errors);
            }
        }
        $both = $this->root->path . '/both';
        self::assertStringContainsString('which would be overwritten', $this->tell($old, $old, ['--json' => $both, '--markdown' => $both])[2]);
        self::assertFileDoesNotExist($both);
    }

    public function testAFullDiskIsNoSuccess(): void
    {
        if (!\file_exists('/dev/full')) {
            self::markTestSkipped('/dev/full is Linux\'s.');
        }
        $old = $this->old([self::redis(1)]);
        [$status, , $errors] = $this->tell($old, $old, ['--json' => '/dev/full']);

        self::assertSame(Application::USAGE, $status);
        self::assertStringContainsString('--json=/dev/full was not written', $errors);
    }

    /** @return iterable<string, array{?string, string}> */
    public static function broken(): iterable
    {
        yield 'not there' => [null, 'There is no report at'];
        yield 'empty' => ['', 'is not JSON'];
        yield 'cut off' => ['{"schema": "larder-bench-', 'is not JSON'];
        yield 'something else' => ['{"name": "larder/larder"}', 'is JSON, but no report'];
        yield 'a list' => ['[]', 'is JSON, but no report'];
        yield 'another version' => ['{"schema": "larder-bench-report/999"}', 'larder-bench-report/999'];
        yield 'parts missing' => [(string) \json_encode(['schema' => Json::SCHEMA, 'results' => []]), 'is not a whole report'];
        yield 'no time at all' => [(new Json())->encode(Reports::report([Reports::of(1, [1.0, 0.0, 1.0])], started: self::BEFORE)), 'took 0 us'];
    }

    #[DataProvider('broken')]
    public function testABrokenFileIsNamed(?string $content, string $message): void
    {
        $good = $this->old([self::redis(1)]);
        $bad = $this->root->path . '/<info>bad</info>.json';
        if ($content !== null) {
            // A name with a slash in it is a directory's.
            \mkdir(\dirname($bad), 0o700, true);
            \file_put_contents($bad, $content);
        }
        foreach ([[$good, $bad], [$bad, $good]] as [$old, $new]) {
            [$status, $output, $errors] = $this->tell($old, $new);
            self::assertSame([Application::USAGE, ''], [$status, $output]);
            self::assertStringContainsString($bad, $errors);
            self::assertStringContainsString($message, $errors);
        }
    }

    public function testABadLimitAndADirectory(): void
    {
        $old = $this->old([self::redis(1)]);
        [$status, , $errors] = $this->tell($old, $old, ['--limit' => 'ten']);
        self::assertSame(Application::USAGE, $status);
        self::assertStringContainsString('Cannot read the limit "ten"', $errors);
        self::assertSame(Application::USAGE, $this->tell($this->root->path, $old)[0]);
        self::assertSame(Application::USAGE, $this->tell($old, "\0")[0]);
        self::assertSame(Application::USAGE, $this->tell($old, '')[0]);
    }

    public function testHostileNamesStayNames(): void
    {
        $cell = new Cell(Fixture::HOSTILE, Fixture::HOSTILE, 'x', Cell::PROCESS, 'php', 'none', Fixture::HOSTILE, 'read');
        $gone = new Cell('engines', Fixture::HOSTILE, 'x', Cell::PROCESS, 'php', 'none', 'short', 'gone');
        $rounds = static fn(float $factor): array => \array_map(static fn(float $time): array => [$factor * $time], self::CALM);
        $machine = ['processor' => Fixture::HOSTILE];
        $old = $this->file(Reports::report([Reports::result($cell, $rounds(1)), Reports::result($gone, $rounds(1))], $machine, started: self::BEFORE), 'old.json');
        $wrong = [['subject' => Fixture::HOSTILE, 'scenario' => 'engines', 'reason' => Fixture::HOSTILE]];
        $new = $this->file(Reports::report([Reports::result($cell, $rounds(9))], [Fixture::HOSTILE => 1], disqualified: $wrong, started: self::AFTER), 'new.json');
        $markdown = $this->root->path . '/changes.md';
        [$status, $output, $errors] = $this->tell($old, $new, ['--markdown' => $markdown], OutputInterface::VERBOSITY_VERBOSE);

        self::assertSame([Application::NOT_DONE, ''], [$status, $errors]);
        self::assertStringContainsString('<fg=red>red</>', $output, 'text, not a colour');
        self::assertDoesNotMatchRegularExpression('/[^\n\P{Cc}]|[\x{202A}-\x{202E}]/u', $output);
        // On a colour terminal the only escapes are our own colours.
        $coloured = $this->tell($old, $new, decorated: true)[1];
        self::assertDoesNotMatchRegularExpression('/[^\n\P{Cc}]/u', (string) \preg_replace('/\e\[[\d;]*m/', '', $coloured));
        $text = (string) \file_get_contents($markdown);
        self::assertDoesNotMatchRegularExpression('/(?<!\\\\)<(?!\/?details>|\/?summary>)/', $text, 'no HTML');
        foreach (\preg_grep('/^\| /', \explode("\n", $text)) ?: [] as $row) {
            self::assertSame(6, \preg_match_all('/(?<!\\\\)\|/', $row), $row);
        }
    }

    public function testTagsInNamesAreText(): void
    {
        $tag = '<fg=red>x</>';
        $rounds = static fn(float $factor): array => \array_map(static fn(float $time): array => [$factor * $time], self::CALM);
        $lost = new Cell('engines', $tag, 'x', Cell::PROCESS, 'php', 'none', 'short', 'read');
        $gone = new Cell('engines', $tag, 'x', Cell::PROCESS, 'php', 'none', 'short', 'gone');
        $old = $this->file(Reports::report([Reports::result($lost, $rounds(1)), Reports::result($gone, $rounds(1))], versions: ['PHP' => 'a'], started: self::BEFORE), 'old.json');
        $new = $this->file(Reports::report([Reports::result($lost, $rounds(9))], versions: ['PHP' => $tag], started: self::AFTER, disqualified: [['subject' => $tag, 'scenario' => 'engines', 'reason' => 'read gave null']]), 'new.json');

        self::assertSame(4, \substr_count($this->tell($old, $new)[1], $tag), 'disqualified, the version, the row, the name of what is gone');
    }

    public function testItRunsByItselfToo(): void
    {
        $old = $this->old([self::redis(1)]);
        $output = new BufferedOutput();

        self::assertSame(Application::NOT_DONE, (new CompareCommand())->run(new ArrayInput(['old' => $old, 'new' => $this->new([self::redis(1, 2.0)]), '--limit' => '5%']), $output));
        self::assertStringContainsString('Lost', $output->fetch());
        self::assertSame(Application::USAGE, (new CompareCommand())->run(new StringInput("$old $old.none"), $output));
        self::assertStringContainsString('There is no report at', $output->fetch(), 'without a channel for errors they are not lost');
    }
}
