<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Disk;

use Larder\Tests\Model\Clients;
use Larder\Tests\Model\Copy;
use Larder\Tests\Model\Violation;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * Every interleaving of the system calls that the real file store makes, each write in two halves, with its processes
 * killed between any two of them.
 */
#[Group('slow')]
final class FilesStepsTest extends TestCase
{
    private static ?Copy $copy = null;

    public static function tearDownAfterClass(): void
    {
        self::$copy = null;
    }

    /** @param list<string> $names */
    #[DataProvider('together')]
    public function testProcessesTogether(array $names, int $kills): void
    {
        self::assertGreaterThan(50, $this->check(self::$copy ??= new Copy(), $names, $kills));
    }

    /** @return iterable<string, array{list<string>, int}> */
    public static function together(): iterable
    {
        yield 'a near tier follows while another deletes' => [['deletes', 'follows'], 1];
        yield 'fills guarded + marks' => [['fills guarded', 'marks'], 0];
    }

    /** @param list<string> $names */
    #[DataProvider('many')]
    #[Group('long')]
    public function testManyProcessesTogether(array $names, int $kills): void
    {
        self::assertGreaterThan(50, $this->check(self::$copy ??= new Copy(), $names, $kills));
    }

    /** @return iterable<string, array{list<string>, int}> */
    public static function many(): iterable
    {
        foreach (['sets', 'deletes', 'fills', 'counts'] as $writer) {
            yield "a near tier follows while another $writer" => [[$writer, 'follows twice'], 1];
        }
        foreach ([['fills', 'sets'], ['fills', 'deletes'], ['counts', 'counts'], ['fills guarded', 'marks']] as $names) {
            yield \implode(' + ', $names) . ', killed' => [$names, 1];
        }
    }

    /**
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     */
    #[DataProvider('taken')]
    public function testNothingCanBeTakenOut(array $mutations, array $names, int $kills): void
    {
        $this->expectException(Violation::class);
        $this->check(new Copy($mutations), $names, $kills);
    }

    /** @return iterable<string, array{array<string, array<string, string>>, list<string>, int}> */
    public static function taken(): iterable
    {
        yield 'the position is the end of the log, not of what was read' => [
            ['Store\File\FileStore' => ['return new Snapshot($state->epoch, $state->done, $records);' => 'return new Snapshot($state->epoch, $this->shared->follow()->end(), $records);']],
            ['fills', 'sets'], 0,
        ];
        yield 'a record is there before the log names it' => [
            ['Store\File\FileStore' => ['$log->append($change);' => '$late = $change;', 'return new ChangeResult(true, $position, $writer, $previous, WriteConditions::kind($record), step:' => 'isset($late) && $log->append($late); return new ChangeResult(true, $position, $writer, $previous, WriteConditions::kind($record), step:']],
            ['sets', 'follows'], 1,
        ];
        yield 'nobody holds the lock' => [
            ['System\FileLock' => ['if (!\flock($handle, \LOCK_EX | \LOCK_NB, $wouldBlock)) {' => '$wouldBlock = 1; if (false) {']],
            ['counts', 'counts'], 0,
        ];
    }

    /** @param list<string> $names */
    private function check(Copy $copy, array $names, int $kills): int
    {
        $store = static fn(): object => $copy->make('Store\File\FileStore', '/cache', 1 << 20, 1.0);

        return (new Clients($copy, $store))->check(new FileSystem(), $names, $kills);
    }
}
