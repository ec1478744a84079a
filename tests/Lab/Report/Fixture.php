<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Scenario\Engines;
use Larder\Lab\Scenario\Loop;
use Larder\Lab\Scenario\Serializers;
use Larder\Tests\Lab\Compare\Reports;
use Random\Engine\Mt19937;
use Random\Randomizer;

/** Made-up reports that look like real ones: every combination of the published tables, figures of about the real size. */
final class Fixture
{
    /** What breaks tables, pages and terminals that trust what they are given. */
    public const HOSTILE = "ev|il</td></script><script>alert(1)</script>\x1b[2J\r\n| **x** | `` ``` <fg=red>red</> \u{202E}\u{0085}[a](http://a.example) \\";

    private const SERVERS = ['redis' => 1.0, 'predis' => 2.4, 'memcached' => 1.1, 'memcached_nocompression' => 1.05, 'larder-redis' => 1.15, 'larder-predis' => 2.6, 'larder-memcached' => 1.2];
    private const PROCESS = ['apcu' => 0.09, 'files' => 12.0, 'larder-apcu' => 0.25, 'larder-sqlite' => 4.9, 'larder-files' => 18.0];
    private const ROAD = [Cell::SOCKET => 45.0, Cell::TCP => 65.0, Cell::NETWORK => 1100.0];
    private const SERIALIZERS = ['php' => 1.0, 'igbinary' => 0.55, 'msgpack' => 0.8];

    private readonly Randomizer $random;

    private function __construct(
        int $seed,
        private readonly int $rounds,
        private readonly int $samples,
    ) {
        $this->random = new Randomizer(new Mt19937($seed));
    }

    /**
     * @param int<1, max>   $rounds
     * @param int<1, max>   $samples   a round, of each result
     * @param ?list<string> $scenarios of engines, serializers, loop; null: all
     * @param bool          $hostile   adds an engine, a note, a version and more that hold HOSTILE
     * @param bool          $larder    whether Larder was measured
     * @param bool          $network   whether anything was measured over the network
     * @param ?float        $interval  the ratios' half width, as a part of 1; null: too few rounds for one
     */
    public static function report(
        int $seed = 1,
        int $rounds = 4,
        int $samples = 3,
        ?array $scenarios = null,
        bool $partial = false,
        bool $quiet = true,
        bool $hostile = false,
        bool $larder = true,
        bool $network = true,
        ?float $interval = 0.04,
    ): Report {
        $self = new self($seed, $rounds, $samples);
        $all = ['engines' => $self->engines($larder, $network), 'serializers' => $self->serializers(), 'loop' => $self->loop($larder)];
        foreach ($hostile ? [['engines', 'php', 'none', '50x50'], ['serializers', self::HOSTILE, self::HOSTILE, self::HOSTILE]] : [] as [$scenario, $serializer, $compressor, $payload]) {
            $like = $self->result('x/x/x/x/1', 0.01);
            $all[$scenario][] = new Result(new Cell($scenario, self::HOSTILE, self::HOSTILE, Cell::PROCESS, $serializer, $compressor, $payload, 'read'), $like->rounds, $like->perSecond);
        }
        $all = \array_intersect_key($all, \array_flip($scenarios ?? \array_keys($all)));
        $results = \array_merge(...\array_values($all));
        $presentations = [
            'engines' => (new Engines())->presentation(),
            'serializers' => (new Serializers())->presentation(),
            'loop' => (new Loop())->presentation(),
        ];

        return new Report(
            'bin/larder bench ' . \implode(' ', \array_keys($all)) . " --seed=$seed" . ($hostile ? ' ' . self::HOSTILE : ''),
            ['processor' => 'Made Up 3000', 'cores' => 2, 'memory' => 4_102_213_632, 'system' => 'Debian GNU/Linux 12', 'kernel' => '6.1.0', 'load' => 0.25]
                + ($hostile ? [self::HOSTILE => self::HOSTILE] : []),
            ['PHP' => '8.2.31', 'Redis' => '7.0.15', 'Memcached' => '1.6.18', 'igbinary' => '3.2.16'] + ($hostile ? [self::HOSTILE => self::HOSTILE] : []),
            \array_values(\array_intersect_key($presentations, $all)),
            $results,
            $self->ratios($results, $interval, $larder),
            [['subject' => 'redis:socket:lzf', 'scenario' => 'engines', 'what' => 'the PHP extension lzf', 'advice' => 'apt-get install php8.2-lzf']]
                + ($hostile ? [1 => ['subject' => self::HOSTILE, 'scenario' => self::HOSTILE, 'what' => self::HOSTILE, 'advice' => self::HOSTILE]] : []),
            [['subject' => 'memcached:tcp:msgpack', 'scenario' => 'engines', 'reason' => 'read gave a string of 19,999 bytes where 20,480 were written']]
                + ($hostile ? [1 => ['subject' => self::HOSTILE, 'scenario' => self::HOSTILE, 'reason' => self::HOSTILE]] : []),
            \array_values(\array_filter([
                'APCu stands in the place of XCache, which ended with PHP 5.',
                $partial ? 'Stopped before its end: these are the samples so far.' : '',
                $quiet ? '' : 'This machine is too noisy to tell 10 % apart.',
                $hostile ? self::HOSTILE : '',
            ])),
            $partial,
            $quiet,
            $seed,
            $rounds,
            '2026-05-06T07:08:09Z',
            512.25,
        );
    }

