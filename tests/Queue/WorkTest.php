<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Cache;
use Larder\Queue\Queue;
use Larder\Queue\Schedule;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\ShiftedClock;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** bin/larder queue:work, as a process of its own. What its handler can do stands in handler.php. */
#[CoversNothing]
#[RequiresPhpExtension('pcntl')]
final class WorkTest extends TestCase
{
    private TemporaryDirectory $root;

    /** Of the queue's DSN. */
    private string $query = '';

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
    }

    public function testItHandlesEachMessageAndSaysSo(): void
    {
        $queue = $this->queue();
        $ids = $queue->pushMany(['a', 'print']);
        $work = $this->work(['--stop-when-empty']);

        $lines = self::jobs($work);
        self::assertSame(0, $work->wait(), $work->errors());
        self::assertSame($ids, \array_column($lines, 'id'));
        self::assertSame([['mail', 'done', 1], ['mail', 'done', 1]], \array_map(static fn(array $line): array => [$line['queue'] ?? '', $line['outcome'] ?? '', $line['attempts'] ?? 0], $lines));
        self::assertStringContainsString("printed\n", $work->errors(), 'what a handler prints is no result');
        self::assertSame(['begin a', 'end a', 'begin print', 'end print'], $this->log());
        self::assertSame(['ready' => 0, 'delayed' => 0, 'claimed' => 0, 'dead' => 0, 'paused' => false, 'late' => null], $queue->stats());
    }

    /** Seen to fail: what was pushed before the change went among the dead. */
    public function testASecretIsChangedWithoutALoss(): void
    {
        $queue = fn(string $secret): Queue => Queue::open(['dsn' => $this->dsn(), 'secret' => $secret], 'mail');
        foreach (['oldest', 'older', 'new', 'forgotten'] as $secret) {
            $queue($secret)->push($secret);
        }
        $work = new Process(
            [\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'queue:work', 'mail', '--handler=' . __DIR__ . '/handler.php', '--stop-when-empty'],
            ['LARDER_QUEUE_SECRET' => 'new', 'LARDER_QUEUE_PREVIOUS_SECRETS' => 'older, oldest,'] + $this->environment(),
        );

        self::assertSame(0, $work->wait(60.0), $work->errors());
        self::assertSame(['begin oldest', 'end oldest', 'begin older', 'end older', 'begin new', 'end new'], $this->log());
        self::assertSame(['It is not signed with this secret.'], \array_column($queue('new')->dead(), 'error'));

        $work = new Process(
            [\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'queue:status', 'mail'],
            ['LARDER_QUEUE_SECRET' => null, 'LARDER_QUEUE_PREVIOUS_SECRETS' => 'old'] + $this->environment(),
        );
        self::assertSame(2, $work->wait());
        self::assertStringContainsString('LARDER_QUEUE_SECRET', $work->errors());
    }

    public function testWhatThrowsWaitsAndIsDeadInTheEndWithItsError(): void
    {
        $queue = $this->queue('?attempts=2');
        $queue->push('throw');
        $work = $this->work(['--max-jobs=2']);

        self::assertSame(['released', 'dead'], \array_column(self::jobs($work), 'outcome'));
        self::assertSame(0, $work->wait());
        [$dead] = $queue->dead();
        self::assertSame(['throw', 2], [$dead['body'], $dead['attempts']]);
        self::assertStringStartsWith('LogicException: it is wrong in ' . __DIR__ . '/handler.php:', $dead['error']);
        self::assertStringContainsString("\ncaused by DomainException: for a reason in " . __DIR__ . '/handler.php:', $dead['error']);
    }

    /** @return iterable<string, array{string, string}> */
    public static function ends(): iterable
    {
        yield 'exit' => ['exit', '/^The handler ended the process \(exit\)\.$/'];
        yield 'no memory left' => ['fatal', '/^Fatal error: Allowed memory size .* in .*handler\.php:\d+$/'];
        yield 'kill -9' => ['die', '/^Its worker, process \d+, died of it: signal 9\.$/'];
    }

    #[DataProvider('ends')]
    public function testAHandlerThatEndsTheProcessLosesNothing(string $how, string $error): void
    {
        $queue = $this->queue('?attempts=1');
        [$id] = $queue->pushMany([$how, 'a']);
        $work = $this->work([]);

        // Long before the message's time has passed.
        self::assertSame([[$id, 'dead'], ['done']], [\array_slice(\array_values(self::job($work)), 2, 2), [self::job($work)['outcome']]]);
        self::assertMatchesRegularExpression($error, $queue->dead()[0]['error']);
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait());
    }

    public function testAHandlerMayEndItsMessageItself(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['bury', 'a']);
        self::assertSame(['ended', 'done'], \array_column(self::jobs($this->work(['--stop-when-empty'])), 'outcome'));
        self::assertSame('not wanted', $queue->dead()[0]['error']);
        self::assertSame(0, $queue->size());
    }

    public function testItExtendsTheMessageOfAHandlerThatSleeps(): void
    {
        $queue = $this->queue();
        $queue->push(['sleep', 3.5]);
        $work = $this->work(['--visibility=2', '--processes=2']);

        self::assertSame('done', self::job($work)['outcome']);
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait());
        self::assertSame(['begin sleep', 'end sleep'], $this->log());
        self::assertSame(0, $queue->stats()['ready'] + $queue->stats()['claimed']);
    }

    public function testItExtendsTheMessageOfAHandlerThatADatabaseLetsWait(): void
    {
        $file = $this->root->file('other.db');
        $other = new \PDO("sqlite:$file");
        $other->exec('CREATE TABLE t (n); BEGIN IMMEDIATE');
        $queue = $this->queue();
        $queue->push(['database', $file]);
        $work = $this->work(['--visibility=2', '--processes=2']);
        $this->awaitLog(['begin database']);
        // Longer than the message is hidden.
        \usleep(3_500_000);
        $other->exec('COMMIT');

        self::assertSame('done', self::job($work)['outcome']);
        self::assertSame(['begin database', 'end database'], $this->log());
    }

    public function testItKillsAWorkerWhoseHandlerTakesTooLong(): void
    {
        $queue = $this->queue('?attempts=1');
        $queue->pushMany([['sleep', 60], 'a']);
        $work = $this->work(['--timeout=1']);

        self::assertSame('dead', self::job($work)['outcome']);
        self::assertSame('done', self::job($work)['outcome']);
        self::assertStringStartsWith('It took longer than 1 s', $queue->dead()[0]['error']);
    }

    // Seen to fail: nothing told of the message.
    public function testAHandlerMayEndItsMessageAndThenTheProcess(): void
    {
        $this->queue()->pushMany(['a', ['ack and exit', null], 'b']);
        $work = $this->work(['--stop-when-empty']);
        self::assertSame(['done', 'ended', 'done'], \array_column([self::job($work), self::job($work), self::job($work)], 'outcome'));
        self::assertSame(0, $work->wait());
    }

    // Seen to fail: the worker was killed.
    public function testAClockThatIsSetForwardKillsNoWorker(): void
    {
        ShiftedClock::demand();
        $clock = $this->root->write('clock', '+0s');
        $this->queue()->push(['sleep', 2]);
        $work = $this->work(['--timeout=600', '--visibility=7200'], with: ShiftedClock::changing($clock));
        $this->awaitLog(['begin sleep']);
        \file_put_contents($clock, '+3600s');
        $job = self::job($work);
        self::assertSame('done', $job['outcome']);
        self::assertGreaterThan(\time() + 3_000, $job['time'], 'Its clock was set.');
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait());
        foreach ([$job['worker'], $work->pid] as $pid) {
            ShiftedClock::forget($pid);
        }
    }

    public function testSigtermLetsItFinishTheMessage(): void
    {
        $queue = $this->queue();
        $queue->pushMany([['sleep', 1], 'a']);
        $work = $this->work([]);
        $this->awaitLog(['begin sleep']);
        $work->signal(\SIGTERM);

        self::assertSame(['done'], \array_column(self::jobs($work), 'outcome'));
        self::assertSame(0, $work->wait());
        self::assertSame(['begin sleep', 'end sleep'], $this->log());
        self::assertSame(1, $queue->size());
    }

    public function testTheSecondSignalEndsItAtOnceAndTheMessageWaitsAgain(): void
    {
        $queue = $this->queue();
        $queue->push(['sleep', 30]);
        $work = $this->work([]);
        $this->awaitLog(['begin sleep']);
        $work->signal(\SIGINT);
        \usleep(200_000);
        $work->signal(\SIGINT);

        self::assertSame(['released'], \array_column(self::jobs($work), 'outcome'));
        self::assertSame(0, $work->wait());
        self::assertSame(1, $queue->stats()['ready']);
    }

    public function testSighupReplacesTheWorkersByNewOnesWithNewCode(): void
    {
        $code = '<?php return static function (): void { usleep(20_000); file_put_contents((string) getenv("TEST_LOG"), posix_getpid() . " %s\n", FILE_APPEND); };';
        $handler = $this->root->write('changing.php', \sprintf($code, 'old'));
        $work = $this->work(['--processes=2'], $handler);
        $old = $this->awaitWorkers($work, []);
        $this->root->write('changing.php', \sprintf($code, 'new'));
        $work->signal(\SIGHUP);
        $new = $this->awaitWorkers($work, $old);

        foreach ($this->log() as $line) {
            [$worker, $version] = \explode(' ', $line);
            self::assertSame(\in_array((int) $worker, $old, true) ? 'old' : 'new', $version);
        }
        self::assertSame([], \array_intersect($old, $new));
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait(), $work->errors());
        self::assertStringNotContainsString('ended', $work->errors());
    }

    public function testWorkersEndAfterTheirMessageWhenTheSupervisorIsKilled(): void
    {
        $queue = $this->queue();
        $queue->pushMany([['sleep', 1], 'a']);
        $work = $this->work([]);
        $this->awaitLog(['begin sleep']);
        $worker = (int) \trim((string) \shell_exec('pgrep -P ' . $work->pid));
        $work->kill();

        self::assertGreaterThan(0, $worker);
        self::assertTrue(Process::ends($worker));
        self::assertSame(['begin sleep', 'end sleep'], $this->log());
        self::assertSame(['ready' => 1, 'claimed' => 0], \array_intersect_key($queue->stats(), ['ready' => 1, 'claimed' => 1]));
    }

    public function testALimitEndsTheCommandOrItsWorkersAreReplaced(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['a', 'a', 'a', 'a', 'a']);
        $alone = $this->work(['--max-jobs=2']);
        self::assertCount(2, self::jobs($alone));
        self::assertSame(0, $alone->wait());
        self::assertSame(3, $queue->size());

        $many = $this->work(['--max-jobs=1', '--processes=2']);
        $workers = [self::job($many)['worker'], self::job($many)['worker'], self::job($many)['worker']];
        self::assertCount(3, \array_unique($workers));
        $many->signal(\SIGTERM);
        self::assertSame(0, $many->wait());

        $queue->pushMany(['hoard', 'hoard', 'hoard']);
        $large = $this->work(['--memory=60']);
        self::assertCount(2, self::jobs($large));
        $short = $this->work(['--max-time=1']);
        self::assertSame(0, $short->wait());
    }

    public function testAWorkerThatCannotBeginIsReplacedMoreAndMoreSlowly(): void
    {
        $handler = $this->root->write('breaking.php', '<?php file_put_contents((string) getenv("TEST_LOG"), hrtime(true) . "\n", FILE_APPEND); if (is_file(__DIR__ . "/broken")) { exit(7); } return static function (): void {};');
        $this->root->write('broken', '');
        $work = $this->work(['--processes=1'], $handler);
        for ($end = \hrtime(true) + 30_000_000_000; \count($this->log()) < 4 && \hrtime(true) < $end;) {
            \usleep(5_000);
        }
        \unlink($this->root->file('broken'));
        $this->queue()->push('a');
        self::assertSame('done', self::job($work)['outcome']);
        self::assertStringContainsString('ended: exit status 7', $work->errors());
        $times = \array_map(\intval(...), $this->log());
        foreach ([0.1, 0.2, 0.4] as $i => $rest) {
            self::assertGreaterThanOrEqual($rest * 1e9, $times[$i + 1] - $times[$i]);
        }
    }

    public function testTheCacheIsRefreshedBetweenMessages(): void
    {
        $queue = $this->queue();
        $cache = Cache::open($this->cache());
        $cache->set('k', 'old');
        $queue->push('read');
        $work = $this->work([]);
        self::job($work);
        $cache->set('k', 'new');
        $queue->push('read');
        self::job($work);

        self::assertSame(["read 'old'", "read 'new'"], \array_values(\preg_grep('/^read/', $this->log()) ?: []));
    }

    /** @return iterable<string, array{string, string}> */
    public static function wrongHandlers(): iterable
    {
        yield 'none' => ['', 'No handler.'];
        yield 'no file' => ['/nowhere/handler.php', 'There is no file "/nowhere/handler.php".'];
        yield 'a file that returns something else' => [__DIR__ . '/../../composer.json', 'no callable'];
        yield 'no class' => ['Nobody::send', 'There is no class "Nobody"'];
        yield 'no method' => ['ArrayObject::send', 'has no method send()'];
        yield 'a constructor that needs something' => ['ReflectionClass::getName', 'The constructor of ReflectionClass needs 1 arguments'];
    }

    #[DataProvider('wrongHandlers')]
    public function testAWrongHandlerIsSaidAtOnce(string $handler, string $error): void
    {
        $work = $this->work(['--processes=2'], $handler);

        self::assertSame(2, $work->wait());
        self::assertStringContainsString($error, $work->errors());
        self::assertStringContainsString('--handler=handler.php', $work->errors());
    }

    public function testAHandlerMayBeAMethodOrAClass(): void
    {
        $queue = $this->queue();
        $queue->pushMany(['a', 'b']);
        foreach ([Handlers::class, Handlers::class . '::send'] as $handler) {
            self::assertSame(['done'], \array_column(self::jobs($this->work(['--max-jobs=1'], $handler)), 'outcome'));
        }
        self::assertSame(['invoked a', 'sent b'], $this->log());
    }

    public function testAWorkerOutlivesARestartOfItsServer(): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('No redis-server: bin/setup installs it.');
        }
        $redis = new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']);
        $dsn = 'redis://' . $redis->socket;
        $queue = Queue::open($dsn, 'mail');
        $queue->pushMany(['a', ['sleep', 1.5], 'a']);
        $work = $this->work(["--dsn=$dsn"]);
        self::assertSame('done', self::job($work)['outcome']);
        $this->awaitLog(['begin a', 'end a', 'begin sleep']);
        // The server is away when the handler ends.
        $redis->kill();
        $this->awaitLog(['begin a', 'end a', 'begin sleep', 'end sleep']);
        $redis->start();

        self::assertSame([['done', 1], ['done', 1]], [self::outcome($work), self::outcome($work)], 'The one that was handled is acknowledged and not handled again.');
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait());
        $stats = Queue::open($dsn, 'mail')->stats();
        self::assertSame([0, 0], [$stats['ready'], $stats['claimed']]);
        self::assertStringContainsString('larder: ', $work->errors());
    }

    #[RequiresPhpExtension('redis')]
    public function testWithStopWhenEmptyItEndsWhereItCannotReachTheQueue(): void
    {
        $work = $this->work(["--dsn=redis://{$this->root->path}/none.sock", '--stop-when-empty', '--processes=2']);
        self::assertSame(4, $work->wait(), $work->errors());
        self::assertSame(1, \substr_count($work->errors(), 'no connection'), $work->errors());
    }

    /** @return iterable<string, array{int, bool, int}> visibility, whether the server comes back, exit status */
    public static function restarts(): iterable
    {
        yield 'in time' => [60, true, 0];
        yield 'never' => [1, false, 4];
    }

    #[DataProvider('restarts')]
    public function testWithStopWhenEmptyItAcknowledgesWhatItHasHandledIfTheServerComesBack(int $visibility, bool $isBack, int $status): void
    {
        if (RedisServer::program() === null) {
            self::markTestSkipped('No redis-server: bin/setup installs it.');
        }
        $redis = new RedisServer(appendOnly: true, config: ['appendfsync' => 'always']);
        $dsn = 'redis://' . $redis->socket;
        Queue::open($dsn, 'mail')->push(['sleep', 1.0]);
        $work = $this->work(["--dsn=$dsn", '--stop-when-empty', "--visibility=$visibility"]);
        $this->awaitLog(['begin sleep']);
        $redis->kill();
        for ($end = \hrtime(true) + 30_000_000_000; !\str_contains($work->errors(), 'nothing was done');) {
            self::assertLessThan($end, \hrtime(true), $work->errors());
            \usleep(20_000);
        }
        $isBack && $redis->start();
        self::assertSame($status, $work->wait(), $work->errors());
        $isBack || $redis->start();
        $queue = Queue::open($dsn, 'mail');
        self::assertSame($isBack ? 0 : 1, $queue->stats()['claimed'] + $queue->size());
    }

    public function testATerminalShowsTheProgress(): void
    {
        $queue = $this->queue('?attempts=1');
        $queue->pushMany(['a', 'a', 'throw']);
        $command = \implode(' ', \array_map(\escapeshellarg(...), [\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'queue:work', 'mail', '--handler=' . __DIR__ . '/handler.php', '--stop-when-empty']));
        $terminal = new Process(['script', '-qec', $command, '/dev/null'], $this->environment() + ['TERM' => 'xterm']);
        $output = $terminal->output();

        self::assertSame(0, $terminal->wait(), $terminal->errors());
        self::assertStringContainsString('2 done (', $output);
        self::assertStringContainsString('1 dead, 0 waiting', $output);
        self::assertStringContainsString('LogicException: it is wrong', $output);
        self::assertStringNotContainsString('{', $output);
    }

    public function testTheFiveLinesOfThePage(): void
    {
        $project = \dirname(__DIR__, 2);
        self::assertSame(1, \preg_match('/^```sh\n(.*?)^```$/ms', (string) \file_get_contents("$project/docs/queue.md"), $match));
        $lines = \explode("\n", \trim($match[1]));
        self::assertCount(5, $lines);
        self::assertStringStartsWith('composer require ', \array_shift($lines));
        \symlink("$project/vendor", $this->root->file('vendor'));
        $script = \strtr(\implode("\n", $lines), ['/var/lib/app' => $this->root->file('lib'), 'vendor/bin/larder' => "$project/bin/larder"]) . ' --stop-when-empty';
        $process = new Process(['sh', '-ec', $script], [], $this->root->path);

        self::assertSame(['done'], \array_column(self::jobs($process), 'outcome'), $process->errors());
        self::assertStringContainsString("order 7\n", $process->errors());
    }

    // Seen to fail: --rate that is not passed on.
    public function testItsWorkersTogetherKeepToTheRate(): void
    {
        $queue = $this->queue();
        $queue->pushMany(\array_fill(0, 9, 'a'));
        $work = $this->work(['--rate=4/3600', '--processes=3']);
        for ($i = 0; $i < 4; $i++) {
            self::assertSame('done', self::job($work)['outcome']);
        }
        // All the workers look at least once more.
        $queue->push(['sleep', 0]);
        $work->signal(\SIGTERM);
        self::assertSame([], self::jobs($work));
        self::assertSame(0, $work->wait(), $work->errors());
        self::assertSame(\array_fill(0, 6, 1), \array_column($queue->popMany(10), 'attempts'), 'None was claimed and put back.');

        $queue->pushMany(['a', 'a', 'a']);
        $work = $this->work(['--rate=1/0.2', '--processes=2', '--stop-when-empty']);
        self::assertCount(3, self::jobs($work));
        self::assertSame(0, $work->wait(), $work->errors());

        foreach (['100', '0/60', '1/0', '-1/5', '5/x', '20000/5'] as $rate) {
            $work = $this->work(["--rate=$rate"]);
            self::assertSame(2, $work->wait());
            self::assertStringContainsString('rate', $work->errors());
        }
    }

    public function testItsWorkersPushTheMessagesOfASchedule(): void
    {
        // Known since an hour: so the last minute is due, and not awaited here.
        (new Schedule($this->queue(), static fn(): int => \time() - 3_600))->add('a', '* * * * *', 'a', 'UTC')->push();
        $schedule = $this->root->write('schedule.php', '<?php return static fn(Larder\Queue\Schedule $schedule) => $schedule->add("a", "* * * * *", "a", "UTC");');
        $work = $this->work(["--schedule=$schedule", '--processes=3']);

        self::assertSame('done', self::job($work)['outcome']);
        $work->signal(\SIGTERM);
        self::assertSame(0, $work->wait(), $work->errors());
        // Another minute may have begun meanwhile.
        self::assertLessThanOrEqual(2, \substr_count(\implode("\n", $this->log()), 'begin a'));

        foreach (['/nowhere/schedule.php' => 'There is no file', $this->root->write('wrong.php', '<?php return 1;') => 'no callable', $this->root->write('cron.php', '<?php return static fn($schedule) => $schedule->add("a", "61 * * * *", 1);') => 'no time of a schedule'] as $file => $said) {
            $work = $this->work(["--schedule=$file"]);
            self::assertSame(2, $work->wait());
            self::assertStringContainsString($said, $work->errors());
        }
    }

    private function queue(string $query = ''): Queue
    {
        $this->query = $query;

        return Queue::open($this->dsn(), 'mail');
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->root->path . '/queue' . $this->query;
    }

    private function cache(): string
    {
        return 'sqlite://' . $this->root->path . '/cache';
    }

    /** @return array<string, string> */
    private function environment(): array
    {
        return ['LARDER_QUEUE' => $this->dsn(), 'TEST_LOG' => $this->root->file('log'), 'TEST_CACHE' => $this->cache()];
    }

    /**
     * @param list<string>          $options
     * @param array<string, string> $with    more of its environment
     */
    private function work(array $options, string $handler = __DIR__ . '/handler.php', array $with = []): Process
    {
        return new Process(
            [\PHP_BINARY, \dirname(__DIR__, 2) . '/bin/larder', 'queue:work', 'mail', "--handler=$handler", ...$options],
            $this->environment() + $with,
        );
    }

    /** @return array<array-key, mixed> the next message that it tells of */
    private static function job(Process $work): array
    {
        $line = $work->line(30.0);
        $job = \json_decode((string) $line, true);

        return \is_array($job) ? $job : throw new \RuntimeException("No job: $line. " . $work->errors());
    }

    /** @return array{mixed, mixed} of the next message: outcome and attempts */
    private static function outcome(Process $work): array
    {
        $job = self::job($work);

        return [$job['outcome'], $job['attempts']];
    }

    /** @return list<array<array-key, mixed>> all until its end */
    private static function jobs(Process $work): array
    {
        return \array_map(static fn(string $line): array => (array) \json_decode($line, true), \array_filter(\explode("\n", $work->output())));
    }

    /**
     * Pushes messages, which all are handled, until two other workers than these have had one.
     *
     * @param list<mixed> $but
     *
     * @return list<mixed>
     */
    private function awaitWorkers(Process $work, array $but): array
    {
        $queue = $this->queue();
        $workers = [];
        for ($i = 0; \count($workers) < 2 && $i < 500; ++$i) {
            $queue->pushMany(['x', 'x', 'x']);
            foreach ([self::job($work), self::job($work), self::job($work)] as $job) {
                self::assertSame('done', $job['outcome']);
                \in_array($job['worker'], [...$but, ...$workers], true) || $workers[] = $job['worker'];
            }
        }
        self::assertCount(2, $workers);

        return $workers;
    }

    /** @return list<string> */
    private function log(): array
    {
        return \is_file($this->root->file('log')) ? \array_values(\array_filter(\explode("\n", (string) \file_get_contents($this->root->file('log'))))) : [];
    }

    /** @param list<string> $lines */
    private function awaitLog(array $lines): void
    {
        $end = \hrtime(true) + 30_000_000_000;
        while ($this->log() !== $lines) {
            \hrtime(true) < $end || self::fail('The log is ' . \implode(', ', $this->log()));
            \usleep(5_000);
        }
    }
}
