<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** What `wp larder` says and does. */
#[Group('wordpress')]
final class CliCommandsTest extends TestCase
{
    private const FOREIGN = "<?php\n/*\nPlugin Name: Other Cache\n*/\nrequire_once ABSPATH . WPINC . '/cache.php';\n";

    private static ?CliSite $site = null;

    public static function tearDownAfterClass(): void
    {
        self::$site?->site->stop();
        self::$site = null;
    }

    protected function setUp(): void
    {
        self::$site ??= new CliSite();
    }

    protected function tearDown(): void
    {
        self::assertSame('', self::$site?->site->errors());
    }

    public function testStatusOfAnInstallationThatWorks(): void
    {
        $site = $this->site();
        $site->web('return 1;');
        $status = $site->wp('larder', 'status', '--format=json')->json();
        self::assertIsArray($status);
        self::assertSame(
            ['works' => true, 'drop-in' => 'in place', 'user' => $site->site->account->name, 'problem' => ''],
            \array_intersect_key($status, ['works' => 1, 'drop-in' => 1, 'user' => 1, 'problem' => 1]),
        );
        self::assertMatchesRegularExpression('/^request \(array\), (near \(\w+\), )?disk \(\w+\)$/', $this->text($status['tiers']));
        self::assertDirectoryExists($this->text($status['directory']));
        self::assertMatchesRegularExpression('/^works\tyes$/m', $site->wp('larder', 'status')->printed());
        self::assertStringContainsString('directory,' . $this->text($status['directory']), $site->wp('larder', 'status', '--format=csv')->printed());
    }

    public function testWithoutADropInItSaysWhatToType(): void
    {
        $site = $this->site();
        $site->wp('larder', 'disable')->printed();
        try {
            self::assertFileDoesNotExist($site->site->content('object-cache.php'));
            $status = $site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertStringContainsString('wp larder enable', $status->output);
            $flush = $site->wp('larder', 'flush');
            self::assertSame(1, $flush->status);
            self::assertStringContainsString('wp larder enable', $flush->errors);
        } finally {
            $site->wp('larder', 'enable')->printed();
        }
        self::assertStringContainsString('already', $site->wp('larder', 'enable')->printed());
        $site->wp('larder', 'status')->printed();
    }

    public function testAnotherPluginsDropInIsReplacedWhenThatIsAskedFor(): void
    {
        $site = $this->site();
        $file = $site->site->content('object-cache.php');
        $site->wp('larder', 'disable')->printed();
        try {
            \file_put_contents($file, self::FOREIGN);
            $site->site->account->receive($file);

            $status = $site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertStringContainsString('Other Cache', $status->output);
            foreach (['enable', 'disable'] as $command) {
                $result = $site->wp('larder', $command);
                self::assertSame(1, $result->status);
                self::assertStringContainsString('Other Cache', $result->errors);
                self::assertStringEqualsFile($file, self::FOREIGN);
            }
        } finally {
            $replaced = $site->wp('larder', 'enable', '--force')->printed();
        }
        self::assertMatchesRegularExpression('~drop-in is kept: (\S+)$~m', $replaced);
        \preg_match('~drop-in is kept: (\S+)$~m', $replaced, $match);
        self::assertStringEqualsFile($match[1], self::FOREIGN);
        $site->wp('larder', 'status')->printed();
    }

    public function testAConstantThatSwitchesItOffIsNamed(): void
    {
        $site = $this->site();
        $site->site->define(['LARDER_DISABLED' => true]);
        try {
            $status = $site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertStringContainsString('LARDER_DISABLED', $status->output);
        } finally {
            $site->site->define([]);
        }
    }

    public function testDoctorSaysWhoseTheCacheIs(): void
    {
        $site = $this->site();
        $site->web('return 1;');
        $findings = $site->wp('larder', 'doctor', '--format=json')->json();
        self::assertIsArray($findings);
        self::assertGreaterThan(3, \count($findings));
        self::assertSame(
            ['level' => 'ok', 'subject' => 'user', 'text' => $site->site->account->name . ', who owns the cache', 'fix' => ''],
            $findings[0],
        );
        self::assertNotContains('fail', \array_column($findings, 'level'));
    }

    public function testDoctorFailsWhereNothingCanBeStored(): void
    {
        $site = $this->site();
        $site->site->define(['LARDER_DIRECTORY' => '/proc/larder']);
        try {
            $doctor = $site->wp('larder', 'doctor');
            self::assertSame(1, $doctor->status, $doctor->output);
            self::assertMatchesRegularExpression('~^fail\tdirectory\t/proc/larder~m', $doctor->output);
            $status = $site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertMatchesRegularExpression('~^problem\t.*wp larder doctor$~m', $status->output);
        } finally {
            $site->site->define([]);
        }
    }

    public function testWhySaysWhereAKeyLies(): void
    {
        $site = $this->site();
        $site->web('return wp_cache_set("a", "value", "larder_shop", 300);');
        $rows = $site->wp('larder', 'why', 'larder_shop', 'a', '--format=json')->json();
        self::assertIsArray($rows);
        $truth = \end($rows);
        self::assertIsArray($truth);
        self::assertStringEndsWith(', the truth', $this->text($truth['tier']));
        self::assertSame('value', $truth['kind']);
        self::assertIsNumeric($truth['ttl']);
        self::assertEqualsWithDelta(300, $truth['ttl'], 60);
        self::assertStringContainsString('5 min', $site->wp('larder', 'why', 'larder_shop', 'a')->printed());

        $site->web('return wp_cache_delete("a", "larder_shop");');
        $gone = $site->wp('larder', 'why', 'larder_shop', 'a', '--format=csv');
        self::assertSame([1, ''], [$gone->status, $gone->errors]);
        self::assertStringContainsString('the truth",absent', $gone->output);
        self::assertSame(1, $site->wp('larder', 'why', 'larder_shop', 'never')->status);
    }

