<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** What `wp larder` says and does. */
#[Group('wordpress')]
final class CliCommandsTest extends SharedSiteTestCase
{
    private const FOREIGN = "<?php\n/*\nPlugin Name: Other Cache\n*/\nrequire_once ABSPATH . WPINC . '/cache.php';\n";

    public function testStatusOfAnInstallationThatWorks(): void
    {
        $this->site->web('return 1;');
        $status = $this->site->wp('larder', 'status', '--format=json')->json();
        self::assertSame(
            ['works' => true, 'drop-in' => 'in place', 'user' => $this->site->site->account->name, 'problem' => ''],
            \array_intersect_key($status, ['works' => 1, 'drop-in' => 1, 'user' => 1, 'problem' => 1]),
        );
        self::assertMatchesRegularExpression('/^request \(array\), (near \(\w+\), )?disk \(\w+\)$/', $status['tiers']);
        self::assertDirectoryExists($status['directory']);
        self::assertMatchesRegularExpression('/^works\tyes$/m', $this->site->wp('larder', 'status')->printed());
        self::assertStringContainsString('directory,' . $status['directory'], $this->site->wp('larder', 'status', '--format=csv')->printed());
    }

    public function testWithoutADropInItSaysWhatToType(): void
    {
        $this->site->wp('larder', 'disable')->printed();
        try {
            self::assertFileDoesNotExist($this->site->site->content('object-cache.php'));
            $status = $this->site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertStringContainsString('wp larder enable', $status->output);
            $flush = $this->site->wp('larder', 'flush');
            self::assertSame(1, $flush->status);
            self::assertStringContainsString('wp larder enable', $flush->errors);
        } finally {
            $this->site->wp('larder', 'enable')->printed();
        }
        self::assertStringContainsString('already', $this->site->wp('larder', 'enable')->printed());
        $this->site->wp('larder', 'status')->printed();
    }

    public function testAnotherPluginsDropInIsReplacedWhenThatIsAskedFor(): void
    {
        $file = $this->site->site->content('object-cache.php');
        $this->site->wp('larder', 'disable')->printed();
        try {
            \file_put_contents($file, self::FOREIGN);
            $this->site->site->account->receive($file);

            $status = $this->site->wp('larder', 'status');
            self::assertSame(1, $status->status);
            self::assertStringContainsString('Other Cache', $status->output);
            foreach (['enable', 'disable'] as $command) {
                $result = $this->site->wp('larder', $command);
                self::assertSame(1, $result->status);
                self::assertStringContainsString('Other Cache', $result->errors);
                self::assertStringEqualsFile($file, self::FOREIGN);
            }
        } finally {
            $replaced = $this->site->wp('larder', 'enable', '--force')->printed();
        }
        self::assertMatchesRegularExpression('~drop-in is kept: (\S+)$~m', $replaced);
        \preg_match('~drop-in is kept: (\S+)$~m', $replaced, $match);
        self::assertStringEqualsFile($match[1], self::FOREIGN);
        $this->site->wp('larder', 'status')->printed();
    }

    public function testAConstantThatSwitchesItOffIsNamed(): void
    {
        $this->site->site->define(['LARDER_DISABLED' => true]);
        $status = $this->site->wp('larder', 'status');
        self::assertSame(1, $status->status);
        self::assertStringContainsString('LARDER_DISABLED', $status->output);
    }

    public function testDoctorSaysWhoseTheCacheIs(): void
    {
        $this->site->web('return 1;');
        $findings = $this->site->wp('larder', 'doctor', '--format=json')->json();
        self::assertGreaterThan(3, \count($findings));
        self::assertSame(
            ['level' => 'ok', 'subject' => 'user', 'text' => $this->site->site->account->name . ', who owns the cache', 'fix' => ''],
            $findings[0],
        );
        self::assertNotContains('fail', \array_column($findings, 'level'));
    }

    public function testDoctorFailsWhereNothingCanBeStored(): void
    {
        $this->site->site->define(['LARDER_DIRECTORY' => '/proc/larder']);
        $doctor = $this->site->wp('larder', 'doctor');
        self::assertSame(1, $doctor->status, $doctor->output);
        self::assertMatchesRegularExpression('~^fail\tdirectory\t/proc/larder~m', $doctor->output);
        $status = $this->site->wp('larder', 'status');
        self::assertSame(1, $status->status);
        self::assertMatchesRegularExpression('~^problem\t.*wp larder doctor$~m', $status->output);
    }

    public function testWhySaysWhereAKeyLies(): void
    {
        $this->site->web('return wp_cache_set("a", "value", "larder_shop", 300);');
        $rows = $this->site->wp('larder', 'why', 'larder_shop', 'a', '--format=json')->json();
        $truth = \end($rows);
        self::assertStringEndsWith(', the truth', $truth['tier']);
        self::assertSame('value', $truth['kind']);
        self::assertIsNumeric($truth['ttl']);
        self::assertEqualsWithDelta(300, $truth['ttl'], 60);
        self::assertStringContainsString('5 min', $this->site->wp('larder', 'why', 'larder_shop', 'a')->printed());

        $this->site->web('return wp_cache_delete("a", "larder_shop");');
        $gone = $this->site->wp('larder', 'why', 'larder_shop', 'a', '--format=csv');
        self::assertSame([1, ''], [$gone->status, $gone->errors]);
        self::assertStringContainsString('the truth",absent', $gone->output);
        self::assertSame(1, $this->site->wp('larder', 'why', 'larder_shop', 'never')->status);
    }

