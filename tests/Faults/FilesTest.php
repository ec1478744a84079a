<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;

/** Files as the truth: damaged, deleted, without room, without the right to write, their lock held for ever. */
final class FilesTest extends FaultCase
{
    private TemporaryDirectory $parent;
    private string $directory;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory();
        $this->directory = $this->parent->path . '/cache';
        parent::setUp();
    }

    /** @return iterable<string, array{string, \Closure(string): mixed}> which files, what is done to each */
    public static function damages(): iterable
    {
        $noise = static fn(string $file) => \file_put_contents($file, \random_bytes((int) \filesize($file)));
        $middle = static function (string $file): void {
            $handle = \fopen($file, 'r+');
            \assert($handle !== false);
            \fseek($handle, \intdiv((int) \filesize($file), 2));
            \fwrite($handle, \random_bytes(30));
        };
        $cut = static function (string $file): void {
            $handle = \fopen($file, 'r+');
            \assert($handle !== false);
            \ftruncate($handle, \intdiv((int) \filesize($file), 2));
        };
        foreach (['records' => '~/v\..*/~', 'log' => '~/log\.~', 'lock' => '~/lock$~', 'everything' => '~~'] as $name => $which) {
            yield "$name: noise" => [$which, $noise];
            yield "$name: bytes overwritten in the middle" => [$which, $middle];
            yield "$name: cut" => [$which, $cut];
            yield "$name: emptied" => [$which, static fn(string $file) => \file_put_contents($file, '')];
            yield "$name: deleted" => [$which, \unlink(...)];
        }
    }

    #[DataProvider('damages')]
    public function testDamagedOrDeletedUnderARunningProcess(string $which, \Closure $damage): void
    {
        $running = new Client($this->options());
        $values = [];
        for ($i = 0; $i < 40; $i++) {
            $values["k$i"] = \str_repeat("value $i ", 40);
        }
        self::assertTrue($running->call('setMultiple', ['k1' => 'older', 'k2' => 'older']));
        self::assertTrue($running->call('setMultiple', $values));
        self::assertTrue($running->call('delete', 'k7'));
        $files = new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator($this->directory, \FilesystemIterator::SKIP_DOTS));
        foreach (\iterator_to_array($files) as $file) {
            $path = (string) $file;
            // The file of kept invalidations has tests of its own (Request\KeptTest).
            if (\preg_match($which, $path) === 1 && \preg_match('~/(kept-|larder-directory)~', $path) === 0) {
                $damage($path);
            }
        }
        $fresh = new Client($this->options());
        foreach ([$running, $fresh] as $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            foreach ($values as $key => $value) {
                $got = $client->call('get', $key);
                self::assertTrue($got === null || ($got === $value && $key !== 'k7'), $key);
            }
            self::assertBounded($client->seconds);
            self::assertLessThanOrEqual(1, \count($client->log()), $client->process->errors());
        }
        self::assertIsBool($running->call('set', 'k1', 'new'));
        // A near tier still knows the marker of the last flush, which was damaged with the rest. Whoever first asks the
        // truth for it makes it anew, and what was stored before that is a miss.
        self::assertIsBool($this->open($this->options())->add('first', 'value'));
        $this->assertWorks($this->open($this->options()), $this->open($this->options()));
        foreach ([$running, $fresh] as $client) {
            $client->call('refresh');
            self::assertTrue($client->call('set', 'k1', 'newest'));
            self::assertSame('newest', $this->open($this->options())->get('k1'));
        }
    }

    public function testTheDiskIsFull(): void
    {
        \mkdir($this->directory, 0o700);
        \exec('mount -t tmpfs -o size=2m,mode=0700 larder ' . \escapeshellarg($this->directory) . ' 2>&1', $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs root and the right to mount: ' . \implode(' ', $said));
        }
        try {
            $running = new Client($this->options());
            self::assertTrue($running->call('set', 'k', 'old'));
            self::assertTrue($running->call('set', 'stays', 'right'));
            \exec('dd if=/dev/zero of=' . \escapeshellarg($this->directory . '/ballast') . ' bs=4k 2>/dev/null');
            $running->seconds = 0.0;
            self::assertFalse($running->call('set', 'large', \str_repeat('large ', 20_000)));
            self::assertBounded($running->seconds);
            self::assertLessThanOrEqual(1, \count($running->log()), $running->process->errors());
            $deleted = $running->call('delete', 'k');
            self::assertIsBool($deleted);
            self::assertNull($running->call('get', 'k'));
            $fresh = new Client($this->options());
            self::assertNull($fresh->call('get', 'k'));
            self::assertContains($fresh->call('get', 'stays'), [null, 'right']);
            \unlink($this->directory . '/ballast');
            self::rest();
            self::assertNull((new Client($this->options()))->call('get', 'k'));
            $this->assertWorks($this->open($this->options()), $this->open($this->options()));
            $running->call('refresh');
            self::assertTrue($running->call('set', 'k', 'new'));
            self::assertSame('new', $this->open($this->options())->get('k'));
            unset($running, $fresh);
        } finally {
            \exec('umount -l ' . \escapeshellarg($this->directory));
        }
    }

    public function testADirectoryThatHasBecomeReadOnly(): void
    {
        $writer = new Client($this->options());
        self::assertTrue($writer->call('set', 'k', 'old'));
        $writer->process->kill();
        $directory = \escapeshellarg($this->directory);
        \exec("mount --bind $directory $directory 2>&1 && mount -o remount,bind,ro $directory 2>&1", $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs root and the right to mount: ' . \implode(' ', $said));
        }
        try {
            $this->assertDown($this->open($this->options()));
            $this->assertOneLine('going on without it');
            $client = new Client($this->options());
            self::assertNull($client->call('get', 'k'), 'what cannot be written is not read');
            \exec("mount -o remount,bind,rw $directory");
            $this->assertWorks($this->open($this->options()), $this->open($this->options()));
            unset($client);
        } finally {
            \exec("umount -l $directory");
        }
    }

    public function testAStoppedHolderOfTheLock(): void
    {
        $running = new Client($this->options());
        self::assertTrue($running->call('set', 'k', 'old'));
        self::assertTrue($running->call('set', 'stays', 'right'));
        $holder = Process::snippet(<<<'PHP'
            $handle = fopen($argv[1], 'c+');
            flock($handle, LOCK_EX);
            echo "held\n";
            posix_kill(posix_getpid(), SIGSTOP);
            PHP, [$this->directory . '/lock']);
        $holder->expect('held');
        $fresh = new Client($this->options());
        $deleted = false;
        foreach ([$running, $fresh] as $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            self::assertContains($client->call('get', 'k'), $deleted ? [null] : [null, 'old']);
            self::assertContains($client->call('get', 'stays'), [null, 'right']);
            self::assertFalse($client->call('delete', 'k'));
            $deleted = true;
            self::assertNull($client->call('get', 'k'));
            self::assertBounded($client->seconds);
            self::assertCount(1, $client->log(), $client->process->errors());
        }
        $holder->kill();
        $next = new Client($this->options());
        self::assertNull($next->call('get', 'k'));
        self::assertSame('right', $next->call('get', 'stays'));
        self::assertTrue($next->call('set', 'k', 'new'));
        self::assertSame('new', $this->open($this->options())->get('k'));
    }

    /** @return array<string, mixed> */
    private function options(): array
    {
        return ['disk' => 'file://' . $this->directory, 'timeout' => self::TIMEOUT];
    }
}
