<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\System\Quiet;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\TestCase;

/** Calls that fail where others are faster, under an application's error handler that throws. */
#[CoversClass(Quiet::class)]
final class QuietTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private const FILES = 300;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        \set_error_handler(static function (int $level, string $message): never {
            throw new \ErrorException($message);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->endChildren();
    }

    public function testOfThoseWhoRemoveAFileAtOnceOneIsToldThatItDidAndNobodyIsWarned(): void
    {
        for ($i = 0; $i < self::FILES; $i++) {
            \touch($this->directory->file("f$i"));
        }
        $start = $this->directory->file('start');
        $meanwhile = static function () use ($start): void {
            \is_file($start) || \touch($start);
        };
        $removed = $this->inProcesses(3, function () use ($start): array {
            while (!\is_file($start)) {
                \clearstatcache();
            }
            $mine = [];
            for ($i = 0; $i < self::FILES; $i++) {
                $file = $this->directory->file("f$i");
                // Whoever sees it there may be too late all the same.
                if (Quiet::remove($file)) {
                    $mine[] = $i;
                }
                \clearstatcache();
                self::assertFileDoesNotExist($file);
            }

            return $mine;
        }, $meanwhile);
        $all = \array_merge(...$removed);
        \sort($all);
        self::assertSame(\range(0, self::FILES - 1), $all);
    }

    public function testTheFileGoesBetweenTheLookAndTheRemoval(): void
    {
        \stream_wrapper_register('larder-going', GoingFile::class);
        try {
            self::assertFileExists('larder-going://file');
            self::assertFalse(Quiet::remove('larder-going://file'));
        } finally {
            \stream_wrapper_unregister('larder-going');
        }
        self::assertFalse(Quiet::remove($this->directory->file('missing')), 'It was not there.');
        self::assertFalse(Quiet::remove($this->directory->path), 'It is no file, and still there.');
        self::assertDirectoryExists($this->directory->path);
    }

    public function testTheApplicationsErrorHandlerIsBackAfterwardsWhateverWasThrown(): void
    {
        try {
            Quiet::call(static fn(): never => throw new \LogicException('thrown'));
        } catch (\LogicException $e) {
            self::assertSame('thrown', $e->getMessage());
        }
        Quiet::remove($this->directory->file('missing'));
        $this->expectException(\ErrorException::class);
        \unlink($this->directory->file('missing'));
    }
}