    /** @return list<Result> */
    private function engines(bool $larder, bool $network): array
    {
        $results = [];
        foreach (['short' => [1.0, 0.0], '20kB' => [1.6, 0.0], '50x50' => [2.0, 100.0]] as $payload => [$size, $serialize]) {
            foreach (['write' => 1.2, 'read' => 1.0] as $operation => $effort) {
                $times = [];
                foreach (self::SERIALIZERS as $serializer => $speed) {
                    foreach (self::SERVERS as $engine => $slower) {
                        foreach (self::ROAD as $connection => $road) {
                            $times["$engine:$connection:$serializer"] = $road * $slower * $size * $effort + $serialize * $speed;
                        }
                    }
                    foreach (self::PROCESS as $engine => $time) {
                        $times["$engine:process:$serializer"] = $time * $size * $effort + $serialize * $speed;
                    }
                }
                foreach (['opcache' => 0.098, 'lookup' => 0.03, 'larder-request' => 0.04] as $engine => $time) {
                    $times["$engine:process:none"] = $time * $effort;
                }
                foreach ([1 => 1.0, 10 => 4.5] as $concurrency => $crowd) {
                    foreach ($times as $subject => $time) {
                        if (($larder || !\str_starts_with($subject, 'larder')) && ($network || !\str_contains($subject, Cell::NETWORK))) {
                            $results[] = $this->result("engines/$subject/$payload/$operation/$concurrency", $time * $crowd, $concurrency);
                        }
                    }
                }
            }
        }

        return $results;
    }

    /** @return list<Result> */
    private function serializers(): array
    {
        $results = [];
        foreach (['50x50' => 100.0, 'options' => 300.0, 'feed' => 900.0] as $payload => $cost) {
            foreach (self::SERIALIZERS as $serializer => $speed) {
                foreach (['none' => [0.0, 1.0], 'gzdeflate' => [9.0, 0.2], 'zstd' => [0.9, 0.22], 'lz4' => [0.3, 0.35]] as $compressor => [$work, $left]) {
                    $id = "serializers/$serializer:$compressor/$payload";
                    \array_push($results, $this->result("$id/write/1", $cost * ($speed + $work)), $this->result("$id/read/1", $cost * ($speed + $work / 4)), Reports::measured("$id/size/1", [\floor($cost * 300 * $speed * $left)], Cell::BYTES));
                }
            }
        }

        return $results;
    }

    /** @return list<Result> */
    private function loop(bool $larder): array
    {
        $results = [];
        foreach (['redis:socket' => [45.0, 90.0], 'memcached:socket' => [40.0, 95.0], 'files:process' => [11.0, 11.5]] + ($larder ? ['larder-sqlite:process' => [4.9, 160.0]] : []) as $subject => [$read, $cycle]) {
            \array_push($results, $this->result("loop/$subject/short/read/1", $read), $this->result("loop/$subject/short/cycle/1", $cycle));
        }

        return $results;
    }

    /**
     * @param list<Result> $results
     *
     * @return list<Ratio>
     */
    private function ratios(array $results, ?float $interval, bool $larder): array
    {
        $centers = [];
        foreach ($results as $result) {
            $centers[$result->cell->id()] = \array_sum($result->centers()) / \count($result->rounds);
        }
        $ratio = fn(string $of, string $to, float $median, string $kind, ?float $limit = null, string $title = ''): Ratio
            => new Ratio($of, $to, $median, $interval === null ? 0.0 : $median * (1 - $interval), $interval === null ? \INF : $median * (1 + $interval), $this->rounds, $kind, $limit, $title, $kind === Ratio::TABLE ? [] : \array_fill(0, $this->rounds, $median));
        $ratios = [];
        foreach ($results as $result) {
            $cell = $result->cell;
            $serializer = $cell->serializer === 'none' ? 'php' : $cell->serializer;
            foreach ([["redis:socket:$serializer"], ['redis:socket'], ['php:none']] as [$base]) {
                $to = \implode('/', [$cell->scenario, $base, $cell->payload, $cell->operation, $cell->concurrency]);
                if (isset($centers[$to]) && $to !== $cell->id()) {
                    $ratios[] = $ratio($cell->id(), $to, $centers[$cell->id()] / $centers[$to], Ratio::TABLE);
                }
            }
        }
        $pair = static fn(string $of, string $to, float $median, float $limit): Ratio => $ratio("engines/$of", "engines/$to", $median, Ratio::PAIR, $limit, "$of against $to");
        if ($larder) {
            $ratios[] = $pair('larder-apcu:process:igbinary/short/read/1', 'apcu:process:php/short/read/1', 2.1, 3.0);
            $ratios[] = $pair('larder-apcu:process:igbinary/50x50/read/1', 'apcu:process:php/50x50/read/1', 1.2, 1.05);
        }
        $ratios[] = $ratio('engines/redis:socket:php/short/read/1', 'engines/redis:socket:php/short/read/1', 1.006, Ratio::NOISE, null, 'redis:socket:php against itself: read, short');

        return $ratios;
    }

    private function result(string $id, float $center, int $processes = 1): Result
    {
        $rounds = [];
        for ($round = 0; $round < $this->rounds; ++$round) {
            $drift = 1 + $this->random->getInt(-40, 40) / 1000;
            $samples = [];
            for ($sample = 0; $sample < $this->samples; ++$sample) {
                // One in fifty is interrupted.
                $late = $this->random->getInt(1, 50) === 1 ? 3.0 : 0.0;
                $samples[] = $center * $drift * (1 + $late + $this->random->getInt(0, 100) / 1000);
            }
            $rounds[] = $samples;
        }

        return new Result(Reports::measured($id, [1.0])->cell, $rounds !== [] ? $rounds : throw new \LogicException('No rounds.'), \round($processes * 1e6 / $center, 1));
    }
}
