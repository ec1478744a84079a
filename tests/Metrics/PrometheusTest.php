<?php

declare(strict_types=1);

namespace Larder\Tests\Metrics;

use Larder\Cache;
use Larder\Lab\Plan\Need;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\Program;
use Larder\Metrics\OpenMetrics;
use Larder\Tests\Docs\Example;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** A real Prometheus reads what there is to read, from the page of the manual. */
#[Group('long')]
#[CoversClass(OpenMetrics::class)]
final class PrometheusTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        self::assertNotNull(Need::find(['prometheus']), 'Type bin/setup metrics: it installs Prometheus.');
        $this->directory = new TemporaryDirectory();
        $cache = Cache::open(['dsn' => $this->dsn(), 'near' => 'none', 'metrics' => true]);
        foreach (["a\"b\\c\nd", "\xff", 'ä', '{}'] as $name) {
            $cache->group($name)->get('key') ?? $cache->group($name)->set('key', 'value');
        }
        $cache->remember('computed', static fn(): int => 1);
    }

    public function testPromtoolFindsNoFaultInThePlainText(): void
    {
        $larder = new Process([\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'metrics', '--plain', '--dsn=' . $this->dsn()]);
        $text = $larder->output();
        self::assertSame(0, $larder->wait(), $larder->errors());
        self::assertStringContainsString('larder_gets_total{', $text);

        $promtool = new Process(['promtool', 'check', 'metrics']);
        $promtool->write($text);
        $promtool->closeInput();
        self::assertSame(['', 0, ''], [$promtool->output(), $promtool->wait(), $promtool->errors()]);
    }

    public function testPrometheusScrapesThePageOfTheManual(): void
    {
        $examples = \array_values(\array_filter(Example::of('docs/operator.md'), static fn(Example $example): bool => \str_contains($example->code, 'OpenMetrics')));
        self::assertCount(1, $examples);
        $this->directory->write('metrics.php', \str_replace('<?php ', '<?php require ' . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . '; ', $examples[0]->script([])));
        $page = '127.0.0.1:' . Place::freePort();
        $web = new Process([\PHP_BINARY, '-S', $page, '-t', $this->directory->path], ['LARDER_DSN' => $this->dsn() . '?near=none']);
        $port = Place::freePort();
        $file = $this->directory->write('prometheus.yml', "global: {scrape_interval: 2s, scrape_timeout: 2s}\nscrape_configs: [{job_name: larder, metrics_path: /metrics.php, static_configs: [{targets: ['$page']}]}]\n");
        $prometheus = new Program('prometheus', ['prometheus', "--config.file=$file", "--storage.tsdb.path={$this->directory->path}/data", "--web.listen-address=127.0.0.1:$port"], $this->directory->path);
        $prometheus->start();
        $target = [];
        // The first scrapes may come before the web server listens.
        $prometheus->await(static function () use ($port, &$target): bool {
            $target = self::ask($port, 'targets')['activeTargets'][0] ?? [];

            return \is_array($target) && ($target['health'] ?? '') === 'up';
        }, 60.0);
        self::assertSame('', $target['lastError'] ?? null, $prometheus->log() . $web->errors());

        // Only OpenMetrics tells units: it has understood the content type.
        self::assertSame(
            ['larder_computations_seconds' => [['type' => 'summary', 'unit' => 'seconds']]],
            \array_map(static fn(array $all): array => \array_map(static fn(array $one): array => \array_diff_key($one, ['help' => '']), $all), self::ask($port, 'metadata', ['metric' => 'larder_computations_seconds'])),
        );
        $groups = \array_column(\array_column(self::query($port, 'larder_gets_total{tier="request"}'), 'metric'), 'group');
        \sort($groups);
        self::assertSame(['%FF', '(none)', "a\"b\\c\nd", '{}', 'ä'], $groups);
        self::assertSame('5', self::query($port, 'larder_writes_total{verdict="stored"}')[0]['value'][1] ?? null);

        $dashboard = \json_decode((string) \file_get_contents(\dirname(__DIR__, 2) . '/docs/grafana.json'), true, flags: \JSON_THROW_ON_ERROR);
        $asked = 0;
        \array_walk_recursive($dashboard, static function (mixed $value, int|string $key) use ($port, &$asked): void {
            if ($key === 'expr' && \is_string($value)) {
                // query() fails where Prometheus does not understand.
                self::query($port, \strtr($value, ['$instance' => '.*', '$__rate_interval' => '1m']));
                $asked++;
            }
        });
        self::assertGreaterThan(10, $asked);
    }

    /** @return list<array{metric: array<string, string>, value: array{float, string}}> */
    private static function query(int $port, string $query): array
    {
        /** @var list<array{metric: array<string, string>, value: array{float, string}}> */
        return self::ask($port, 'query', ['query' => $query])['result'] ?? self::fail("Prometheus does not understand $query");
    }

    /**
     * @param array<string, string> $parameters
     *
     * @return array<string, mixed> empty where it does not answer, or with an error
     */
    private static function ask(int $port, string $what, array $parameters = []): array
    {
        $answer = Place::answer("tcp://127.0.0.1:$port", "GET /api/v1/$what?" . \http_build_query($parameters) . " HTTP/1.0\r\nHost: localhost\r\n\r\n");
        $document = \json_decode((string) \strstr($answer, '{'), true);
        $data = \is_array($document) && ($document['status'] ?? '') === 'success' ? $document['data'] ?? [] : [];

        return \is_array($data) ? $data : [];
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->directory->file('cache');
    }
}
