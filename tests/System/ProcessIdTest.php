<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\ProcessId;
use Larder\Tests\Config\Child;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\Checkout;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresOperatingSystemFamily;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** Names of processes, by which others can tell when one has died. */
#[RequiresOperatingSystemFamily('Linux')]
final class ProcessIdTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    protected function tearDown(): void
    {
        $this->endChildren();
    }

    private const CODE = <<<'PHP'
        echo Larder\System\ProcessId::current(), "\n";
        sleep(60);
        PHP;

    public function testALivingProcessIsNotDead(): void
    {
        self::assertMatchesRegularExpression('/^[0-9a-f]+\.\d+\.' . \getmypid() . '\.\d+$/D', ProcessId::current());
        self::assertSame(ProcessId::current(), ProcessId::current());
        self::assertFalse(ProcessId::isKnownDead(ProcessId::current()));
        $other = Process::snippet(self::CODE);
        $name = (string) $other->line();
        self::assertNotSame(ProcessId::current(), $name);
        self::assertFalse(ProcessId::isKnownDead($name));
        $other->signal(\SIGSTOP);
        self::assertFalse(ProcessId::isKnownDead($name), 'stopped is not dead');
    }

    public function testADeadProcessIsDeadAlsoWhileNobodyHasWaitedForIt(): void
    {
        $code = self::CODE;
        // A parent that never waits: its child stays as a zombie.
        $parent = Process::snippet(<<<'PHP'
            $pid = pcntl_fork();
            if ($pid === 0) {
                echo Larder\System\ProcessId::current(), "\n";
                posix_kill(posix_getpid(), SIGKILL);
            }
            sleep(60);
            PHP);
        $zombie = (string) $parent->line();
        [, , $pid] = \explode('.', $zombie) + ['', '', ''];
        self::assertTrue(Process::ends((int) $pid));
        self::assertFileExists("/proc/$pid/stat");
        self::assertTrue(ProcessId::isKnownDead($zombie));

        $other = Process::snippet($code);
        $name = (string) $other->line();
        $other->kill();
        self::assertTrue(ProcessId::isKnownDead($name));
    }

    public function testAProcessIdThatCameBackIsAnotherProcess(): void
    {
        $parts = \explode('.', ProcessId::current());
        $parts[3] = (string) ((int) $parts[3] - 1);
        self::assertTrue(ProcessId::isKnownDead(\implode('.', $parts)), 'the same number, and it began at another time');
    }

    public function testNothingIsKnownOfOtherMachinesAndContainers(): void
    {
        [$boot, $space, , $time] = \explode('.', ProcessId::current()) + ['', '', '', ''];
        foreach (["ffffffffffff.$space.999999999.$time", "$boot.1.999999999.$time", "$boot.0.999999999.$time", "$boot.$space.999999999", "$boot.$space.0.$time", "$boot.$space.-1.$time", '', 'nonsense', '....'] as $name) {
            self::assertFalse(ProcessId::isKnownDead($name), $name);
        }
        self::assertTrue(ProcessId::isKnownDead("$boot.$space.999999999.$time"));
        self::assertTrue(ProcessId::isKnownDead("$boot.$space.999999999.0"), 'also one that could not learn when it began');
    }

    /**
     * As the workers of php-fpm are, which root began: whoever changes its user hides its /proc from its own kind.
     */
    #[DataProvider('hiding')]
    public function testWhoeverCannotBeSeenIsNotDead(string $hidepid): void
    {
        if (\posix_geteuid() !== 0 || Child::run(['unshare', '-mpf', 'true'])->status !== 0) {
            self::markTestSkipped('needs root and unshare(1)');
        }
        $code = <<<'PHP'
            class_exists(Larder\System\ProcessId::class);
            $pipes = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            $other = pcntl_fork();
            if ($other === 0) {
                posix_initgroups('www-data', 33) && posix_setgid(33) && posix_setuid(33);
                fwrite($pipes[1], Larder\System\ProcessId::current() . "\n");
                fgets($pipes[1]);
                posix_kill(posix_getpid(), SIGKILL);
            }
            $name = trim((string) fgets($pipes[0]));
            $observer = pcntl_fork();
            if ($observer === 0) {
                posix_initgroups('www-data', 33) && posix_setgid(33) && posix_setuid(33);
                @file_get_contents('/proc/1/stat') === false || exit("not hidden\n");
                file_exists("/proc/$other/cmdline") && @file_get_contents("/proc/$other/stat") !== false && exit("the other is not hidden\n");
                echo json_encode([preg_match('/^[0-9a-f]+\.[1-9]\d*\.\d+\.\d+$/D', $name), Larder\System\ProcessId::isKnownDead($name)]), "\n";
                exit;
            }
            pcntl_waitpid($observer, $status);
            fwrite($pipes[0], "die\n");
            pcntl_waitpid($other, $status);
            if (($observer = pcntl_fork()) === 0) {
                posix_initgroups('www-data', 33) && posix_setgid(33) && posix_setuid(33);
                echo json_encode(Larder\System\ProcessId::isKnownDead($name)), "\n";
                exit;
            }
            pcntl_waitpid($observer, $status);
            PHP;
        $autoload = 'require ' . \var_export(Checkout::autoload(), true) . ';';
        $child = Child::run(['unshare', '-mpf', 'sh', '-c', 'mount -t proc -o hidepid=' . $hidepid . ' proc /proc && exec "$0" -r "$1"', \PHP_BINARY, $autoload . $code]);
        self::assertSame("[1,false]\ntrue\n", $child->output, $child->errors);
    }

    /** @return iterable<array{string}> */
    public static function hiding(): iterable
    {
        yield 'contents' => ['1'];
        yield 'names' => ['2'];
    }

    /** A name space of processes whose /proc is another's shows other processes under the same numbers. */
    public function testAnotherNameSpacesProcIsNotBelieved(): void
    {
        if (\posix_geteuid() !== 0 || Child::run(['unshare', '-pf', 'true'])->status !== 0) {
            self::markTestSkipped('needs root and unshare(1)');
        }
        $code = <<<'PHP'
            $pipes = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
            if (($other = pcntl_fork()) === 0) {
                fwrite($pipes[1], Larder\System\ProcessId::current() . "\n");
                fgets($pipes[1]);
                exit;
            }
            $name = trim((string) fgets($pipes[0]));
            echo json_encode(Larder\System\ProcessId::isKnownDead($name)), "\n";
            fwrite($pipes[0], "go\n");
            pcntl_waitpid($other, $status);
            echo json_encode(Larder\System\ProcessId::isKnownDead($name)), "\n";
            PHP;
        $autoload = 'require ' . \var_export(Checkout::autoload(), true) . ';';
        $child = Child::run(['unshare', '-pf', \PHP_BINARY, '-r', $autoload . $code]);
        self::assertSame("false\ntrue\n", $child->output, $child->errors);
    }

    /** On hosts that take functions away. */
    #[TestWith(['posix_kill'])]
    #[TestWith(['posix_kill,posix_get_last_error,posix_getpid,getmypid,gethostname,readlink'])]
    public function testWithoutFunctionsOnlyABeginningThatDiffersSaysSo(string $functions): void
    {
        $other = Process::snippet(self::CODE);
        $name = (string) $other->line();
        $parts = \explode('.', $name);
        $parts[3] = (string) ((int) $parts[3] - 1);
        $code = '$own = Larder\System\ProcessId::current(); echo json_encode([Larder\System\ProcessId::isKnownDead($own), $own !== Larder\System\ProcessId::current(),'
            . 'Larder\System\ProcessId::isKnownDead("' . $name . '"), Larder\System\ProcessId::isKnownDead("' . \implode('.', $parts) . '")]);';
        $child = Child::php($code, options: ['-d', 'disable_functions=' . $functions]);
        self::assertSame('[false,false,false,' . \json_encode(!\str_contains($functions, 'getmypid')) . ']', $child->output, $child->errors);
    }

    // Seen to fail: PHP remembers where /proc/self led to, and a child had its parent's beginning, so it was taken for dead.
    public function testAForkedChildIsAliveToOthers(): void
    {
        $directory = new TemporaryDirectory();
        // The parent has a name, so it has looked at itself.
        ProcessId::current();
        [$pid] = $this->fork(static function () use ($directory): never {
            $directory->write('name.new', ProcessId::current());
            \rename($directory->file('name.new'), $directory->file('name'));
            while (true) {
                \sleep(60);
            }
        });
        $this->await(static fn(): bool => \is_file($directory->file('name')));
        $name = (string) \file_get_contents($directory->file('name'));
        self::assertStringContainsString(".$pid.", $name);
        self::assertTrue(ProcessId::isAlive($name));
        \posix_kill($pid, \SIGKILL);
        \pcntl_waitpid($pid, $status);
        self::assertFalse(ProcessId::isAlive($name));
    }

    public function testAForkedChildHasANameOfItsOwn(): void
    {
        $process = Process::snippet(<<<'PHP'
            $parent = Larder\System\ProcessId::current();
            $pid = pcntl_fork();
            $mine = Larder\System\ProcessId::current();
            if ($pid === 0) {
                echo json_encode([$parent, $mine, Larder\System\ProcessId::isKnownDead($parent)]), "\n";
                exit;
            }
            pcntl_waitpid($pid, $status);
            PHP);
        [$parent, $child, $dead] = (array) \json_decode((string) $process->line(), true) + [null, null, null];
        self::assertNotSame($parent, $child);
        self::assertFalse($dead);
    }
}
