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
 * Every interleaving of lock, bell, frames and index with readers that first look at the bell and then at the database,
 * and with processes killed between any two of these; of appends, which are written in two halves, and of who applies them.
 */
#[Group('slow')]
final class SqliteStepsTest extends TestCase
{
    private const STEPS = 'Tests\Model\Inside\SqliteSteps';

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
        foreach (['sets', 'deletes', 'fills', 'counts'] as $writer) {
            yield "a near tier follows while another $writer" => [[$writer, 'follows twice'], 1];
        }
        foreach ([['fills', 'sets'], ['fills', 'deletes'], ['counts', 'sets'], ['fills guarded', 'marks']] as $names) {
            yield \implode(' + ', $names) => [$names, 1];
        }
        yield 'frames come to life' => [['sets', 'follows twice', 'recovers'], 1];
    }

    /** @param list<string> $names */
    #[DataProvider('appended')]
    public function testProcessesThatAppend(array $names, int $kills): void
    {
        self::assertGreaterThan(50, $this->check(self::$copy ??= new Copy(), $names, $kills, true));
    }

    /** @return iterable<string, array{list<string>, int}> */
    public static function appended(): iterable
    {
        yield 'two append' => [['appends', 'appends another'], 1];
        yield 'a near tier follows while another appends' => [['appends', 'follows twice'], 1];
        yield 'one appends while another applies' => [['appends another', 'sets'], 1];
        yield 'two apply' => [['sets', 'follows twice'], 1];
    }

    /**
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     */
    #[DataProvider('takenOutOfTheLog')]
    public function testNothingCanBeTakenOutOfTheLog(array $mutations, array $names, int $kills): void
    {
        $this->expectException(Violation::class);
        $this->check(new Copy($mutations), $names, $kills, true);
    }

    /** @return iterable<string, array{array<string, array<string, string>>, list<string>, int}> */
    public static function takenOutOfTheLog(): iterable
    {
        $log = 'Store\Sqlite\ChangeLog';

        yield 'two append at the same place' => [
            [$log => ['if (!\flock($file, \LOCK_EX | \LOCK_NB)) {' => 'if (false) {']],
            ['appends', 'appends another'], 0,
        ];
        yield 'half a record counts' => [
            [$log => ['if (self::write($file, $end, $record) && self::write($file, self::GENERATION, \pack(\'J\', $end + \strlen($record)))) {' => 'if (self::write($file, self::GENERATION, \pack(\'J\', $end + \strlen($record))) && self::write($file, $end, $record)) {']],
            ['appends', 'appends another'], 1,
        ];
        yield 'the log is not looked at' => [
            [self::STEPS => ['&& $isEmpty && $token' => '&& $token', "\$this->changeLog->isSettled() || \$this->commit([]);" => '']],
            ['appends', 'follows twice'], 0,
        ];
        yield 'it is emptied although more was appended' => [
            [$log => ['if (\bin2hex($generation) . ":$end" === $mark && ' => 'if (']],
            ['appends another', 'sets'], 0,
        ];
        yield 'nobody notes how far it was applied' => [
            [self::STEPS => ["Machine::step('db.land', \$late, \$mark);" => "Machine::step('db.land', \$late, '');"]],
            ['appends another', 'sets'], 0,
        ];
        yield 'it is emptied before what was applied can be seen' => [
            [self::STEPS => [
                "Machine::step('db.frames'); Machine::step('db.visible'); \$mark === null || \$this->changeLog->clear(\$mark);"
                    => "\$mark === null || \$this->changeLog->clear(\$mark); Machine::step('db.frames'); Machine::step('db.visible');",
            ]],
            ['sets', 'follows twice'], 1,
        ];
        yield 'a file that began anew is read from where the old one ended' => [
            [$log => ["\str_starts_with(\$mark, \bin2hex(\$generation) . ':')" => "\$mark !== ''"]],
            ['appends another', 'follows twice'], 0,
        ];
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
        yield 'two writers' => [['sets', 'deletes', 'follows twice'], 1];
        yield 'two writers, two near requests' => [['fills', 'follows', 'follows'], 1];
        yield 'two deaths' => [['sets', 'counts', 'recovers'], 2];
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
        $even = 'if ($this->held && $finished && ($this->size & 1) === 1) { $this->grow(); }';

        yield 'the bell rings after the commit only' => [
            ['Store\Sqlite\ChangeCounter' => ['if (($this->size & 1) === 0) { if (!$this->grow()) {' => 'if (false) { if (!$this->grow()) {', $even => '$this->grow(); $this->grow();']],
            ['sets', 'follows twice'], 1,
        ];
        yield 'the bell rings before the commit only' => [
            ['Store\Sqlite\ChangeCounter' => ['if (($this->size & 1) === 0) { if (!$this->grow()) {' => '$this->grow(); $this->grow(); if (false) { if (!$this->grow()) {', $even => '']],
            ['sets', 'follows twice'], 0,
        ];
        yield 'an odd bell is believed' => [
            [self::STEPS => ['if (($size & 1) === 0 && $isEmpty && $token' => 'if ($isEmpty && $token', 'if (($size & 1) === 1) {' => 'if (false) {']],
            ['sets', 'follows twice'], 1,
        ];
        yield 'the bell is looked at after the database' => [
            [self::STEPS => ['"$changes->epoch:$size"' => '"$changes->epoch:" . $this->counter->size()']],
            ['sets', 'follows twice'], 0,
        ];
        yield 'what a killed writer left is not written over' => [
            [self::STEPS => ["if (\$this->counter->isLeftOdd()) { Machine::step('db.begin'); Machine::step('db.frames'); Machine::step('db.visible'); }" => '']],
            ['sets', 'follows twice', 'recovers'], 1,
        ];
        yield 'nobody holds the lock' => [
            ['Store\Sqlite\ChangeCounter' => ['if (!FileLock::take($file, $timeout)) { throw' => 'if (false) { throw']],
            ['counts', 'counts'], 0,
        ];
    }

    /** @param list<string> $names */
    private function check(Copy $copy, array $names, int $kills, bool $waits = false): int
    {
        $states = 0;
        foreach ([true, false] as $warm) {
            $database = new Database($copy->make('Tests\Model\Inside\Shelf'));
            $store = static fn(): object => $copy->make(self::STEPS);
            $states += (new Clients($copy, $store))->check($database, $names, $kills, $warm, $waits);
        }

        return $states;
    }
}