    public function testWhyKnowsKeysByWordPresssNames(): void
    {
        $this->site->web('return [get_post(1)->ID, set_transient("larder_note", 1, 300), wp_cache_get("alloptions", "options")];');
        foreach ([['options', 'alloptions'], ['posts', '1'], ['transient', 'larder_note']] as [$group, $key]) {
            self::assertStringContainsString('the truth', $this->site->wp('larder', 'why', $group, $key)->printed());
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
        $result = $this->site->wp('larder', ...$words);
        self::assertSame([1, ''], [$result->status, $result->output], $result->errors);
        self::assertStringStartsWith('Error: ', $result->errors);
        self::assertStringContainsString($message, $result->errors);
    }

    public function testStatsAreThoseOfAllRequests(): void
    {
        $sum = fn(): array => $this->site->sum('larder', 'stats', '--by-hour', '--hours=2', '--format=json');
        $before = $sum();
        $this->site->web('return Larder\WordPress\Statistics::record($GLOBALS["wp_object_cache"]->larder()->group("~larder", cacheOnly: true), '
            . '["hits" => 7000, "misses" => 2000, "seconds" => 3.5, "round_trips" => 1, "tiers" => ["disk" => ["hits" => 5000, "misses" => 2000]]], 1000);');
        $after = $sum();
        self::assertGreaterThanOrEqual(1000, $after['requests'] - $before['requests']);
        self::assertGreaterThanOrEqual(7_000_000, $after['hits'] - $before['hits']);
        self::assertGreaterThanOrEqual(2_000_000, $after['misses'] - $before['misses']);
        self::assertGreaterThanOrEqual(5_000_000, $this->site->sum('larder', 'stats', '--format=json')['hits']);
        self::assertMatchesRegularExpression('/^disk\tsqlite\t\d+\t\d+\.\d [KM]iB\t256\.0 MiB\t/m', $this->site->wp('larder', 'stats')->printed());
    }

    public function testFlushesSaysWhoHasFlushed(): void
    {
        $this->site->web('return wp_cache_flush_group("larder_flushed");');
        $this->site->wp('larder', 'flush', '--group=larder_other')->printed();
        $this->site->wp('larder', 'flush')->printed();

        $flushes = $this->site->wp('larder', 'flushes', '--limit=3', '--format=json')->json();
        self::assertSame(['(all)', 'larder_other', 'larder_flushed'], \array_column($flushes, 'group'));
        self::assertStringEndsWith('larder flush', $flushes[0]['request']);
        self::assertStringEndsWith('larder flush --group…', $flushes[1]['request']);
        self::assertMatchesRegularExpression('~^(GET|POST) /[^?]*$~D', $flushes[2]['request']);
        self::assertMatchesRegularExpression('~^/.+:\d+$~D', $flushes[2]['caller']);
        self::assertStringNotContainsString('/plugins/larder/', $flushes[2]['caller']);
        self::assertSame([$this->site->site->account->name], \array_values(\array_unique(\array_column($flushes, 'user'))));
        self::assertStringContainsString("\tlarder_flushed\tyes\t", $this->site->wp('larder', 'flushes')->printed());
    }

    public function testTopListsTheLargestFirst(): void
    {
        $this->site->web('for ($i = 1; $i <= 3; $i++) { wp_cache_set("size $i", random_bytes($i * 300000), "larder_large"); } return 1;');
        $groups = $this->site->wp('larder', 'top', '--limit=1', '--format=json')->json();
        self::assertCount(1, $groups);
        self::assertSame(['group' => 'larder_large', 'entries' => 3], \array_diff_key($groups[0], ['bytes' => 1]));
        self::assertGreaterThan(1_800_000, $groups[0]['bytes']);
        self::assertMatchesRegularExpression('/^larder_large\tsize 3\t.*\nlarder_large\tsize 2\t/m', $this->site->wp('larder', 'top', '--keys', '--limit=2')->printed());
    }

    public function testBenchMeasuresAndLeavesNothing(): void
    {
        $rows = $this->site->wp('larder', 'bench', '--rounds=4', '--count=10', '--format=json')->json();
        $names = [];
        foreach ($rows as $row) {
            $names[] = $row['operation'] . ' ' . $row['copies'];
            self::assertSame(4, $row['n']);
            self::assertGreaterThan(0, $row['median_us']);
            self::assertGreaterThanOrEqual(0, $row['mad_us']);
        }
        self::assertSame(['set kept', 'get kept', 'delete kept', 'set dropped', 'get dropped', 'delete dropped'], $names);
        self::assertStringNotContainsString('larder_bench', $this->site->wp('larder', 'top', '--keys', '--limit=20', '--format=csv')->printed());
        self::assertSame([], $this->site->site->sql("SELECT option_name FROM wp_options WHERE option_name LIKE '%larder_bench%'"));
    }

    public function testBenchDoesNotMeasureWhatIsWrong(): void
    {
        $file = $this->site->site->content('mu-plugins/wrong.php');
        \file_put_contents($file, '<?php add_filter("all", static fn($name) => str_starts_with($name, "transient_larder_bench_") && str_ends_with($name, "_3") && add_filter($name, "__return_true"));');
        try {
            $result = $this->site->wp('larder', 'bench', '--rounds=3', '--count=10');
        } finally {
            \unlink($file);
        }
        self::assertSame([1, ''], [$result->status, $result->output], $result->errors);
        self::assertStringContainsString('came back changed', $result->errors);
    }
}
