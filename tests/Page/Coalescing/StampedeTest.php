<?php

declare(strict_types=1);

namespace Larder\Tests\Page\Coalescing;

use Larder\Cache;
use Larder\Page\PageCache;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/**
 * 200 visitors at once of a page that takes its time, at php-fpm with 16 workers; also at two of them over one Redis.
 *
 * What a page is to do stands in files, so that a test decides how long it takes: counts and orders are asserted, no times.
 */
#[CoversNothing]
#[Group('slow')]
final class StampedeTest extends TestCase
{
    private const WORKERS = 16;
    private const VISITORS = 200;

    private FpmServer $fpm;
    private ?FpmServer $other = null;

    private TemporaryDirectory $directory;
    private ?RedisServer $redis = null;
    private string $dsn;

    protected function setUp(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('There is no php-fpm.');
        }
        $this->fpm = new FpmServer(self::WORKERS, ini: ['display_errors' => 0]);
        $this->directory = new TemporaryDirectory();
        // Long enough for a busy machine: a visitor whom others keep from the database for longer makes the page.
        $this->dsn = "sqlite://$this->directory/store?timeout=5";
    }

    protected function tearDown(): void
    {
        $this->other?->stop();
        isset($this->fpm) && $this->fpm->stop();
        $this->redis?->stop();
    }

    #[TestWith([false])]
    #[TestWith([true])]
    public function testAColdPageIsMadeOnce(bool $hasTwoServers): void
    {
        $this->over($hasTwoServers);
        $crowd = $this->crowd($this->script('header("Cache-Control: max-age=60"); ' . self::takesItsTime() . 'echo "page";'), $hasTwoServers);
        $this->awaitRuns(1);
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(['page' => self::VISITORS], $crowd->bodies());
        self::assertSame(1, $this->runs());
    }

    /** Each server serves the old page to all, while one process of one of them makes the new one. */
    #[TestWith([false])]
    #[TestWith([true])]
    public function testNobodyWaitsForAnExpiredPage(bool $hasTwoServers): void
    {
        $this->over($hasTwoServers);
        $script = $this->script('header("Cache-Control: max-age=60, stale-while-revalidate=60"); if (isset($_SERVER["HTTP_IF_NONE_MATCH"])) { ' . self::takesItsTime() . ' } header("ETag: \"$runs\""); echo "page $runs";');
        $this->first($script);
        // Here is no web server that a renewal could ask: the first visitor finds that out, and the next one builds.
        (new PageCache(Cache::open($this->dsn)))->expire('/');
        $crowd = $this->crowd($script, $hasTwoServers);
        self::assertTrue($crowd->await(self::VISITORS - 1));
        self::assertSame(['page 1' => self::VISITORS - 1], $crowd->bodies());
        self::assertSame(2, $this->runs());
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(['page 1' => self::VISITORS - 1, 'page 2' => 1], $crowd->bodies());
        self::assertSame(2, $this->runs());
    }

    /** kill -9 of the process that builds: its right ends with it, and another one has it. */
    public function testAKilledBuilderIsFollowedByAnother(): void
    {
        $crowd = $this->crowd($this->script('header("Cache-Control: max-age=60"); if ($runs === 1) { sleep(60); } ' . self::takesItsTime() . 'echo "page";'));
        $this->awaitRuns(1);
        \posix_kill((int) \file_get_contents($this->directory->file('builder')), \SIGKILL);
        $this->awaitRuns(2);
        $this->go();
        self::assertTrue($crowd->await(), $this->fpm->log());
        self::assertSame(['nothing' => 1, 'page' => self::VISITORS - 1], $crowd->bodies());
        self::assertSame(2, $this->runs(), $this->fpm->log());
    }

    /** The same while another process writes to the database for longer than anybody waits for it: nobody can note that he builds. */
    public function testAKilledBuilderIsFollowedByFewWhereTheDatabaseIsBusy(): void
    {
        // Afterwards nobody is kept from it for so long, however busy the machine is.
        $this->dsn = "sqlite://$this->directory/store?timeout=2";
        $script = $this->script('header("Cache-Control: max-age=60"); if ($runs === 1) { sleep(60); } ' . self::takesItsTime() . 'echo "page";');
        $crowd = $this->crowd($script);
        $this->awaitRuns(1);
        $bells = \glob($this->directory->file('store/bell.*')) ?: [];
        self::assertCount(1, $bells);
        $writer = \fopen($bells[0], 'r+');
        self::assertIsResource($writer);
        self::assertTrue(\flock($writer, \LOCK_EX));
        \posix_kill((int) \file_get_contents($this->directory->file('builder')), \SIGKILL);
        $this->awaitRuns(2);
        // All others have asked, and been told that the database is busy.
        for ($end = \hrtime(true) + 20_000_000_000; \substr_count($this->fpm->log(), 'has been writing') < self::WORKERS - 1 && \hrtime(true) < $end; \usleep(10_000));
        \fclose($writer);
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(['nothing' => 1, 'page' => self::VISITORS - 1], $crowd->bodies());
        self::assertLessThanOrEqual(self::WORKERS / 2, $this->runs());
    }

    /** A page that turns out private, cannot be stored, or fails: after the first one all workers make it side by side. */
    #[TestWith(['header("Cache-Control: private, max-age=60");'])]
    #[TestWith(['setcookie("session", "1"); header("Cache-Control: max-age=60");'])]
    #[TestWith(['header("Vary: *");'])]
    #[TestWith([''])]
    #[TestWith(['http_response_code(500);'])]
    #[TestWith(['register_shutdown_function(static fn() => no_such_function());'])]
    #[TestWith(['while (ob_get_level() > 0) { ob_end_clean(); }'])]
    public function testNobodyIsQueuedForAPageThatIsNotStored(string $why): void
    {
        $script = $this->script($why . ' if ($runs > 1) { ' . self::takesItsTime() . '} echo "page";');
        $this->first($script);
        $crowd = new Crowd([$this->fpm->socket], $script, self::WORKERS * 2);
        // As many at once as there are workers.
        $this->awaitRuns(1 + self::WORKERS);
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(1 + self::WORKERS * 2, $this->runs());
    }

    /** A visitor with a cookie that may make the page private waits for nobody, not even once. */
    public function testNobodyIsQueuedWithAPrivateCookie(): void
    {
        $crowd = new Crowd([$this->fpm->socket], $this->script('header("Cache-Control: max-age=60"); ' . self::takesItsTime() . 'echo "page";'), self::WORKERS * 2, cookie: 'session=1');
        $this->awaitRuns(self::WORKERS);
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(self::WORKERS * 2, $this->runs());
    }

    /** A cache that nobody can reach, or write: nobody waits for a builder that cannot be, and nobody is told that one is busy. */
    #[TestWith(['wait'])]
    #[TestWith(['busy'])]
    public function testNobodyIsQueuedWhereTheCacheIsDown(string $overflow): void
    {
        $this->over(true);
        $script = $this->script('header("Cache-Control: max-age=60"); if ($runs > 1) { ' . self::takesItsTime() . '} echo "page";', ['overflow' => $overflow, 'wait' => 60]);
        $this->first($script);
        $this->redis?->stop();
        $crowd = new Crowd([$this->fpm->socket], $script, self::WORKERS * 2);
        $this->awaitRuns(1 + self::WORKERS);
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(['page' => self::WORKERS * 2], $crowd->bodies());
    }

    /** By default all wait for the one run, and so does the visitor of another, cached page: for that run and no longer. */
    public function testABystanderWaitsForOneRunAtMost(): void
    {
        $script = $this->script('header("Cache-Control: max-age=60"); if ($_SERVER["REQUEST_URI"] === "/slow") { ' . self::takesItsTime() . ' } echo "page";');
        $this->first($script);
        $crowd = new Crowd([$this->fpm->socket], $script, self::VISITORS, '/slow');
        $this->awaitRuns(2);
        $bystander = new Crowd([$this->fpm->socket], $script, 1);
        $this->go();
        self::assertTrue($bystander->await(null, $crowd));
        self::assertTrue($crowd->await());
        self::assertSame([['page' => 1], ['page' => self::VISITORS]], [$bystander->bodies(), $crowd->bodies()]);
        self::assertSame(2, $this->runs());
    }

    /** overflow: busy. As many wait as may, all others hear at once that they are to come again, and the bystander is served. */
    #[TestWith([5, 5])]
    #[TestWith([0, 0])]
    #[TestWith([null, 6, 25])]
    public function testABusyServer(?int $waiters, int $places, int $workers = self::WORKERS): void
    {
        if ($workers !== self::WORKERS) {
            $this->fpm->stop();
            $this->fpm = new FpmServer($workers, ini: ['display_errors' => 0]);
        }
        $script = $this->script('header("Cache-Control: max-age=60"); if ($_SERVER["REQUEST_URI"] === "/slow") { ' . self::takesItsTime() . ' } echo "page";', ['overflow' => 'busy', 'waiters' => $waiters]);
        $this->first($script);
        $crowd = new Crowd([$this->fpm->socket], $script, self::VISITORS, '/slow');
        self::assertTrue($crowd->await(self::VISITORS - 1 - $places), \json_encode($crowd->bodies()) . $this->runs());
        foreach ($crowd->answers as $answer) {
            self::assertSame([503, ['2'], ['no-store']], [$answer?->status, $answer?->headers['retry-after'], $answer?->headers['cache-control']]);
            self::assertStringContainsString('http-equiv=refresh', (string) $answer?->body);
        }
        $bystander = new Crowd([$this->fpm->socket], $script, 1);
        self::assertTrue($bystander->await(null, $crowd));
        self::assertSame(['page' => 1], $bystander->bodies());
        self::assertCount(self::VISITORS - 1 - $places, $crowd->answers, 'The builder and those who wait for it are still at it.');
        $this->go();
        self::assertTrue($crowd->await());
        self::assertSame(1 + $places, $crowd->bodies()['page']);
        self::assertSame(2, $this->runs());
    }

    /** Nobody waits longer than `wait`: a builder that hangs does not keep the others. */
    public function testNobodyWaitsLongerThanTheLimit(): void
    {
        $crowd = $this->crowd($this->script('header("Cache-Control: max-age=60"); if ($runs === 1) { ' . self::takesItsTime() . ' } echo "page";', ['wait' => 0.2]));
        self::assertTrue($crowd->await(self::VISITORS - 1));
        self::assertSame(['page' => self::VISITORS - 1], $crowd->bodies());
        $this->go();
        self::assertTrue($crowd->await());
    }

    /** A page that a browser guesses its user might want occupies nobody. */
    public function testAPrefetchDoesNotWait(): void
    {
        $script = $this->script('header("Cache-Control: max-age=60"); ' . self::takesItsTime() . 'echo "page";');
        $builder = new Crowd([$this->fpm->socket], $script, 1);
        $this->awaitRuns(1);
        $prefetch = $this->fpm->connect();
        $answer = $prefetch->request($script, parameters: ['HTTP_HOST' => 'shop.example', 'REQUEST_URI' => '/', 'QUERY_STRING' => '', 'HTTP_SEC_PURPOSE' => 'prefetch;prerender']);
        $prefetch->close();
        self::assertSame(503, $answer->status);
        $this->go();
        self::assertTrue($builder->await());
        self::assertSame(1, $this->runs());
    }

    /** A worker in the middle of the page is there until the test says go. */
    private static function takesItsTime(): string
    {
        return 'while (!file_exists("$directory/go")) { usleep(2_000); clearstatcache(); } ';
    }

    private function over(bool $isRedis): void
    {
        if ($isRedis && RedisServer::program() === null) {
            self::markTestSkipped('There is no Redis.');
        }
        if ($isRedis) {
            $this->redis = new RedisServer();
            // Long enough for a busy machine: a visitor to whom Redis does not answer in time makes the page.
            $this->dsn = 'redis://' . $this->redis->socket . '?timeout=5';
        }
    }

    private function crowd(string $script, bool $hasTwoServers = false): Crowd
    {
        $sockets = [$this->fpm->socket];
        if ($hasTwoServers) {
            $this->other = new FpmServer(self::WORKERS, ini: ['display_errors' => 0]);
            $sockets[] = $this->other->socket;
        }

        return new Crowd($sockets, $script, self::VISITORS);
    }

    /** @param array<string, mixed> $options */
    private function script(string $code, array $options = []): string
    {
        [$dsn, $options, $directory] = \array_map(static fn(mixed $value): string => \var_export($value, true), [$this->dsn, $options, $this->directory->path]);

        return $this->fpm->script('page' . \bin2hex(\random_bytes(4)) . '.php', <<<PHP
            (new Larder\\Page\\PageCache(Larder\\Cache::open($dsn), $options))->start();
            \$directory = $directory;
            file_put_contents("\$directory/builder", (string) getmypid());
            file_put_contents("\$directory/runs", '.', FILE_APPEND);
            clearstatcache();
            \$runs = filesize("\$directory/runs");
            $code
            PHP);
    }

    private function first(string $script): void
    {
        $first = new Crowd([$this->fpm->socket], $script, 1);
        self::assertTrue($first->await());
        self::assertSame(1, $this->runs());
    }

    private function runs(): int
    {
        \clearstatcache();

        return \is_file($this->directory->file('runs')) ? (int) \filesize($this->directory->file('runs')) : 0;
    }

    private function awaitRuns(int $runs): void
    {
        for ($end = \hrtime(true) + 60_000_000_000; $this->runs() < $runs; \usleep(2_000)) {
            self::assertLessThan($end, \hrtime(true), "only {$this->runs()} of $runs");
        }
    }

    private function go(): void
    {
        $this->directory->write('go', '');
    }
}
