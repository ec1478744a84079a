<?php

declare(strict_types=1);

namespace Larder\Tests\Lease;

use Larder\Lease\Owner;
use Larder\Tests\Support\Process;
use PHPUnit\Framework\Attributes\RequiresOperatingSystemFamily;
use PHPUnit\Framework\TestCase;

/** Names of processes, by which others can tell when one has died. */
#[RequiresOperatingSystemFamily('Linux')]
final class OwnerTest extends TestCase
{
    private const CODE = <<<'PHP'
        echo Larder\Lease\Owner::current(), "\n";
        sleep(60);
        PHP;

    public function testALivingProcessIsNotDead(): void
    {
        self::assertMatchesRegularExpression('/^[0-9a-f]+\.\d+\.' . \getmypid() . '\.\d+$/D', Owner::current());
        self::assertSame(Owner::current(), Owner::current());
        self::assertFalse(Owner::isKnownDead(Owner::current()));
        $other = Process::snippet(self::CODE);
        $name = (string) $other->line();
        self::assertNotSame(Owner::current(), $name);
        self::assertFalse(Owner::isKnownDead($name));
        $other->signal(\SIGSTOP);
        self::assertFalse(Owner::isKnownDead($name), 'stopped is not dead');
    }

    public function testADeadProcessIsDeadAlsoWhileNobodyHasWaitedForIt(): void
    {
        $code = self::CODE;
        // A parent that never waits: its child stays as a zombie.
        $parent = Process::snippet(<<<'PHP'
            $pid = pcntl_fork();
            if ($pid === 0) {
                echo Larder\Lease\Owner::current(), "\n";
                posix_kill(posix_getpid(), SIGKILL);
            }
            sleep(60);
            PHP);
        $zombie = (string) $parent->line();
        [, , $pid] = \explode('.', $zombie) + ['', '', ''];
        self::assertTrue(Process::ends((int) $pid));
        self::assertFileExists("/proc/$pid/stat");
        self::assertTrue(Owner::isKnownDead($zombie));

        $other = Process::snippet($code);
        $name = (string) $other->line();
        $other->kill();
        self::assertTrue(Owner::isKnownDead($name));
    }

    public function testAProcessIdThatCameBackIsAnotherProcess(): void
    {
        $parts = \explode('.', Owner::current());
        $parts[3] = (string) ((int) $parts[3] - 1);
        self::assertTrue(Owner::isKnownDead(\implode('.', $parts)), 'the same number, and it began at another time');
    }

    public function testNothingIsKnownOfOtherMachinesAndContainers(): void
    {
        [$boot, $space, , $time] = \explode('.', Owner::current()) + ['', '', '', ''];
        foreach (["ffffffffffff.$space.999999999.$time", "$boot.1.999999999.$time", "$boot.$space.999999999.0", "$boot.$space.999999999", '', 'nonsense', '....'] as $name) {
            self::assertFalse(Owner::isKnownDead($name), $name);
        }
        self::assertTrue(Owner::isKnownDead("$boot.$space.999999999.$time"));
    }

    public function testAForkedChildHasANameOfItsOwn(): void
    {
        $process = Process::snippet(<<<'PHP'
            $parent = Larder\Lease\Owner::current();
            $pid = pcntl_fork();
            $mine = Larder\Lease\Owner::current();
            if ($pid === 0) {
                echo json_encode([$parent, $mine, Larder\Lease\Owner::isKnownDead($parent)]), "\n";
                exit;
            }
            pcntl_waitpid($pid, $status);
            PHP);
        [$parent, $child, $dead] = (array) \json_decode((string) $process->line(), true) + [null, null, null];
        self::assertNotSame($parent, $child);
        self::assertFalse($dead);
    }
}
