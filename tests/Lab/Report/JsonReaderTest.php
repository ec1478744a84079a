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
    public function testOnlyAFileIsRead(): void
    {
        self::assertCount(\preg_match_all('/^\{"id"/m', (string) \file_get_contents(__DIR__ . '/report.json')), (new JsonReader())->read(__DIR__ . '/report.json')->results);
        foreach (['/There is no report at .*bin\/larder bench --json=FILE/' => '/none.json', '/Cannot read/' => ''] as $message => $file) {
            $this->refused($message, static fn() => (new JsonReader())->read(__DIR__ . $file));
        }
    }

    /** @return iterable<string, array{string, string}> */
    public static function others(): iterable
    {
        $report = (string) \file_get_contents(__DIR__ . '/report.json');
        yield 'empty' => ['', '/is not JSON/'];
        yield 'cut off' => [\substr($report, 0, 2000), '/is not JSON/'];
        yield 'too deep' => [\str_repeat('[', 100) . \str_repeat(']', 100), '/is not JSON/'];
        yield 'a list' => ['[1]', '/no report of the laboratory/'];
        yield 'another schema' => ['{"schema":"larder-bench-reportage/1"}', '/no report of the laboratory/'];
        yield 'a schema that is no text' => ['{"schema":1}', '/no report of the laboratory/'];
        yield 'another version' => [\str_replace(Json::SCHEMA, 'larder-bench-report/2', $report), '/is "larder-bench-report\/2", and this Larder reads "larder-bench-report\/3"/'];
    }

    #[DataProvider('others')]
    public function testWhatIsNoReport(string $json, string $message): void
    {
        $this->refused($message, static fn() => (new JsonReader())->decode($json));
    }

    /** Whatever is left out, of another type, or too much, anywhere, is refused. */
    public function testEveryMemberCounts(): void
    {
        $report = self::small();
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

    /** @return iterable<string, array{list<string|int>, mixed}> of the first result */
    public static function changes(): iterable
    {
        yield 'its rounds' => [['results', 0, 'rounds'], static fn(array $value): array => [...$value, 1]];
        yield 'a round of nothing' => [['results', 0, 'rounds'], static fn(array $value): array => [...$value, 0]];
        yield 'a round too short' => [['results', 0, 'rounds', 0], static fn(int $value): int => $value - 1];
        yield 'no samples' => [['results', 0, 'samples'], static fn(): array => []];
        yield 'its connection' => [['results', 0, 'connection'], static fn(): string => 'pigeon'];
        yield 'its unit' => [['results', 0, 'unit'], static fn(): string => 'ns'];
        yield 'the same twice' => [['results'], static fn(array $value): array => [...$value, $value[0]]];
        yield 'when it began' => [['started'], static fn(): string => 'yesterday'];
        yield 'a version that is a number' => [['versions', 'PHP'], static fn(): int => 8];
    }

    /** @param list<string|int> $path */
    #[DataProvider('changes')]
    public function testWhatIsNotWhole(array $path, \Closure $change): void
    {
        $report = self::small();
        $this->refusedJson($report, $path, $change(self::at($report, $path)));
    }

    /** @return array<string, mixed> with one result, and one ratio that does not hold */
    private static function small(): array
    {
        $report = \json_decode((string) \file_get_contents(__DIR__ . '/report.json'), true, 16, \JSON_THROW_ON_ERROR);
        $report['results'] = [$report['results'][2]];
        // It has words of every kind, and an empty object would come back as a list.
        $report['scenarios'] = \array_values(\array_filter($report['scenarios'], static fn(array $one): bool => $one['name'] === 'loop'));
        $report['ratios'] = \array_slice(\array_filter($report['ratios'], static fn(array $ratio): bool => $ratio['holds'] === false), 0, 1);
        (new JsonReader())->decode((string) \json_encode($report));

        return $report;
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
        $this->refused('/./', static fn() => (new JsonReader())->decode((string) \json_encode($report)), \implode('.', [...$path, $last]));
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

    private function refused(string $message, \Closure $read, string $what = ''): void
    {
        try {
            $read();
        } catch (ReportUnreadable $exception) {
            self::assertMatchesRegularExpression($message, $exception->getMessage());

            return;
        }
        self::fail("$what was changed or left out, and the report was read all the same.");
    }
}
