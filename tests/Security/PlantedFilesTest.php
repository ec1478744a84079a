<?php

declare(strict_types=1);

namespace Larder\Tests\Security;

use Larder\Cache;
use Larder\Counter;
use Larder\Counter\CounterFailure;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\System\FileLock;
use Larder\Tests\Faults\Lines;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/**
 * Files that somebody else put into the directory, while it was open to all: nothing is written through them, and
 * nothing that is in them is believed.
 */
final class PlantedFilesTest extends TestCase
{
    private const OTHER = 33;
    private const KINDS = ['link', 'dangling link', 'second name', 'foreign', 'writable', 'pipe'];

    private TemporaryDirectory $outside;
    private TemporaryDirectory $directory;
    private Lines $log;

    protected function setUp(): void
    {
        $this->outside = new TemporaryDirectory();
        $this->directory = new TemporaryDirectory();
        $this->log = new Lines();
        Trap::$sprung = 0;
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
    }

    /** @return iterable<string, array{string, string, bool, string}> scheme, file, whether the records are in it, kind */
    public static function plants(): iterable
    {
        $files = [
            'sqlite' => ['larder.db' => true, 'larder.db-wal' => true, 'larder.db-shm' => true, 'larder.db-journal' => false, 'bell.*' => false, 'larder.lock' => false],
            'file' => ['lock' => true, 'log.*' => true],
        ];
        foreach ($files as $scheme => $names) {
            foreach ($names as $name => $isData) {
                foreach (self::KINDS as $kind) {
                    yield "$scheme, $name, $kind" => [$scheme, $name, $isData, $kind];
                }
            }
        }
    }

    /** @return iterable<string, array{string, string, string}> of queue or counter, file, kind */
    public static function plantsOfDurables(): iterable
    {
        foreach (['queue' => 'queue-mail.db', 'counter' => 'counters.db'] as $of => $name) {
            foreach (['', '-wal', '-shm', '-journal'] as $part) {
                foreach (self::KINDS as $kind) {
                    yield "$of, $name$part, $kind" => [$of, $name . $part, $kind];
                }
            }
        }
    }

    /** Seen to fail: these databases were opened whatever lay beside them. */
    #[DataProvider('plantsOfDurables')]
    public function testOfAQueueOrCounterIsRefused(string $of, string $name, string $kind): void
    {
        $use = fn(): mixed => $of === 'queue'
            ? Queue::open('sqlite://' . $this->directory->path, 'mail')->push('later', 60)
            : Counter::open('sqlite://' . $this->directory->path, 'views')->add();
        $use();
        \gc_collect_cycles();
        [$path, $victim, $bytes] = $this->plant($this->directory->file($name), $kind);
        try {
            $use();
            self::fail('It was opened.');
        } catch (QueueFailure|CounterFailure $failure) {
            self::assertStringContainsString($path, $failure->getMessage());
            self::assertStringContainsString('remove it', $failure->getMessage());
        }
        self::assertSame($bytes, \file_get_contents($victim));
        self::assertFileDoesNotExist($victim . '-not-there');
        \unlink($path);
        $use();
    }

    #[DataProvider('plants')]
    public function testIsNeitherReadNorWrittenThrough(string $scheme, string $name, bool $isData, string $kind): void
    {
        $cache = $this->open($scheme);
        self::assertTrue($cache->set('k', new Trap()));
        self::assertTrue($cache->set('other', 'value'));
        unset($cache);
        \gc_collect_cycles();
        Trap::$sprung = 0;

        [$path, $victim, $bytes] = $this->plant(\glob($this->directory->path . '/' . $name)[0] ?? $this->directory->path . '/' . $name, $kind);

        $cache = $this->open($scheme);
        $cache->set('new', 'value');
        $got = $cache->get('k');
        $cache->delete('other');
        $cache->increment('count');
        unset($cache);
        \gc_collect_cycles();
        self::assertSame($bytes, \file_get_contents($victim));
        self::assertFileDoesNotExist($victim . '-not-there');
        if ($isData) {
            self::assertNull($got);
            self::assertSame(0, Trap::$sprung, 'nothing of it was unserialized');
        }
        if (\in_array($name, ['larder.db', 'lock'], true)) {
            self::assertCount(1, $this->log->lines);
            self::assertStringContainsString($path, $this->log->lines[0]);
            self::assertStringContainsString('remove it', $this->log->lines[0]);
            // And what it says helps.
            \unlink($path);
            $cache = $this->open($scheme);
            self::assertTrue($cache->set('new', 'value'));
        }
    }

    /** Of which the kept invalidations, the flag, the lock of APCu and the note of what was said are opened by the same. */
    public function testALockFileIsNotOpenedThroughALink(): void
    {
        $victim = $this->outside->file('victim');
        \file_put_contents($victim, 'precious');
        $path = $this->directory->file('kept');
        \symlink($victim, $path);
        self::assertNull(FileLock::file($path));
        \unlink($path);
        \link($victim, $path);
        self::assertNull(FileLock::file($path));
        \unlink($path);
        \posix_mkfifo($path, 0o600);
        self::assertNull(FileLock::file($path));
        \unlink($path);
        self::assertNotNull(FileLock::file($path));
        self::assertNotNull(FileLock::file($path));
    }

    /** What is left of older epochs is cleared away by name. */
    public function testNothingIsClearedAwayBehindALink(): void
    {
        \mkdir($this->outside->path . '/ab');
        \touch($this->outside->path . '/precious');
        \touch($this->outside->path . '/ab/precious');
        $cache = $this->open('file');
        $cache->set('k', 1);
        \symlink($this->outside->path, $this->directory->path . '/v.0123456789abcdef');
        \mkdir($this->directory->path . '/v.0123456789abcdee');
        \symlink($this->outside->path . '/ab', $this->directory->path . '/v.0123456789abcdee/ab');
        for ($i = 0; $i < 1000 && \glob($this->directory->path . '/v.0123*') !== []; $i++) {
            $cache->set("k$i", 1);
            $cache->refresh();
        }
        self::assertSame([], \glob($this->directory->path . '/v.0123*'));
        self::assertFileExists($this->outside->path . '/precious');
        self::assertFileExists($this->outside->path . '/ab/precious');
    }

    /** @return array{string, string, string|false} the path, where what was there lies now, and what that holds */
    private function plant(string $path, string $kind): array
    {
        if ($kind === 'foreign' && \posix_geteuid() !== 0) {
            self::markTestSkipped('Needs root, to give a file away.');
        }
        $victim = $this->outside->file('victim');
        \clearstatcache();
        \is_file($path) ? \rename($path, $victim) : \file_put_contents($victim, 'precious');
        $bytes = \file_get_contents($victim);
        match ($kind) {
            'link' => \symlink($victim, $path),
            'dangling link' => \symlink($victim . '-not-there', $path),
            'second name' => \link($victim, $path),
            'pipe' => \posix_mkfifo($path, 0o600),
            'foreign' => \copy($victim, $path) && \chmod($path, 0o644) && \chown($path, self::OTHER),
            default => \copy($victim, $path) && \chmod($path, 0o666),
        };

        return [$path, $victim, $bytes];
    }

    private function open(string $scheme): Cache
    {
        return Cache::open(['disk' => $scheme . '://' . $this->directory->path, 'near' => 'none', 'serializer' => 'php', 'logger' => $this->log]);
    }
}
