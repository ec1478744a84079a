<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\FileLock;
use Larder\System\Quiet;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** No program that an application starts has the cache's files open. */
#[CoversClass(FileLock::class)]
final class OpenFilesTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    #[TestWith(['file://%s'])]
    #[TestWith(['sqlite://%s'])]
    #[TestWith(['sqlite://%s?near=apcu'])]
    public function testAProgramInheritsNone(string $dsn): void
    {
        $application = Process::snippet(<<<'PHP'
            $cache = Larder\Cache::open(sprintf($argv[1], "$argv[2]/cache"));
            $cache->set('a', 1);
            $cache->delete('b');
            $cache->getMultiple(['a', 'b', 'c']);
            $queue = Larder\Queue\Queue::open("sqlite://$argv[2]/queue", 'mails');
            $queue->push('hello');
            $queue->pop();
            echo implode(' ', array_map('readlink', glob('/proc/self/fd/*'))), "\n";
            passthru('ls -l /proc/self/fd');
            PHP, [$dsn, $this->directory->path]);

        self::assertStringContainsString($this->directory->path, (string) $application->line(), 'it has files open itself');
        self::assertStringNotContainsString($this->directory->path, $application->output());
        self::assertSame(0, $application->wait(), $application->errors());
    }

    public function testTheLockOfADeadProcessIsFreeWhateverItHasStarted(): void
    {
        $file = $this->directory->file('lock');
        $holder = Process::snippet(<<<'PHP'
            $lock = new Larder\System\FileLock('files', $argv[1], 1.0);
            $lock->handle();
            $program = proc_open(['sleep', '1000'], [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', '/dev/null', 'w']], $pipes);
            $lock->exclusive();
            echo proc_get_status($program)['pid'], "\n";
            posix_kill(getmypid(), SIGKILL);
            PHP, [$file]);
        $program = (int) $holder->line();
        try {
            self::assertSame(128 + \SIGKILL, $holder->wait());
            self::assertFalse(Process::ends($program, 0.0));
            // The program has the lock's file open until its exec(), which may come after its parent's death.
            $lock = new FileLock('files', $file, 10.0);
            self::assertIsResource(Quiet::call($lock->exclusive(...)));
        } finally {
            $program > 0 && \posix_kill($program, \SIGKILL);
        }
    }

    public function testEveryFileIsOpenedSo(): void
    {
        $modes = [];
        foreach (new \RecursiveIteratorIterator(new \RecursiveDirectoryIterator(\dirname(__DIR__, 2) . '/src', \FilesystemIterator::SKIP_DOTS)) as $file) {
            \assert($file instanceof \SplFileInfo);
            \preg_match_all('~\\\\fopen\((?!\'php://)[^;]*?, [\'"]([^\'"]+)[\'"]\)~', (string) \file_get_contents($file->getPathname()), $found);
            \array_push($modes, ...$found[1]);
        }

        self::assertGreaterThan(15, \count($modes));
        self::assertSame([], \array_filter($modes, static fn(string $mode): bool => !\str_ends_with($mode, 'e')));
    }

    /** Without waiting for PHP's collector of circles: a process that opens many caches would run out of descriptors. */
    #[TestWith(['sqlite'])]
    #[TestWith(['file'])]
    #[TestWith(['memory'])]
    public function testACacheThatTheApplicationDropsGivesEverythingBackAtOnce(string $engine): void
    {
        $directory = new TemporaryDirectory();
        $left = Process::said(<<<'PHP'
            gc_disable();
            $open = static fn(): int => count(scandir('/proc/self/fd'));
            foreach ([1, 2] as $round) {
                $before = [$open(), memory_get_usage()];
                $cache = Larder\Cache::open($argv[1], ['near' => 'none']);
                $cache->set('k', str_repeat('v', 1 << 20));
                $cache->get('k');
                $cache->writeFills();
                unset($cache);
            }
            echo json_encode([$open() - $before[0], memory_get_usage() - $before[1] < 1 << 20]), "\n";
            PHP, [$engine . '://' . ($engine === 'memory' ? '' : $directory->path . '/cache')]);
        self::assertSame([0, true], $left);
    }
}
