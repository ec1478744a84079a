<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Program;
use Larder\Lab\Service\ServiceFailure;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class ProgramTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-g');
    }

    public function testTellsItsStatusAndItsLastLine(): void
    {
        $program = $this->php('echo "one\n"; fwrite(STDERR, "no room for more\n"); exit(5);');
        Process::ends($program->pid());
        self::assertFalse($program->isAlive());
        self::assertSame(' (status 5: no room for more)', $program->lastWords());
        self::assertSame("one\nno room for more", $program->log());
    }

    public function testTellsTheSignalThatEndedIt(): void
    {
        $program = $this->php('echo "up\n"; sleep(60);');
        $program->await(static fn(): bool => $program->log() === 'up');
        self::assertSame('', $program->lastWords());
        \posix_kill($program->pid(), \SIGTERM);
        Process::ends($program->pid());
        self::assertSame(' (signal 15 SIGTERM: up)', $program->lastWords());
        $program->stop();
        self::assertSame(' (signal 15 SIGTERM: up)', $program->lastWords());
    }

    public function testOneThatWillNotEndIsKilled(): void
    {
        $program = $this->php('pcntl_signal(SIGTERM, SIG_IGN); echo "up\n"; while (true) sleep(60);');
        $program->await(static fn(): bool => $program->log() === 'up');
        $program->stop(0.1);
        self::assertTrue(Process::ends($program->pid(), 0.0));
    }

    public function testOneThatIsPausedEndsInOrder(): void
    {
        $program = $this->php('pcntl_async_signals(true); pcntl_signal(SIGTERM, function () { echo "ended"; exit; }); echo "up "; while (true) sleep(60);');
        $program->await(static fn(): bool => $program->log() === 'up');
        \posix_kill($program->pid(), \SIGSTOP);
        $program->stop(5.0);
        self::assertSame('up ended', $program->log());
    }

    public function testOneThatEndsBeforeItIsReadyIsNotWaitedFor(): void
    {
        $program = $this->php('echo "bad option\n"; exit(1);');
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage("it does not start: it ended (status 1).\nbad option");
        $program->await(static fn(): bool => false, 60.0);
    }

    public function testOneThatIsNeverReadyIsGivenUp(): void
    {
        $program = $this->php('echo "loading\n"; sleep(60);');
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('it does not start: no answer in 0.3 seconds.');
        $program->await(static fn(): bool => false, 0.3);
    }

    public function testAProgramThatIsNotThere(): void
    {
        $program = new Program('it', ['/no/such/program'], $this->directory->path);
        $this->expectException(ServiceFailure::class);
        $this->expectExceptionMessage('it does not start: ');
        $program->start();
        $program->await(static fn(): bool => false);
    }

    private function php(string $code): Program
    {
        $program = new Program('it', [\PHP_BINARY, '-d', 'display_errors=stderr', '-r', $code], $this->directory->path);
        $program->start();

        return $program;
    }
}
