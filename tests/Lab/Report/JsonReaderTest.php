<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Report\Json;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Report\ReportUnreadable;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

final class JsonReaderTest extends TestCase
{
    private string $file;

    protected function setUp(): void
    {
        $this->file = \tempnam(\sys_get_temp_dir(), 'larder-report-');
    }

    protected function tearDown(): void
    {
        @\unlink($this->file);
    }

    public function testAFileIsRead(): void
    {
        $json = (new Json())->encode(Fixture::report(hostile: true));
        \file_put_contents($this->file, $json);

        self::assertSame($json, (new Json())->encode((new JsonReader())->read($this->file)));
    }

    public function testWhatIsNotThere(): void
    {
        $this->refused('/There is no report at .*bin\/larder bench --json=FILE/', static fn() => (new JsonReader())->read(__DIR__ . '/none.json'));
    }

    public function testADirectory(): void
    {
        $this->refused('/Cannot read/', static fn() => (new JsonReader())->read(__DIR__));
    }

    /** @return iterable<string, array{string, string}> */
    public static function others(): iterable
    {
        $report = (new Json())->encode(Fixture::report(scenarios: ['loop']));
        yield 'empty' => ['', '/is not JSON/'];
        yield 'text' => ['hello', '/is not JSON/'];
        yield 'cut off' => [\substr($report, 0, 2000), '/is not JSON/'];
        yield 'too deep' => [\str_repeat('[', 100) . \str_repeat(']', 100), '/is not JSON/'];
        yield 'null' => ['null', '/no report of the laboratory/'];
        yield 'a list' => ['[1]', '/no report of the laboratory/'];
        yield 'a text' => ['"larder-bench-report/3"', '/no report of the laboratory/'];
        yield 'other JSON' => ['{"name":"larder/larder"}', '/no report of the laboratory/'];
        yield 'another schema' => ['{"schema":"larder-bench-reportage/1"}', '/no report of the laboratory/'];
        yield 'a schema that is no text' => ['{"schema":1}', '/no report of the laboratory/'];
        yield 'another version' => [\str_replace(Json::SCHEMA, 'larder-bench-report/2', $report), '/is "larder-bench-report\/2", and this Larder reads "larder-bench-report\/3"/'];
    }

    #[DataProvider('others')]
    public function testWhatIsNoReport(string $json, string $message): void
    {
        $this->refused($message, static fn() => (new JsonReader())->decode($json));
    }

    public function testTheMessageHoldsNoControlCharactersOfTheFile(): void
    {
        $this->refused('/^[^\x00-\x1f]+$/D', static fn() => (new JsonReader())->decode('{"schema":"larder-bench-report/\u001b[2J\r"}'));
    }

    /** Whatever is left out, of another type, or too much, anywhere, is refused. */
    public function testEveryMemberCounts(): void
    {
        $report = \json_decode((new Json())->encode(Fixture::report(rounds: 2, samples: 2, scenarios: ['loop'])), true, 16, \JSON_THROW_ON_ERROR);
        self::assertIsArray($report);
        $report['results'] = [$report['results'][0]];
        $report['ratios'] = [$report['ratios'][0]];
        (new JsonReader())->decode((string) \json_encode($report));
        $tried = 0;
        foreach (self::objects($report) as $path) {
            $free = \array_intersect(\array_map(\strval(...), $path), ['machine', 'versions', 'payloads', 'operations', 'columns']) !== [];
            foreach (\array_keys(self::at($report, $path)) as $name) {
                if (!$free) {
                    $this->refusedJson($report, [...$path, $name], null, true);
                }
                $this->refusedJson($report, [...$path, $name], ['nested' => [true]]);
                ++$tried;
            }
            if (!$free) {
                $this->refusedJson($report, [...$path, 'unknown'], 1);
            }
        }
        self::assertGreaterThan(50, $tried);
    }

