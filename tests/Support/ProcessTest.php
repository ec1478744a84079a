<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

#[CoversNothing]
final class ProcessTest extends TestCase
{
    public function testTalksInLinesAndTellsTheExitStatus(): void
    {
        $child = Process::snippet('while (($line = fgets(STDIN)) !== false) echo strrev(trim($line)), $argv[1], "\n"; exit(3);', ['!']);
        $child->write("abc\n");
        self::assertSame('cba!', $child->line());
        $child->write("de\nfg\n");
        self::assertSame('ed!', $child->line());
        self::assertSame('gf!', $child->line());
        $child->closeInput();
        self::assertNull($child->line());
        self::assertSame([3, 3], [$child->wait(), $child->wait()]);
    }

    public function testWaitsNoLongerThanTold(): void
    {
        $child = Process::snippet('echo "up\n"; sleep(60);');
        $child->expect('up');
        self::assertNull($child->line(0.05));
        try {
            $child->wait(0.05);
            self::fail('It cannot have ended.');
        } catch (\RuntimeException $e) {
            self::assertStringContainsString('Still running', $e->getMessage());
        }
        $child->kill();
        self::assertFalse($child->isRunning());
        self::assertSame(128 + \SIGKILL, $child->wait());
    }

    public function testAChildThatWritesMoreThanAPipeHoldsEnds(): void
    {
        $child = Process::snippet('echo str_repeat("x", 300000), "\n"; fwrite(STDERR, str_repeat("e", 300000));');
        self::assertSame(0, $child->wait());
        self::assertSame(300_001, \strlen($child->output()));
        self::assertSame(300_000, \strlen($child->errors()));
    }

    public function testGivesSettingsAndEnvironment(): void
    {
        \putenv('LARDER_TEST_GONE=1');
        $child = Process::snippet(
            'var_export([ini_get("precision"), getenv("LARDER_TEST"), getenv("LARDER_TEST_GONE"), apcu_enabled()]);',
            ini: ['precision' => 7],
            environment: ['LARDER_TEST' => 'a b', 'LARDER_TEST_GONE' => null],
        );
        $child->wait();
        \putenv('LARDER_TEST_GONE');
        self::assertSame(\var_export(['7', 'a b', false, true], true), $child->output(), $child->errors());
    }

    public function testItsChildDiesWithAProcessThatIsKilled(): void
    {
        $temporary = new TemporaryDirectory('larder-t'); // what a killed process cannot remove
        $parent = Process::snippet(
            '$child = new Larder\Tests\Support\Process(["sleep", "60"]); echo $child->pid, "\n"; sleep(60);',
            environment: ['TMPDIR' => $temporary->path],
        );
        $pid = (int) $parent->line();
        self::assertTrue(\posix_kill($pid, 0));
        $parent->kill();
        self::assertTrue(Process::ends($pid), 'The child outlived its parent.');
    }

    public function testItsChildDiesWithAProcessThatFails(): void
    {
        $parent = Process::snippet('
            $child = new Larder\Tests\Support\Process(["sleep", "60"]);
            $directory = new Larder\Tests\Support\TemporaryDirectory();
            echo $child->pid, "\n$directory\n";
            (static fn (int $x) => 0)([]);', ini: ['display_errors' => 0, 'log_errors' => 0]);
        $pid = (int) $parent->line();
        $directory = (string) $parent->line();
        self::assertSame(255, $parent->wait());
        self::assertTrue(Process::ends($pid), 'The child outlived its parent.');
        self::assertDirectoryDoesNotExist($directory);
    }

    public function testAForkLeavesItsParentsThingsAlone(): void
    {
        $parent = Process::snippet('
            $child = new Larder\Tests\Support\Process(["sleep", "60"]);
            $directory = new Larder\Tests\Support\TemporaryDirectory();
            $directory->write("a", "b");
            if (($fork = pcntl_fork()) === 0) exit(0);
            pcntl_waitpid($fork, $status);
            echo (int) $child->isRunning(), (int) is_file($directory->file("a")), "\n";');
        self::assertSame('11', $parent->line(), $parent->errors());
        self::assertSame(0, $parent->wait());
    }
}
