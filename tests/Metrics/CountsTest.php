<?php

declare(strict_types=1);

namespace Larder\Tests\Metrics;

use Larder\Cache;
use Larder\Metrics\OpenMetrics;
use Larder\Request\Observer;
use Larder\System\CountLog;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Many processes count the same cache's requests, and die. */
#[Group('long')]
#[CoversClass(Observer::class)]
#[CoversClass(CountLog::class)]
final class CountsTest extends TestCase
{
    private const PROCESSES = 8;

    /** Operations of a request: gets that hit or miss, computations and sets. */
    private const OPERATIONS = 100;

    /** Before each request and after it the program says so; in between it counts along by itself. */
    private const PROGRAM = <<<'PHP'
        $cache = Larder\Cache::open(['dsn' => $argv[1], 'near' => $argv[2], 'metrics' => true]);
        [$gets, $computed, $sets] = [[], 0, 0];
        for ($request = 1; $request <= (int) $argv[3]; $request++) {
            fwrite(STDOUT, "begins $request\n");
            for ($i = 0; $i < 100; $i++) {
                switch (random_int(0, 3)) {
                    case 0:
                        $sets += $cache->group('set')->set($argv[4] . random_int(1, 20), random_int(1, 1000)) ? 1 : 0;
                        break;
                    case 1:
                        $gets['computed'] = ($gets['computed'] ?? 0) + 1;
                        $cache->group('computed')->remember('key' . random_int(1, 5000), static function () use (&$computed): int { return ++$computed; });
                        break;
                    case 2:
                        $gets['got'] = ($gets['got'] ?? 0) + 1;
                        $cache->group('got')->get('key' . random_int(1, 100));
                        break;
                    default:
                        $gets['(none)'] = ($gets['(none)'] ?? 0) + 2;
                        $cache->getMultiple(['a' . random_int(1, 50), 'b' . random_int(1, 50)]);
                }
            }
            $cache->refresh();
        }
        unset($cache);
        fwrite(STDOUT, json_encode([$gets, $computed, $sets]) . "\n");
        PHP;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    public function testAllThatProcessesDoAtOnceIsCounted(): void
    {
        $requests = \intdiv(100_000, self::PROCESSES * self::OPERATIONS);
        $all = ['gets' => [], 'computed' => 0, 'sets' => 0];
        foreach ($this->start('none', $requests) as $process) {
            $lines = \explode("\n", \trim($process->output(300.0)));
            self::assertSame([0, ''], [$process->wait(), $process->errors()]);
            /** @var array{array<string, int>, int, int} $own */
            $own = \json_decode((string) \end($lines), true, flags: \JSON_THROW_ON_ERROR);
            foreach ($own[0] as $group => $count) {
                $all['gets'][$group] = ($all['gets'][$group] ?? 0) + $count;
            }
            $all['computed'] += $own[1];
            $all['sets'] += $own[2];
        }

        $text = $this->text();
        $gets = \array_map(static fn(array $tiers): int => \array_sum($tiers['request'] ?? []), Exposition::gets($text));
        \ksort($gets);
        \ksort($all['gets']);
        self::assertSame($all['gets'], $gets);
        $samples = Exposition::samples($text);
        self::assertSame((float) $all['computed'], $samples['larder_computations_total']);
        self::assertSame($all['sets'] + $all['computed'], self::writes($samples));
    }

    public function testAKilledProcessLosesOneRequestAtMost(): void
    {
        $least = $most = 0;
        for ($round = 0; $round < 5; $round++) {
            $processes = $this->start('apcu', 1_000_000);
            foreach ($processes as $process) {
                for ($request = 1; $request <= 5; $request++) {
                    $process->expect("begins $request");
                }
                \posix_kill($process->pid, \SIGKILL);
            }
            foreach ($processes as $process) {
                $begun = 5 + \substr_count($process->output(), 'begins ');
                $most += $begun;
                $least += $begun - 1;
            }
        }

        $operations = 0;
        foreach (Exposition::gets($this->text()) as $group => $tiers) {
            $operations += \intdiv(\array_sum($tiers['request'] ?? []), $group === '(none)' ? 2 : 1);
        }
        $samples = Exposition::samples($this->text());
        $operations += self::writes($samples);
        // What remember() stores is no operation of its own.
        $operations -= (int) $samples['larder_computations_total'];
        self::assertLessThanOrEqual($most * self::OPERATIONS, $operations);
        self::assertGreaterThanOrEqual($least * self::OPERATIONS, $operations);
    }

    /** @return list<Process> */
    private function start(string $near, int $requests): array
    {
        return \array_map(fn(int $i): Process => Process::snippet(self::PROGRAM, [$this->dsn(), $near, (string) $requests, "p$i-"]), \range(1, self::PROCESSES));
    }

    /** @param array<string, float> $samples */
    private static function writes(array $samples): int
    {
        return (int) \array_sum(\array_filter($samples, static fn(string $name): bool => \str_starts_with($name, 'larder_writes_total'), \ARRAY_FILTER_USE_KEY));
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->directory->file('cache');
    }

    private function text(): string
    {
        return (new OpenMetrics(Cache::open(['dsn' => $this->dsn(), 'near' => 'none'])))->text();
    }
}