    /** @return iterable<string, array{list<string|int>, mixed}> of the first result, and of a ratio with a limit */
    public static function changes(): iterable
    {
        foreach (Json::STATISTICS as $statistic) {
            yield $statistic => [['results', 0, $statistic], static fn(float|int|null $value): float => ($value ?? 0.0) * 1.001 + 1e-6];
        }
        yield 'a sample' => [['results', 0, 'samples', 3], static fn(float|int $value): float => $value * 1.1];
        yield 'n' => [['results', 0, 'n'], static fn(int $value): int => $value + 1];
        yield 'its rounds' => [['results', 0, 'rounds'], static fn(array $value): array => [...$value, 1]];
        yield 'no rounds' => [['results', 0, 'rounds'], static fn(): array => []];
        yield 'a round of nothing' => [['results', 0, 'rounds'], static fn(array $value): array => [...$value, 0]];
        yield 'half a round' => [['results', 0, 'rounds', 0], static fn(int $value): float => $value + 0.5];
        yield 'a round too short' => [['results', 0, 'rounds', 0], static fn(int $value): int => $value - 1];
        yield 'no samples' => [['results', 0, 'samples'], static fn(): array => []];
        yield 'a sample below nothing' => [['results', 0, 'samples', 0], static fn(): float => -1.0];
        yield 'its subject' => [['results', 0, 'subject'], static fn(): string => 'another'];
        yield 'its connection' => [['results', 0, 'connection'], static fn(): string => 'pigeon'];
        yield 'its unit' => [['results', 0, 'unit'], static fn(): string => 'ns'];
        yield 'its placement' => [['results', 0, 'placement'], static fn(): string => 'other'];
        yield 'an unknown placement' => [['results', 0, 'placement'], static fn(): string => 'elsewhere'];
        yield 'its request' => [['results', 0, 'request'], static fn(): int => 175];
        yield 'a request of nothing' => [['results', 0, 'request'], static fn(): int => 0];
        yield 'nobody' => [['results', 0, 'concurrency'], static fn(): int => 0];
        yield 'the same twice' => [['results'], static fn(array $value): array => [...$value, $value[0]]];
        yield 'whether it holds' => [['ratios', 0, 'holds'], static fn(): bool => true];
        yield 'a limit less' => [['ratios', 0, 'limit'], static fn() => null];
        yield 'half an interval' => [['ratios', 0, 'low'], static fn() => null];
        yield 'an interval turned round' => [['ratios', 0, 'low'], static fn(): float => 1e6];
        yield 'its kind' => [['ratios', 0, 'kind'], static fn(): string => 'guess'];
        yield 'when it began' => [['started'], static fn(): string => 'yesterday'];
        yield 'a version that is a number' => [['versions', 'PHP'], static fn(): int => 8];
    }

    /** @param list<string|int> $path */
    #[DataProvider('changes')]
    public function testWhatWasChangedByHand(array $path, \Closure $change): void
    {
        $report = \json_decode((new Json())->encode(Fixture::report(rounds: 3, samples: 3, scenarios: ['loop'])), true, 16, \JSON_THROW_ON_ERROR);
        self::assertIsArray($report);
        $report['ratios'] = \array_values(\array_filter($report['ratios'], static fn(array $ratio): bool => $ratio['holds'] === false));
        (new JsonReader())->decode((string) \json_encode($report));

        $this->refusedJson($report, $path, $change(self::at($report, $path)));
    }

    /**
     * @param array<mixed>     $report
     * @param list<string|int> $path
     */
    private function refusedJson(array $report, array $path, mixed $value, bool $remove = false): void
    {
        $at = &$report;
        $last = \array_pop($path);
        foreach ($path as $name) {
            $at = &$at[$name];
        }
        if ($remove) {
            unset($at[$last]);
        } else {
            $at[$last] = $value;
        }
        try {
            (new JsonReader())->decode((string) \json_encode($report));
        } catch (ReportUnreadable $exception) {
            self::assertNotSame('', $exception->getMessage());

            return;
        }
        self::fail(\implode('.', [...$path, $last]) . ($remove ? ' was left out' : ' was changed') . ', and the report was read all the same.');
    }

    /**
     * @param array<mixed>     $report
     * @param list<string|int> $path
     */
    private static function at(array $report, array $path): mixed
    {
        foreach ($path as $name) {
            $report = $report[$name];
        }

        return $report;
    }

    /**
     * @param array<mixed>     $value
     * @param list<string|int> $path
     *
     * @return iterable<list<string|int>>
     */
    private static function objects(array $value, array $path = []): iterable
    {
        if ($value !== [] && !\array_is_list($value)) {
            yield $path;
        }
        foreach ($value as $name => $item) {
            if (\is_array($item)) {
                yield from self::objects($item, [...$path, $name]);
            }
        }
    }

    private function refused(string $message, \Closure $read): void
    {
        $this->expectException(ReportUnreadable::class);
        $this->expectExceptionMessageMatches($message);

        $read();
    }
}
