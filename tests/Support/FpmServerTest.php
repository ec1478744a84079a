<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

#[CoversNothing]
final class FpmServerTest extends TestCase
{
    protected function setUp(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('No php-fpm of this PHP version: bin/setup installs it.');
        }
    }

    public function testAnswersARequest(): void
    {
        $fpm = new FpmServer(1);
        $script = $fpm->script('hello.php', '<?php http_response_code(404); header("X-Who: me"); header("X-Who: you", false);
            echo $_GET["name"], "|", $_SERVER["REQUEST_METHOD"], "|", $_COOKIE["c"] ?? "", "|", md5(file_get_contents("php://input")); error_log("noted");');
        $answer = $fpm->request($script, name: 'a b&ä');
        self::assertSame(404, $answer->status);
        self::assertSame(['me', 'you'], $answer->headers['x-who']);
        self::assertSame('a b&ä|GET||' . \md5(''), $answer->body);
        self::assertStringContainsString('noted', $fpm->log() . $answer->errors);

        $body = \random_bytes(200_001);
        $answer = $fpm->connect()->request($script, ['name' => \str_repeat('n', 300)], $body, ['HTTP_COOKIE' => 'c=1']);
        self::assertSame(\str_repeat('n', 300) . '|POST|1|' . \md5($body), $answer->body);
    }

    public function testOneConnectionServesManyRequestsOfAnySize(): void
    {
        $fpm = new FpmServer(1);
        $script = $fpm->script('echo.php', '<?php echo getmypid(), " ", str_repeat("x", (int) $_GET["n"]);');
        $connection = $fpm->connect();
        $pids = [];
        foreach ([0, 1, 65_535, 65_536, 1_000_000, 7, ...\array_fill(0, 200, 10)] as $n) {
            [$pid, $body] = \explode(' ', $connection->request($script, ['n' => $n])->body);
            self::assertSame(\str_repeat('x', $n), $body);
            $pids[$pid] = true;
        }
        self::assertCount(1, $pids);
    }

    public function testTwoWorkersShareApcuAndTwoMastersDoNot(): void
    {
        $one = new FpmServer(2, '8M');
        $two = new FpmServer(1, '4M');
        $script = $one->script('count.php', '<?php echo getmypid(), " ", apcu_inc("n"), " ", ini_get("apc.shm_size");');
        // Two open connections are two workers.
        $connections = [$one->connect(), $one->connect()];
        [$first, $n] = \explode(' ', $connections[0]->request($script)->body);
        self::assertSame('1', $n);
        [$second, $n, $size] = \explode(' ', $connections[1]->request($script)->body);
        self::assertSame(['2', '8M'], [$n, $size]);
        self::assertNotSame($first, $second);
        self::assertSame('1 4M', \explode(' ', $two->request($script)->body, 2)[1]);
    }

    public function testAReloadReplacesTheWorkersAndEmptiesApcu(): void
    {
        $fpm = new FpmServer(2);
        $script = $fpm->script('count.php', '<?php echo apcu_inc("n");');
        self::assertSame('1', $fpm->request($script)->body);
        self::assertSame('2', $fpm->request($script)->body);
        $connection = $fpm->connect();
        self::assertSame('3', $connection->request($script)->body);
        $master = $fpm->pid();
        $fpm->reload();
        self::assertSame($master, $fpm->pid());
        self::assertCount(2, $fpm->workers());
        self::assertSame('1', $connection->request($script)->body, 'A connection closed between requests is opened again.');
    }

    public function testKilledWorkersAreReplacedAndApcuStays(): void
    {
        $fpm = new FpmServer(2);
        $script = $fpm->script('count.php', '<?php if (isset($_GET["sleep"])) { apcu_store("asleep", 1); sleep(30); } echo apcu_inc("n"), (int) apcu_exists("asleep");');
        self::assertSame('10', $fpm->request($script)->body);
        $connection = $fpm->connect();
        $connection->send($script, ['sleep' => 1]);
        $n = 1;
        do {
            ++$n;
            $body = $fpm->request($script)->body;
        } while ($body === $n . '0');
        $fpm->killWorkers();
        try {
            $connection->receive();
            self::fail('Its worker was killed.');
        } catch (FastCgiFailure $e) {
            self::assertStringContainsString('closed before', $e->getMessage());
        }
        self::assertSame(($n + 1) . '1', $connection->request($script)->body);
    }

    public function testAHangingScriptIsGivenUp(): void
    {
        $fpm = new FpmServer(1);
        $script = $fpm->script('sleep.php', '<?php sleep(30);');
        $this->expectException(FastCgiFailure::class);
        $this->expectExceptionMessage('No complete answer');
        $fpm->connect(0.2)->request($script);
    }

    public function testNothingIsLeftWhenItStopsOrItsProcessDies(): void
    {
        $fpm = new FpmServer(2);
        $pids = [$fpm->pid(), ...$fpm->workers()];
        $fpm->stop();
        foreach ($pids as $pid) {
            self::assertTrue(Process::ends($pid), 'Still there after stop().');
        }
        self::assertDirectoryExists($fpm->directory->path, 'Its log can still be read.');

        $temporary = new TemporaryDirectory('larder-t'); // what a killed process cannot remove
        foreach (['sleep(60);', '(static fn (int $x) => 0)([]);'] as $end) {
            $parent = Process::snippet(
                '$fpm = new Larder\Tests\Support\FpmServer(2); echo implode(" ", [$fpm->pid(), ...$fpm->workers()]), "\n";' . $end,
                ini: ['display_errors' => 0, 'log_errors' => 0],
                environment: ['TMPDIR' => $temporary->path],
            );
            $pids = \array_map(\intval(...), \explode(' ', (string) $parent->line()));
            self::assertCount(3, $pids, $parent->errors());
            $parent->kill();
            foreach ($pids as $pid) {
                self::assertTrue(Process::ends($pid), 'Outlived the process that started it.');
            }
        }
    }
}
