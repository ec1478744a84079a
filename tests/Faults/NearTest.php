<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

/** The tiers before the truth fail, and nothing is wrong or lost: what they cannot give the truth gives. */
#[RequiresPhpExtension('apcu')]
final class NearTest extends FaultCase
{
    private TemporaryDirectory $parent;
    private string $directory;
    private ?FarServer $server = null;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory();
        $this->directory = $this->parent->path . '/cache';
        parent::setUp();
    }

    protected function tearDown(): void
    {
        parent::tearDown();
        $this->server?->end();
    }

    public function testApcuIsClearedUnderARunningProcess(): void
    {
        $options = ['near' => 'apcu', 'disk' => 'sqlite://' . $this->directory, 'timeout' => self::TIMEOUT];
        $one = new Client($options);
        for ($i = 0; $i < 10; $i++) {
            self::assertTrue($one->call('set', 'k', $i));
            self::assertTrue($one->call('set', "k$i", \str_repeat("$i", 5000), 60, ['tag']));
            self::assertTrue($one->call('apcu_clear_cache'));
            $i % 2 === 0 && $one->call('refresh');
            self::assertSame($i, $one->call('get', 'k'));
            $one->call('refresh');
            self::assertSame($i, $one->call('get', 'k'), 'again');
            self::assertSame(\str_repeat("$i", 5000), $one->call('get', "k$i"));
            if ($i === 5) {
                self::assertTrue($one->call('invalidateTags', 'tag'));
                $one->call('apcu_clear_cache');
            }
            $one->call('refresh');
            self::assertSame($i === 5 ? null : \str_repeat("$i", 5000), $one->call('get', "k$i"));
        }
        self::assertSame([], $one->log());
    }

    public function testApcuIsFull(): void
    {
        $options = ['near' => 'apcu', 'disk' => 'sqlite://' . $this->directory, 'timeout' => self::TIMEOUT];
        $one = new Client($options, ini: ['apc.shm_size' => '1M', 'apc.ttl' => 0]);
        $other = new Client($options);
        for ($i = 0; $i < 200; $i++) {
            $value = \str_repeat("value $i ", 1000);
            self::assertTrue($one->call('set', "k$i", 'older'));
            self::assertTrue($one->call('set', "k$i", $value));
            $other->call('refresh');
            $i % 3 === 0 && self::assertTrue($other->call('set', "k$i", "others $i"));
            $one->call('refresh');
            for ($n = \max(0, $i - 2); $n <= $i; $n++) {
                self::assertSame($n % 3 === 0 ? "others $n" : \str_repeat("value $n ", 1000), $one->call('get', "k$n"));
            }
        }
        self::assertSame([], $one->log());
    }

    /** @return iterable<string, array{\Closure(string): mixed, bool}> what is done to the disk tier; whether it stays so */
    public static function disks(): iterable
    {
        yield 'garbage' => [static fn(string $directory) => \file_put_contents($directory . '/larder.db', \random_bytes(50_000)), false];
        yield 'truncated' => [static function (string $directory): void {
            $handle = \fopen($directory . '/larder.db', 'r+');
            \assert($handle !== false);
            \ftruncate($handle, 5000);
        }, false];
        yield 'all files gone' => [static fn(string $directory) => \array_map('unlink', \glob($directory . '/*') ?: []), false];
        yield 'the directory gone' => [static fn(string $directory) => \exec('rm -rf ' . \escapeshellarg($directory)), false];
        yield 'a file in its place' => [static function (string $directory): void {
            \exec('rm -rf ' . \escapeshellarg($directory));
            \touch($directory);
        }, true];
    }

    #[DataProvider('disks')]
    public function testANearTierOnDiskFails(\Closure $fault, bool $stays): void
    {
        $this->server = FarServer::start('redis');
        $options = ['near' => 'sqlite://' . $this->directory] + $this->server->options();
        $one = new Client($options);
        self::assertTrue($one->call('set', 'k', 'older'));
        self::assertTrue($one->call('set', 'k', 'old'));
        self::assertTrue($one->call('set', 'stays', 'right'));
        $fault($this->directory);
        $fresh = $stays ? null : new Client($options);
        foreach (\array_filter([$one, $fresh]) as $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            self::assertContains($client->call('get', 'k'), ['old', 'new']);
            self::assertSame('right', $client->call('get', 'stays'));
            self::assertTrue($client->call('set', 'k', 'new'));
            self::assertSame('new', $client->call('get', 'k'));
            self::assertBounded($client->seconds);
            self::assertLessThanOrEqual(1, \count($client->log()), $client->process->errors());
        }
        // Another server, which shares nothing of this but the truth.
        $far = new Client(['far' => 'redis://127.0.0.1:' . $this->server->redis()->port, 'timeout' => self::TIMEOUT]);
        self::assertSame('new', $far->call('get', 'k'));
        self::assertTrue($far->call('set', 'k', 'newest'));
        foreach (\array_filter([$one, $fresh]) as $client) {
            $client->call('refresh');
            self::assertSame('newest', $client->call('get', 'k'));
        }
        // And with the truth away, nothing of the other tiers is taken for current.
        $this->server->hang();
        $one->call('refresh');
        self::assertNull($one->call('get', 'k'));
        self::assertFalse($one->call('delete', 'k'));
        $this->server->resume();
    }

    public function testAStoppedWriterOfANearTierOnDisk(): void
    {
        $this->server = FarServer::start('redis');
        $options = ['near' => 'sqlite://' . $this->directory] + $this->server->options();
        $one = new Client($options);
        self::assertTrue($one->call('set', 'k', 'old'));
        $files = \array_values(\array_filter(\glob($this->directory . '/*') ?: [], static fn(string $file): bool => \preg_match('~/(larder\\.db|kept-)~', $file) === 0));
        $holder = Process::snippet(<<<'PHP'
            foreach (array_slice($argv, 1) as $file) {
                $handles[] = $handle = fopen($file, 'c+');
                flock($handle, LOCK_EX);
            }
            echo "held\n";
            posix_kill(posix_getpid(), SIGSTOP);
            PHP, $files);
        $holder->expect('held');
        $fresh = new Client($options);
        foreach (['one' => $one, 'two' => $fresh] as $name => $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            self::assertContains($client->call('get', 'k'), ['old', 'one']);
            self::assertTrue($client->call('set', 'k', $name));
            $client->call('refresh');
            self::assertSame($name, $client->call('get', 'k'));
            self::assertBounded($client->seconds);
            self::assertCount(1, $client->log(), $client->process->errors());
        }
        $holder->kill();
        foreach ([$one, $fresh, new Client($options)] as $client) {
            $client->call('refresh');
            self::assertSame('two', $client->call('get', 'k'));
        }
    }
}