    public function testWhyKnowsKeysByWordPresssNames(): void
    {
        $site = $this->site();
        $site->web('return [get_post(1)->ID, set_transient("larder_note", 1, 300), wp_cache_get("alloptions", "options")];');
        foreach ([['options', 'alloptions'], ['posts', '1'], ['transient', 'larder_note']] as [$group, $key]) {
            self::assertStringContainsString('the truth', $site->wp('larder', 'why', $group, $key)->printed());
        }
    }

    /** @param list<string> $words */
    #[TestWith([['flush', '--group=options', '--network'], '--group or --network'])]
    #[TestWith([['flush', '--network'], 'not part of a network'])]
    #[TestWith([['flush', '--group=counts'], 'not persistent'])]
    #[TestWith([['why', 'counts', 'x'], 'not persistent'])]
    #[TestWith([['why', 'options', ''], 'key'])]
    #[TestWith([['bench', '--count=0'], '--count must be a whole number from 1 to 10000'])]
    #[TestWith([['stats', '--hours=many'], '--hours must be a whole number from 1 to 168'])]
    public function testWhatCannotBeIsSaid(array $words, string $message): void
    {
        $result = $this->site()->wp('larder', ...$words);
        self::assertSame([1, ''], [$result->status, $result->output], $result->errors);
        self::assertStringStartsWith('Error: ', $result->errors);
        self::assertStringContainsString($message, $result->errors);
    }

    public function testStatsAreThoseOfAllRequests(): void
    {
        $site = $this->site();
        $sum = static fn(): array => $site->sum('larder', 'stats', '--by-hour', '--hours=2', '--format=json');
        $before = $sum();
        $site->web('return Larder\WordPress\Statistics::record($GLOBALS["wp_object_cache"]->larder()->group("~larder", cacheOnly: true), '
            . '["hits" => 7000, "misses" => 2000, "seconds" => 3.5, "round_trips" => 1, "tiers" => ["disk" => ["hits" => 5000, "misses" => 2000]]], 1000);');
        $after = $sum();
        self::assertGreaterThanOrEqual(1000, $after['requests'] - $before['requests']);
        self::assertGreaterThanOrEqual(7_000_000, $after['hits'] - $before['hits']);
        self::assertGreaterThanOrEqual(2_000_000, $after['misses'] - $before['misses']);
        self::assertGreaterThanOrEqual(5_000_000, $site->sum('larder', 'stats', '--format=json')['hits']);
        self::assertMatchesRegularExpression('/^disk\tsqlite\t\d+\t\d+\.\d [KM]iB\t256\.0 MiB\t/m', $site->wp('larder', 'stats')->printed());
    }

    public function testTopListsTheLargestFirst(): void
    {
        $site = $this->site();
        $site->web('for ($i = 1; $i <= 3; $i++) { wp_cache_set("size $i", random_bytes($i * 300000), "larder_large"); } return 1;');
        $groups = $site->wp('larder', 'top', '--limit=1', '--format=json')->json();
        self::assertIsArray($groups);
        self::assertCount(1, $groups);
        self::assertIsArray($groups[0]);
        self::assertSame(['group' => 'larder_large', 'entries' => 3], \array_diff_key($groups[0], ['bytes' => 1]));
        self::assertGreaterThan(1_800_000, $groups[0]['bytes']);
        self::assertMatchesRegularExpression('/^larder_large\tsize 3\t.*\nlarder_large\tsize 2\t/m', $site->wp('larder', 'top', '--keys', '--limit=2')->printed());
    }

    public function testBenchMeasuresAndLeavesNothing(): void
    {
        $site = $this->site();
        $rows = $site->wp('larder', 'bench', '--rounds=4', '--count=10', '--format=json')->json();
        self::assertIsArray($rows);
        $names = [];
        foreach ($rows as $row) {
            self::assertIsArray($row);
            $names[] = $this->text($row['operation']) . ' ' . $this->text($row['copies']);
            self::assertSame(4, $row['n']);
            self::assertGreaterThan(0, $row['median_us']);
            self::assertGreaterThanOrEqual(0, $row['mad_us']);
        }
        self::assertSame(['set kept', 'get kept', 'delete kept', 'set dropped', 'get dropped', 'delete dropped'], $names);
        self::assertStringNotContainsString('larder_bench', $site->wp('larder', 'top', '--keys', '--limit=20', '--format=csv')->printed());
        self::assertSame([], $site->site->sql("SELECT option_name FROM wp_options WHERE option_name LIKE '%larder_bench%'"));
    }

    public function testBenchDoesNotMeasureWhatIsWrong(): void
    {
        $site = $this->site();
        $file = $site->site->content('mu-plugins/wrong.php');
        \file_put_contents($file, '<?php add_filter("all", static fn($name) => str_starts_with($name, "transient_larder_bench_") && str_ends_with($name, "_3") && add_filter($name, "__return_true"));');
        try {
            $result = $site->wp('larder', 'bench', '--rounds=3', '--count=10');
        } finally {
            \unlink($file);
        }
        self::assertSame([1, ''], [$result->status, $result->output], $result->errors);
        self::assertStringContainsString('came back changed', $result->errors);
    }

    private function text(mixed $value): string
    {
        self::assertIsString($value);

        return $value;
    }

    private function site(): CliSite
    {
        return self::$site ?? throw new \LogicException('There is no site.');
    }
}
