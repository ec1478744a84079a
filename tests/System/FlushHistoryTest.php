<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Cache;
use Larder\Console\Application;
use Larder\System\FlushHistory;
use Larder\System\Ownership;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;
use Symfony\Component\Console\Tester\ApplicationTester;

#[CoversClass(FlushHistory::class)]
final class FlushHistoryTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    public function testAFlushIsNotedWithWhoAskedForIt(): void
    {
        \mkdir($this->directory->file('vendor'));
        $this->directory->write('vendor/library.php', '<?php function library(Larder\Cache $cache): void { $cache->flush(); }');
        $script = $this->directory->write('app.php', "<?php\nrequire " . \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true) . ";\n\nfunction clean(Larder\\Cache \$cache): void\n{\n    library(\$cache->group('a')->group('b/c'));\n}\nrequire __DIR__ . '/vendor/library.php';\n\$cache = Larder\\Cache::open('{$this->dsn()}');\nclean(\$cache);\n(new Larder\\Psr\\SimpleCache(\$cache))->clear();\n\$cache->invalidateTags('tag');\n\$cache->delete('key');\n");
        $before = \time();
        $process = Process::php($script, ['--no-color', 'clean', '--token=abc', '--pass:abc', '-pabc', '--password', 'abc', 'redis://user:abc@host', 'key=abc', 'word', 'ghp_abc', 'AKIAABCDEFGHIJKLMNOP', 'abcdefghijklmnop123456', 'app/models/product-of-2026.php', 'a-word-that-is-long-without-any']);
        self::assertSame(0, $process->wait(), $process->errors());

        $flushes = $this->flushes();
        self::assertSame(['psr-16', 'a/b/c'], \array_column($flushes, 'group'));
        self::assertSame(["$script:11", "$script:6"], \array_column($flushes, 'caller'), 'the line of the application, not of a library');
        self::assertSame(["$script --no-color clean --token… --pass… -p… --password … … … word … … … app/models/product-of-2026.php a-word-that-is-long-without-any"], \array_unique(\array_column($flushes, 'request')), 'no value that may be a secret');
        self::assertSame([[true], [Ownership::name(Ownership::user())]], [\array_unique(\array_column($flushes, 'done')), \array_unique(\array_column($flushes, 'user'))]);
        self::assertGreaterThanOrEqual($before, $flushes[1]['time']);
        self::assertSame(0o100600, \fileperms($this->file()));
    }

    public function testAWebRequestIsNotedByItsPath(): void
    {
        self::assertTrue(FpmServer::isAvailable(), 'bin/setup installs php-fpm');
        $fpm = new FpmServer(1);
        $script = $fpm->script('flush.php', "Larder\\Cache::open('{$this->dsn()}')->flush(); echo 'flushed';");
        foreach (['/shop/clean?token=abc#abc', "/a\n\e[31m\xff<b>\"|b", 'http://user:abc@shop.example/path?abc', '/' . \str_repeat('x', 5000)] as $uri) {
            $connection = $fpm->connect();
            $connection->send($script, parameters: ['REQUEST_URI' => $uri, 'REQUEST_METHOD' => 'POST', 'QUERY_STRING' => 'token=abc']);
            self::assertSame('flushed', $connection->receive()->body);
            $connection->close();
        }

        [$long, $proxied, $hostile, $first] = \array_column($this->flushes(), 'request');
        self::assertSame(['POST /shop/clean', 'POST /path'], [$first, $proxied]);
        self::assertLessThan(400, \strlen($long));
        self::assertStringNotContainsString('abc', (string) \file_get_contents($this->file()));
        self::assertSame("POST /a\n\e[31m\u{fffd}<b>\"|b", $hostile, 'as it came; what prints it is to escape it');
        self::assertCount(4, \file($this->file()) ?: [], 'it has begun no line of its own');
        [$status, $output] = $this->tell(['--flush' => true]);
        self::assertSame(0, $status);
        self::assertStringContainsString('POST /a\x0a\x1b[31m' . "\u{fffd}" . '<b>"|b', $output);
        self::assertStringNotContainsString("\e", $output);
    }

    public function testOnlyTheLastOnesAreKept(): void
    {
        $cache = Cache::open($this->dsn());
        $most = 0;
        for ($i = 0; $i < 1000; $i++) {
            $cache->group("g$i")->flush();
            \clearstatcache();
            $most = \max($most, (int) \filesize($this->file()));
        }

        self::assertSame(\array_map(static fn(int $i): string => "g$i", \range(999, 800)), \array_column($this->flushes(), 'group'));
        self::assertLessThan(401 * \strlen((\file($this->file()) ?: [''])[0]) * 2, $most);
        self::assertSame([], \glob($this->directory->file('cache/*-new')) ?: []);
    }

    public function testManyProcessesAtOnceLoseNoLine(): void
    {
        $code = '$h = new Larder\System\FlushHistory($argv[1]); while (($round = fgets(STDIN)) !== false) { for ($i = 0; $i < 30; $i++) { $h->note("mine", true); } echo "noted\n"; }';
        $path = $this->directory->file('flushes');
        $processes = \array_map(static fn(): Process => Process::snippet($code, [$path]), \range(1, 5));
        for ($round = 0; $round < 20; $round++) {
            // It is shortened in the middle of the round.
            \file_put_contents($path, \str_repeat("{\"group\":\"before\"}\n", 340));
            foreach ($processes as $process) {
                $process->write("$round\n");
            }
            foreach ($processes as $process) {
                $process->expect('noted');
            }
            $groups = \array_count_values(\array_column((new FlushHistory($path))->last(), 'group'));
            self::assertSame(['mine' => 150, 'before' => 50], $groups);
        }
    }

    public function testAnUnfinishedLineSpoilsNoOther(): void
    {
        $history = new FlushHistory($path = $this->directory->file('flushes'));
        $history->note('one', true);
        \file_put_contents($path, '{"time":1,"gro', \FILE_APPEND);
        $history->note('two', false);
        \file_put_contents($path, "[]\n\"text\"\n{\"time\":\"x\",\"group\":[]}\n", \FILE_APPEND);

        self::assertSame(['', '', 'two', 'one'], \array_column($history->last(), 'group'));
        self::assertSame([false, false, false, true], \array_column($history->last(), 'done'));
    }

    /** Somebody, or a bug, may have written anything there: neither a flush nor a reader takes its size in memory. */
    public function testAHugeFileIsNotReadWhole(): void
    {
        $path = $this->directory->file('flushes');
        $code = 'ini_set("memory_limit", memory_get_usage() + 16_000_000 . ""); $h = new Larder\System\FlushHistory($argv[1]); echo count($h->last()), "\n"; $h->note("mine", true); echo json_encode(array_column($h->last(), "group")), "\n";';
        foreach (["{\"group\":\"before\"}\n", '{"group":"one line without an end'] as $line) {
            \file_put_contents($path, \str_repeat($line, 10));
            $file = \fopen($path, 'r+');
            self::assertNotFalse($file);
            // A hole takes no room on the disk.
            \ftruncate($file, 200_000_000);
            \fclose($file);
            $process = Process::snippet($code, [$path]);
            self::assertSame(0, $process->wait(), $process->errors());
            self::assertSame(['0', '["mine"]'], [$process->line(), $process->line()]);
            \clearstatcache();
            self::assertLessThan(1000, \filesize($path));
        }
        // Of one that is about as large as it may be all that fits is read.
        \file_put_contents($path, \str_repeat('{"group":"' . \str_repeat('x', 10_000) . "\"}\n", 150));
        self::assertCount(104, (new FlushHistory($path))->last());
    }

    public function testAFlushIsDoneWhereItCannotBeNoted(): void
    {
        $cache = Cache::open($this->dsn());
        $cache->flush();
        $file = $this->file();
        \unlink($file);
        \symlink($this->directory->file('elsewhere'), $file);
        $cache->set('key', 1);

        self::assertTrue($cache->flush());
        self::assertNull($cache->get('key'));
        self::assertSame([], $this->flushes());
        self::assertFileDoesNotExist($this->directory->file('elsewhere'));
    }

    public function testAFlushThatIsKeptUntilItCanBeDoneSaysSo(): void
    {
        $cache = Cache::open(['dsn' => 'redis://127.0.0.1:1', 'near' => 'none', 'prefix' => 'p' . \bin2hex(\random_bytes(4)), 'logger' => new NullLogger()]);
        self::assertFalse($cache->flush());

        self::assertSame([false], \array_column($cache->internals()->flushes()?->last() ?? [], 'done'));
    }

    public function testACacheInMemoryNotesNothing(): void
    {
        self::assertNull(Cache::open('memory://')->internals()->flushes());
    }

    public function testTheCommandShowsThem(): void
    {
        Cache::open($this->dsn())->set('k', 'v');
        [$status, $output] = $this->tell(['--flush' => true, '--json' => true]);
        self::assertSame([0, "[]\n"], [$status, $output]);
        Cache::open($this->dsn())->group('<info>g</info>')->flush();
        [, $output] = $this->tell(['--flush' => true]);
        self::assertStringContainsString(' <info>g</info> ', $output);
        [, $output] = $this->tell(['--flush' => true, '--json' => true]);
        self::assertStringContainsString('"group": "<info>g</info>"', $output);
        [$status, , $errors] = $this->tell([]);
        self::assertSame(Application::USAGE, $status);
        self::assertStringContainsString('--flush', $errors);
    }

    /**
     * @param array<string, mixed> $arguments
     *
     * @return array{int, string, string} status, output, errors
     */
    private function tell(array $arguments): array
    {
        $application = new Application();
        $application->setAutoExit(false);
        $tester = new ApplicationTester($application);
        $tester->run(['command' => 'why', '--dsn' => $this->dsn()] + $arguments, ['capture_stderr_separately' => true, 'interactive' => false]);

        return [$tester->getStatusCode(), $tester->getDisplay(true), $tester->getErrorOutput(true)];
    }

    private function dsn(): string
    {
        return 'sqlite://' . $this->directory->file('cache') . '?near=none';
    }

    private function file(): string
    {
        return (\glob($this->directory->file('cache/*-flushes')) ?: [''])[0];
    }

    /** @return list<array{time: int, group: string, done: bool, caller: string, request: string, user: string}> */
    private function flushes(): array
    {
        return Cache::open($this->dsn())->internals()->flushes()?->last() ?? [];
    }
}
