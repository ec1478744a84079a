<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Label;
use Larder\Lab\Service\ServiceFailure;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class DirectoryTest extends TestCase
{
    private TemporaryDirectory $parent;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-d');
    }

    public function testIsPrivateAndGoesWithAllThatIsInIt(): void
    {
        $directory = Directory::temporary($this->parent->path);
        self::assertSame(0o700, \fileperms($directory->path) & 0o777);
        self::assertSame([], \array_diff((array) \scandir($directory->path), ['.', '..']));
        $sub = $directory->sub('redis');
        \file_put_contents($sub->file('log'), 'x');
        \symlink('/etc', $sub->file('link'));
        self::assertSame(['redis', 'redis-2', 'redis-3'], [\basename($sub->path), \basename($directory->sub('redis')->path), \basename($directory->sub('redis')->path)]);
        $directory->remove();
        $directory->remove();
        self::assertSame([], \glob("$this->parent/*"));
        self::assertFileExists('/etc/passwd');
    }

    public function testOnlyWhatDeadLabsLeftIsSwept(): void
    {
        $dead = Process::snippet('');
        $dead->wait();
        $own = Label::make();
        $label = static fn(int $pid): string => (string) \preg_replace('/lab-\d+/', "lab-$pid", $own);
        $keep = [
            $label(\posix_getppid()),
            // Another machine's, or container's, that shares the directory: nobody here knows whether it lives.
            "larder-lab-$dead->pid-1-0123abcd",
            "larder-lab-$dead->pid",
            "larder-$dead->pid-4026531836-0123abcd",
            $label($dead->pid) . 'x',
            'something',
        ];
        foreach ([...$keep, $label($dead->pid)] as $name) {
            \mkdir("$this->parent/$name/redis", 0o700, true);
            \touch("$this->parent/$name/redis/log");
        }
        $keep[] = $link = (string) \preg_replace('/.{8}$/', '11111111', $label($dead->pid));
        \symlink("$this->parent/something", "$this->parent/$link");
        if (\posix_geteuid() === 0) {
            $keep[] = $other = (string) \preg_replace('/.{8}$/', '00000000', $label($dead->pid));
            \mkdir("$this->parent/$other");
            \chown("$this->parent/$other", 65534);
        }
        $directory = Directory::temporary($this->parent->path);
        $keep[] = \basename($directory->path);
        self::assertEqualsCanonicalizing($keep, \array_map('basename', \glob("$this->parent/*") ?: []));
        self::assertFileExists("$this->parent/something/redis/log");
    }

    public function testAProcessThatNobodyWaitedForIsDead(): void
    {
        $parent = Process::snippet('$child = pcntl_fork(); if ($child === 0) exit; echo "$child\n"; sleep(60);');
        $child = (int) $parent->line();
        self::assertTrue(Process::ends($child));
        self::assertFileExists("/proc/$child/stat");
        self::assertFalse(Label::lives($child));
        self::assertTrue(Label::lives($parent->pid));
        $parent->kill();
        self::assertFalse(Label::lives($parent->pid));
        self::assertFalse(Label::isLeftover(Label::make()));
    }

    public function testAPlaceThatCannotBeWrittenIsNamed(): void
    {
        $file = $this->parent->write('file', '');
        foreach (["$this->parent/none" => 'no such file', $file => 'not a directory'] as $parent => $reason) {
            try {
                Directory::temporary($parent);
                self::fail('It cannot be made.');
            } catch (ServiceFailure $failure) {
                self::assertMatchesRegularExpression("{^Cannot make the directory $parent/larder-lab-\\S+: $reason.*\\. Set TMPDIR to }i", $failure->getMessage());
            }
        }
    }

    public function testAFullDiskIsNamed(): void
    {
        if ((new Process(['unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', $this->parent->path]))->wait() !== 0) {
            self::markTestSkipped('A file system of its own takes root.');
        }
        $code = 'require $argv[1]; try { Larder\Lab\Service\Directory::temporary($argv[2]); } catch (RuntimeException $e) { echo $e->getMessage(); } echo count(glob("$argv[2]/*"));';
        $child = new Process([
            'unshare', '--mount', 'sh', '-c', 'mount -t tmpfs -o size=32k none "$2" && exec "$0" -r "$3" -- "$1" "$2"',
            \PHP_BINARY, \dirname(__DIR__, 3) . '/vendor/autoload.php', $this->parent->path, $code,
        ]);
        self::assertSame("There is no space left in $this->parent. Make room there, or set TMPDIR to a directory with free space.0", $child->output(), $child->errors());
    }

    public function testASocketsPathHasToFit(): void
    {
        $directory = Directory::temporary($this->parent->path)->sub(\str_repeat('x', 100));
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('is too long for a unix socket. Set TMPDIR to a directory with a shorter name');
        $directory->socket('socket');
    }
}
