<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Scenario;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Promise;
use Larder\Lab\Plan\Scope;
use Larder\Lab\Plan\Subject;
use Larder\Lab\Report\JsonReader;
use Larder\Lab\Run\Collection;
use Larder\Lab\Run\Context;
use Larder\Lab\Run\Measured;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Scenario\Catalog;
use Larder\Lab\Scenario\Scenarios;
use Larder\Lab\Scenario\Transients;
use Larder\Lab\Service\Account;
use Larder\Lab\Service\Network;
use Larder\Lab\Service\ServiceFailure;
use Larder\Lab\Service\Services;
use Larder\Lab\Subject\LarderExtension;
use Larder\Lab\Subject\WordPressSubjects;
use Larder\Lab\WordPress\Choice;
use Larder\Lab\WordPress\Stage;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The scenarios `transients` and `catalog`: what they plan, and, on real sites, what they find. */
final class WordPressScenariosTest extends TestCase
{
    private const FIXTURE = __DIR__ . '/../WordPress/Fixture/object-cache.php';

    /** Seen to fail: measured over the socket all the same, and another's without its words for a host. */
    public function testWhatLiesInRedisIsMeasuredWithRedisOnAnotherMachineToo(): void
    {
        $directory = new TemporaryDirectory('lab');
        $dropIn = $directory->write('object-cache.php', '<?php // It reads WP_REDIS_HOST.');
        $choice = new Choice('debian', ['knows' => $dropIn, 'other' => self::FIXTURE]);
        $found = [];
        foreach ((new Transients($choice, new Stage($choice)))->subjects() as $subject) {
            if ($subject->connection === Cell::NETWORK) {
                self::assertSame('redis@network', $subject->service);
                $found[$subject->name] = $subject->parameters['LARDER_DSN'] ?? $subject->parameters['WP_REDIS_HOST'];
            }
        }
        $dsn = 'redis://{host}:{port}?timeout=1';
        self::assertSame(['knows:network' => '{host}', 'larder-redis:network' => $dsn, 'larder-redis-apcu:network' => $dsn, 'larder-redis-segment:network' => $dsn], $found);
    }

    /** A get of what is on another machine cannot last less than the way there and back. Seen to fail: over the loopback. */
    #[Group('wordpress')]
    public function testTransientsWithRedisOnAnotherMachine(): void
    {
        $directory = new TemporaryDirectory('lab');
        // Strict types: a port that is no number is none.
        $dropIn = $directory->write('object-cache.php', \file_get_contents(self::FIXTURE) . '(new Redis())->connect(WP_REDIS_HOST, WP_REDIS_PORT) || throw new RuntimeException();');
        $report = self::bench($directory, ['transients', '--rounds=1', '--subjects=larder-redis:network,knows:network', "--dropin=knows=$dropIn"]);
        self::assertSame([], $report->disqualified);
        self::assertCount(12, $report->results);
        foreach ($report->results as $result) {
            self::assertSame(Cell::NETWORK, $result->cell->connection);
            self::assertGreaterThan($result->cell->engine === 'knows' ? 0.0 : 2 * Network::DELAY / 1e3, $result->summary->min, $result->cell->id());
        }
    }

    /** Whole sites are not brought up for who has asked for nothing. */
    public function testNeitherIsInThePartThatIsMeasuredUnasked(): void
    {
        self::assertSame([], \array_diff(['transients', 'catalog'], Scenarios::LARGE));
    }

    /** A promise's ratio is that of the rounds that measured both. Seen to fail: without it, or of all rounds. */
    public function testAPromiseIsJudgedByTheTables(): void
    {
        $scenario = new Transients(...self::choice());
        $tasks = [];
        foreach ($scenario->tasks(new Scope(Scope::EVERY), $scenario->subjects()) as $task) {
            $tasks[$task->id()] = $task;
        }
        $collection = new Collection(\array_values($tasks), ['transients' => $scenario]);
        for ($round = 0; $round < 5; ++$round) {
            $times = static fn(float $time): array => [new Measured([$time]), new Measured([2 * $time]), new Measured([$time])];
            $collection->add($round, $tasks['transients/larder-sqlite:process/published'], $times(10.0));
            $collection->add($round, $tasks['transients/other:process/published'], $times($round === 4 ? 1.0 : 40.0));
        }
        $collection->add(5, $tasks['transients/larder-sqlite:process/published'], [new Measured([1e6]), new Measured([1e6]), new Measured([1e6])]);
        $ratios = [];
        foreach ($collection->ratios() as $ratio) {
            $ratios[$ratio->title] = $ratio;
        }
        self::assertCount(3, $ratios);
        $ratio = $ratios['larder-sqlite:process against other:process: read, published'];
        self::assertSame([0.25, 5, 1.0, Ratio::TABLE], [\round($ratio->median, 9), $ratio->rounds, $ratio->limit, $ratio->kind]);
    }

