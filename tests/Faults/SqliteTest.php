<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;

/** SQLite as the truth: damaged, deleted, locked, without room, without the right to write. */
final class SqliteTest extends FaultCase
{
    private TemporaryDirectory $parent;
    private string $directory;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory();
        $this->directory = $this->parent->path . '/cache';
        parent::setUp();
    }

    /** @return iterable<string, array{\Closure(string): mixed}> */
    public static function damages(): iterable
    {
        $over = static function (string $file, int $at, string $bytes): void {
            $handle = \fopen($file, 'r+');
            \assert($handle !== false);
            \fseek($handle, $at);
            \fwrite($handle, $bytes);
            \fclose($handle);
        };
        yield 'bytes overwritten in the middle' => [static fn(string $file) => $over($file, 4096 * 3, \random_bytes(\max(1, (int) \filesize($file) - 4096 * 4)))];
        yield 'header overwritten' => [static fn(string $file) => $over($file, 0, \random_bytes(200))];
        yield 'truncated' => [static function (string $file): void {
            $handle = \fopen($file, 'r+');
            \assert($handle !== false);
            \ftruncate($handle, 9000);
        }];
        yield 'emptied' => [static fn(string $file) => \file_put_contents($file, '')];
        yield 'garbage' => [static fn(string $file) => \file_put_contents($file, \random_bytes(50_000))];
        yield 'another database' => [static function (string $file): void {
            \unlink($file);
            (new \PDO('sqlite:' . $file))->exec('CREATE TABLE foreigner (a); INSERT INTO foreigner VALUES (1)');
        }];
    }

    #[DataProvider('damages')]
    public function testADamagedDatabase(\Closure $damage): void
    {
        $running = new Client($this->options());
        $values = [];
        for ($i = 0; $i < 200; $i++) {
            $values["k$i"] = \str_repeat("value $i ", 100);
        }
        self::assertTrue($running->call('setMultiple', $values));
        self::assertTrue($running->call('delete', 'k7'));
        (new \PDO('sqlite:' . $this->directory . '/larder.db'))->exec('PRAGMA wal_checkpoint(TRUNCATE)');
        $damage($this->directory . '/larder.db');
        $fresh = new Client($this->options());
        foreach ([$running, $fresh] as $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            foreach ($values as $key => $value) {
                $got = $client->call('get', $key);
                self::assertTrue($got === null || ($got === $value && $key !== 'k7'), $key);
            }
            self::assertBounded($client->seconds);
            self::assertIsBool($client->call('set', 'after', 'new'));
            self::assertLessThanOrEqual(1, \count($client->log()), $client->process->errors());
        }
        if (\count($fresh->log()) === 1) {
            // Not one of Larder's own: nobody deletes what may be somebody else's.
            self::assertStringContainsString('does not belong to Larder', $fresh->log()[0]);
            \unlink($this->directory . '/larder.db');
        }
        $this->assertWorks($this->open($this->options()), $this->open($this->options()));
        self::rest($fresh->log() === [] ? 0.0 : self::REST);
        foreach ([$running, $fresh] as $client) {
            $client->call('refresh');
            self::assertTrue($client->call('set', 'k1', 'newest'));
            self::assertSame('newest', $this->open($this->options())->get('k1'));
        }
    }

    /** @return iterable<string, array{string}> */
    public static function deletions(): iterable
    {
        yield 'the database' => ['larder.db*'];
        yield 'its log' => ['larder.db-wal'];
        yield 'the bells' => ['bell.*'];
        yield 'the kept invalidations' => ['kept-*'];
        yield 'all files' => ['*'];
        yield 'the directory' => [''];
    }

    #[DataProvider('deletions')]
    public function testDeletedUnderARunningProcess(string $what): void
    {
        $running = [new Client($this->options()), new Client($this->options())];
        self::assertTrue($running[0]->call('set', 'k', 'older'));
        self::assertTrue($running[0]->call('set', 'k', 'old'));
        self::assertTrue($running[0]->call('delete', 'gone'));
        $running[1]->call('refresh');
        self::assertSame('old', $running[1]->call('get', 'k'));
        if ($what === '') {
            \exec('rm -rf ' . \escapeshellarg($this->directory));
        } else {
            foreach (\glob($this->directory . '/' . $what) ?: [] as $file) {
                \unlink($file);
            }
        }
        self::assertIsBool($running[0]->call('set', 'k', 'new'));
        $fresh = new Client($this->options());
        self::assertContains($fresh->call('get', 'k'), [null, 'new']);
        foreach ([...$running, $fresh] as $client) {
            $client->call('refresh');
            self::assertContains($client->call('get', 'k'), [null, 'new'], 'what was replaced is not shown again');
            self::assertTrue($client->call('set', 'k', 'new'));
            self::assertTrue($client->call('add', 'lock' . $client->process->pid, 'mine'));
        }
        foreach ([...$running, $fresh, new Client($this->options())] as $client) {
            $client->call('refresh');
            self::assertSame('new', $client->call('get', 'k'));
            self::assertSame('mine', $client->call('get', 'lock' . $running[0]->process->pid), 'all meet in one database');
            self::assertSame([], $client->log());
        }
    }

    public function testLockedByAnother(): void
    {
        $this->lockedFor(0.5);
    }

    #[Group('long')]
    public function testLockedByAnotherForTenSeconds(): void
    {
        $this->lockedFor(9.0);
    }

    public function testTheDiskIsFull(): void
    {
        $this->mount('-t tmpfs -o size=2m,mode=0700 larder');
        try {
            $running = new Client($this->options());
            self::assertTrue($running->call('set', 'k', 'old'));
            self::assertTrue($running->call('set', 'stays', 'right'));
            // By another process: a file that a child has inherited is not gone before the child is.
            \exec('dd if=/dev/zero of=' . \escapeshellarg($this->directory . '/ballast') . ' bs=4k 2>/dev/null');
            $running->seconds = 0.0;
            $value = \str_repeat('large ', 20_000);
            self::assertFalse($running->call('set', 'large', $value));
            self::assertFalse($running->call('add', 'lock', $value));
            self::assertFalse($running->call('delete', 'k'));
            self::assertNull($running->call('get', 'k'));
            self::assertBounded($running->seconds);
            self::assertCount(1, $running->log(), $running->process->errors());
            self::assertStringContainsString('full', $running->log()[0]);
            $fresh = new Client($this->options());
            self::assertNull($fresh->call('get', 'k'), 'the invalidation is kept where there was room for it');
            self::assertContains($fresh->call('get', 'stays'), [null, 'right']);
            $running->process->kill();
            \unlink($this->directory . '/ballast');
            $next = new Client($this->options());
            self::assertNull($next->call('get', 'k'));
            self::assertSame('right', $next->call('get', 'stays'));
            $this->assertWorks($this->open($this->options()), $this->open($this->options()));
            self::rest();
            $fresh->call('refresh');
            self::assertTrue($fresh->call('set', 'k', 'new'));
            unset($next, $fresh);
        } finally {
            $this->unmount();
        }
    }

    public function testADirectoryThatHasBecomeReadOnly(): void
    {
        $writer = new Client($this->options());
        self::assertTrue($writer->call('set', 'k', 'old'));
        $writer->process->kill();
        $this->mount('--bind ' . \escapeshellarg($this->directory));
        try {
            \exec('mount -o remount,bind,ro ' . \escapeshellarg($this->directory), $said, $status);
            self::assertSame(0, $status);
            $this->assertDown($this->open($this->options()));
            $this->assertOneLine('going on without it');
            $client = new Client($this->options());
            self::assertNull($client->call('get', 'k'), 'what cannot be written is not read');
            \exec('mount -o remount,bind,rw ' . \escapeshellarg($this->directory));
            $this->assertWorks($this->open($this->options()), $this->open($this->options()));
            unset($client);
        } finally {
            $this->unmount();
        }
    }

    public function testADirectoryThatIsReadOnlyForItsUser(): void
    {
        $user = $this->user();
        $client = new Client($this->options(), $user);
        self::assertTrue($client->call('set', 'k', 'old'));
        \chmod($this->directory, 0o500);
        $fresh = new Client($this->options(), $user);
        foreach ([$client, $fresh] as $each) {
            $each->seconds = 0.0;
            $each->call('refresh');
            self::assertContains($each->call('get', 'k'), [null, 'old', 'new']);
            $done = $each->call('set', 'k', 'new');
            self::assertContains($this->fresh($user)->call('get', 'k'), $done === true ? ['new'] : [null]);
            self::assertBounded($each->seconds);
            self::assertLessThanOrEqual(1, \count($each->log()));
        }
        \chmod($this->directory, 0o700);
        foreach ([$this->fresh($user), $this->fresh($user)] as $each) {
            $each->call('refresh');
            self::assertTrue($each->call('set', 'k', 'newest'));
            self::assertSame('newest', $this->fresh($user)->call('get', 'k'));
        }
    }

    public function testADirectoryThatCannotBeMadeYet(): void
    {
        $user = $this->user();
        $this->directory = $this->parent->path . '/closed/cache';
        \mkdir($this->parent->path . '/closed', 0o755);
        $one = new Client($this->options(), $user);
        $two = new Client($this->options(), $user);
        foreach ([$one, $two] as $client) {
            self::assertFalse($client->call('add', 'lock', 'mine'), 'nobody gets a lock that two could hold');
            self::assertFalse($client->call('set', 'k', 'v'));
            self::assertFalse($client->call('increment', 'count'));
            self::assertNull($client->call('get', 'k'));
            self::assertSame('computed', $client->call('remember', 'r', 'computed'));
            self::assertBounded($client->seconds);
            self::assertCount(1, $client->log(), $client->process->errors());
            self::assertStringContainsString('cannot be created', $client->log()[0]);
        }
        \chown($this->parent->path . '/closed', $user);
        self::rest();
        $one->call('refresh');
        $two->call('refresh');
        // Each has applied by now what the other could not invalidate.
        $one->call('refresh');
        self::assertTrue($one->call('add', 'lock', 'mine'));
        self::assertFalse($two->call('add', 'lock', 'mine'));
        self::assertTrue($one->call('set', 'k', 'v'));
        $two->call('refresh');
        self::assertSame('v', $two->call('get', 'k'));
    }

    /** @return iterable<string, array{string}> */
    public static function locks(): iterable
    {
        yield 'bell' => ['bell.*'];
        yield 'larder.lock' => ['larder.lock'];
        yield 'near' => ['near-*.lock'];
        yield 'all' => ['*'];
    }

    #[DataProvider('locks')]
    public function testAStoppedHolderOfALock(string $which): void
    {
        $options = ['near' => 'apcu'] + $this->options();
        $running = new Client($options);
        self::assertTrue($running->call('set', 'k', 'old'));
        // All but SQLite's own and the file of kept invalidations, which has a test of its own (Request\KeptTest).
        $files = \array_values(\array_filter(
            \glob($this->directory . '/' . $which) ?: [],
            static fn(string $file): bool => \preg_match('~/(larder\.db|kept-)~', $file) === 0,
        ));
        self::assertNotSame([], $files);
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
        $done = false;
        foreach ([$running, $fresh] as $client) {
            $client->seconds = 0.0;
            $client->call('refresh');
            self::assertContains($client->call('get', 'k'), $done ? ['new'] : [null, 'old']);
            $done = $client->call('set', 'k', 'new') === true || $done;
            self::assertContains($client->call('get', 'k'), $done ? ['new'] : [null]);
            self::assertBounded($client->seconds);
            self::assertLessThanOrEqual(1, \count($client->log()), $client->process->errors());
        }
        $holder->kill();
        $next = new Client($options);
        self::assertSame($done ? 'new' : null, $next->call('get', 'k'));
        self::assertTrue($next->call('set', 'k', 'newest'));
        self::assertSame('newest', (new Client($options))->call('get', 'k'));
    }

    private function lockedFor(float $seconds): void
    {
        $running = new Client($this->options());
        self::assertTrue($running->call('set', 'k', 'old'));
        self::assertTrue($running->call('set', 'stays', 'right'));
        $other = Process::snippet(<<<'PHP'
            $pdo = new PDO('sqlite:' . $argv[1]);
            $pdo->exec('BEGIN EXCLUSIVE');
            echo "locked\n";
            fgets(STDIN);
            $pdo->exec('ROLLBACK');
            echo "free\n";
            PHP, [$this->directory . '/larder.db']);
        $other->expect('locked');
        $end = \microtime(true) + $seconds;
        $deleted = false;
        do {
            $fresh = new Client($this->options());
            foreach ([$running, $fresh] as $client) {
                $client->call('refresh');
                $client->seconds = 0.0;
                self::assertContains($client->call('get', 'k'), $deleted ? [null] : [null, 'old']);
                self::assertContains($client->call('get', 'stays'), [null, 'right']);
                self::assertFalse($client->call('delete', 'k'));
                $deleted = true;
                self::assertFalse($client->call('add', 'lock', 'mine'));
                self::assertBounded($client->seconds);
                self::assertCount(1, $client->log(), $client->process->errors());
            }
        } while (\microtime(true) < $end);
        $other->write("\n");
        $other->expect('free');
        $next = new Client($this->options());
        self::assertNull($next->call('get', 'k'));
        self::assertSame('right', $next->call('get', 'stays'));
        self::assertTrue($next->call('set', 'k', 'new'));
        self::rest();
        $running->call('refresh');
        self::assertSame('new', $running->call('get', 'k'));
        self::assertTrue($running->call('set', 'k', 'newest'));
        self::assertSame('newest', $this->open($this->options())->get('k'));
    }

    /** @return array<string, mixed> */
    private function options(): array
    {
        return ['disk' => 'sqlite://' . $this->directory, 'timeout' => self::TIMEOUT];
    }

    private function fresh(int $user): Client
    {
        return new Client($this->options(), $user);
    }

    /** A user that nobody is, who owns the directory. */
    private function user(): int
    {
        if (\posix_geteuid() !== 0) {
            self::markTestSkipped('Needs root, to become another user.');
        }
        $user = \random_int(200_000, 900_000);
        \chmod($this->parent->path, 0o755);
        \mkdir($this->directory, 0o700);
        \chown($this->directory, $user);

        return $user;
    }

    private function mount(string $what): void
    {
        \is_dir($this->directory) || \mkdir($this->directory, 0o700);
        \exec('mount ' . $what . ' ' . \escapeshellarg($this->directory) . ' 2>&1', $said, $status);
        if ($status !== 0) {
            self::markTestSkipped('Needs root and the right to mount: ' . \implode(' ', $said));
        }
    }

    private function unmount(): void
    {
        \exec('umount -l ' . \escapeshellarg($this->directory));
    }
}
