<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\DirectoryList;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** The list of a user's directories: whole whoever writes it, short, and without what is gone. */
#[CoversClass(DirectoryList::class)]
final class DirectoryListTest extends TestCase
{
    private TemporaryDirectory $directory;
    private DirectoryList $list;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->list = new DirectoryList($this->directory->path);
    }

    // Seen to fail: without the encoding; without the look whether a directory is known.
    public function testEachDirectoryIsNotedOnceWhateverItsName(): void
    {
        $paths = [];
        foreach (['a b', "a\nb", '%41', 'ä', "\xff", '+'] as $name) {
            \mkdir($paths[] = $this->directory->file($name));
        }
        foreach ([...$paths, ...\array_reverse($paths)] as $path) {
            $this->list->add($path);
        }

        self::assertSame(\array_reverse($paths), $this->noted());
    }

    // Seen to fail: without is_dir().
    public function testWhatIsGoneIsForgotten(): void
    {
        foreach (['one', 'two', 'three'] as $name) {
            \mkdir($this->directory->file($name));
            $this->list->add($this->directory->file($name));
        }
        \rmdir($this->directory->file('one'));
        $this->list->add($this->directory->file('two'));

        self::assertSame([$this->directory->file('three'), $this->directory->file('two')], $this->noted());
    }

    // Seen to fail: a list that only grows; ftruncate() left out.
    public function testItHasAnEnd(): void
    {
        $file = $this->directory->write(DirectoryList::FILE, \str_repeat("/etc\n", 100_000));
        $this->list->add('/usr');
        self::assertSame(['/etc', '/usr'], $this->noted());
        self::assertSame(10, \filesize($file));
        $long = $this->directory->path . \str_repeat('/' . \str_repeat('x', 200), 4);
        \mkdir($long, 0o700, true);
        for ($i = 0; $i < 100; $i++) {
            \mkdir("$long/$i");
            $this->list->add("$long/$i");
        }
        \clearstatcache();

        self::assertLessThanOrEqual(DirectoryList::LONGEST, \filesize($file));
        self::assertSame("$long/99", $this->noted()[\count($this->noted()) - 1]);
        self::assertGreaterThan(50, \count($this->noted()));
    }

    // Seen to fail: without the lock.
    public function testManyAtOnceLoseNothing(): void
    {
        $processes = $expected = [];
        for ($i = 0; $i < 6; $i++) {
            for ($j = 0; $j < 40; $j++) {
                \mkdir($expected[] = $this->directory->file("$i-$j"));
            }
            $processes[] = Process::snippet('require $argv[2]; while (!is_file("$argv[1]/go")) { usleep(100); clearstatcache(); } for ($j = 0; $j < 40; $j++) { (new Larder\System\DirectoryList($argv[1]))->add("$argv[1]/$argv[3]-$j"); }', [$this->directory->path, \dirname(__DIR__, 2) . '/vendor/autoload.php', (string) $i]);
        }
        $this->directory->write('go', '');
        foreach ($processes as $process) {
            self::assertSame(0, $process->wait(), $process->errors());
        }

        self::assertEqualsCanonicalizing($expected, $this->noted());
    }

    // Seen to fail: fopen() without a look at the file.
    public function testAFileThatSomebodyMayHavePlantedIsNotWritten(): void
    {
        $target = $this->directory->write('target', 'precious');
        \symlink($target, $this->directory->file(DirectoryList::FILE));
        $this->list->add('/usr');

        self::assertSame('precious', \file_get_contents($target));
    }

    /** @return list<string> */
    private function noted(): array
    {
        return DirectoryList::parse((string) \file_get_contents($this->directory->file(DirectoryList::FILE)));
    }
}