    /**
     * The real thing: a site with Larder, one with the drop-in of this directory, and one with the same drop-in that
     * lies.
     */
    #[Group('wordpress')]
    public function testTransientsOnRealSites(): void
    {
        $directory = new TemporaryDirectory('lab');
        \mkdir($plugin = $directory->file('lying'));
        \copy(self::FIXTURE, "$plugin/object-cache.php");
        \file_put_contents("$plugin/lying.php", "<?php\n/*\n * Plugin Name: Lies\n */\nregister_activation_hook(__FILE__, fn() => touch(WP_CONTENT_DIR . '/lies'));\n");
        $report = self::bench($directory, ['transients', '--rounds=2', '--subjects=larder-sqlite,honest,lying', '--dropin=honest=' . self::FIXTURE, "--dropin=lying=$plugin"], status: 1);

        $measured = \array_map(static fn(Result $result): string => $result->cell->id(), $report->results);
        $expected = [];
        foreach (['honest', 'larder-sqlite'] as $subject) {
            foreach (['published', 'short'] as $payload) {
                foreach (['write', 'read', 'delete'] as $operation) {
                    $expected[] = "transients/$subject:process/$payload/$operation/1";
                }
            }
        }
        self::assertEqualsCanonicalizing($expected, $measured);
        foreach ($report->results as $result) {
            self::assertGreaterThan(0.01, $result->summary->min, $result->cell->id());
        }
        self::assertSame(['lying:process'], \array_column($report->disqualified, 'subject'));
        self::assertMatchesRegularExpression('/write, 1 at once, round 1: \d{3} of 4000 calls gave another value/', $report->disqualified[0]['reason']);
        self::assertCount(6, \array_filter($report->ratios, static fn(Ratio $ratio): bool => $ratio->limit === 1.0));
        self::assertStringContainsString('--dropin=honest=', $report->command);
        self::assertArrayHasKey('WordPress', $report->versions);
    }

    /** The script belongs to whoever runs the laboratory, the site to its web server's user. Seen to fail: one directory for both. */
    #[Group('wordpress')]
    public function testTheLoopAndASiteHaveASegmentEach(): void
    {
        LarderExtension::need()->met || self::markTestSkipped(LarderExtension::need()->advice);
        $report = self::bench(new TemporaryDirectory('lab'), ['loop', 'transients', '--rounds=1', '--subjects=larder-segment']);

        self::assertSame([], $report->disqualified);
        self::assertCount(9, $report->results);
    }

    /** Larder goes on without a near tier. Seen to fail: without SiteTask::inspect(). */
    #[Group('wordpress')]
    public function testASiteWithoutItsNearTierIsNotMeasured(): void
    {
        [$choice, $stage] = self::choice();
        $subject = \array_column(WordPressSubjects::all($choice), null, 'name')[WordPressSubjects::SEGMENT];
        $services = new Services();
        \mkdir($directory = $services->memory()->open()->file('site-larder-segment-process'), 0o700);
        \file_put_contents("$directory/segment", 'something else');
        Account::ofServers()->receive($directory);
        $task = (new Transients($choice, $stage))->tasks(new Scope(Scope::QUICK), [$subject])[0];

        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('Larder does not use segment as its near tier');
        $task->perform(new Context($services, $services->directory()->path, 1));
    }

    /** Seen to fail: without the plugin's folder, with a page of another number. */
    #[Group('wordpress')]
    #[Group('long')]
    public function testTheCatalogueOnRealSites(): void
    {
        $report = self::bench(new TemporaryDirectory('lab'), ['catalog', '--rounds=1', '--subjects=wordpress,larder-sqlite,honest', '--dropin=honest=' . self::FIXTURE]);

        self::assertSame([], $report->disqualified);
        $median = [];
        foreach ($report->results as $result) {
            $median[$result->cell->id()] = $result->summary->median;
        }
        self::assertGreaterThan(5.0, $median['catalog/wordpress:process/plain/queries/1']);
        self::assertSame($median['catalog/wordpress:process/plain/queries/1'], $median['catalog/honest:process/plain/queries/1'], 'it keeps nothing but transients');
        foreach (['plain', 'theme'] as $theme) {
            self::assertSame(0.0, $median["catalog/larder-sqlite:process/$theme/queries/1"]);
            self::assertGreaterThan(500.0, $median["catalog/larder-sqlite:process/$theme/reads/1"]);
        }
        foreach (['restarted', 'rebooted'] as $first) {
            self::assertSame($median['catalog/larder-sqlite:process/first/warm/1'], $median["catalog/larder-sqlite:process/first/$first/1"]);
        }
        self::assertNotSame([], \preg_grep('/first page after a restart or a reboot makes more SQL queries than before it with none/', $report->notes));
    }

    /**
     * @param list<string> $words
     * @param int          $status that the command ends with: 1 where it disqualifies a subject
     */
    private static function bench(TemporaryDirectory $directory, array $words, int $status = 0): Report
    {
        $file = $directory->file('report.json');
        $bench = Process::php(__DIR__ . '/../../../bin/larder', ['bench', ...$words, '--quick', "--json=$file"], [], ['XDG_CACHE_HOME' => $directory->path]);
        self::assertSame($status, $bench->wait(240.0), $bench->errors());
        self::assertSame([], \glob($directory->file('larder/lab/larder-lab-*')));

        return (new JsonReader())->read($file);
    }

    /** @return array{Choice, Stage} */
    private static function choice(): array
    {
        $choice = new Choice('debian', ['other' => self::FIXTURE]);

        return [$choice, new Stage($choice)];
    }
}
