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
    private const COUNTER = 'Store\Sqlite\ChangeCounter';

    /** The change log is small, so that the states are. */
    private const SMALL = [
        self::COUNTER => ['AREA = 1 << 20' => 'AREA = ' . Database::AREA],
        // A pause, or a try without one, are the same here.
        'System\FileLock' => ['AT_ONCE = 40' => 'AT_ONCE = 0'],
    ];

    /** Here no page ends while the file grows, or there would be too many states. */
    private const WITHOUT_EDGES = [self::COUNTER => ['if (($size < self::SOLID && $this->write(' => 'if ((false && $this->write(']];

    /** @var array<int, Copy> */
    private static array $copies = [];

    public static function tearDownAfterClass(): void
    {
        self::$copies = [];
    }

    private static function copy(bool $hasEdges): Copy
    {
        return self::$copies[(int) $hasEdges] ??= new Copy($hasEdges ? self::SMALL : \array_merge_recursive(self::SMALL, self::WITHOUT_EDGES));
    }

    /** @param list<string> $names */
    #[DataProvider('together')]
    public function testProcessesTogether(array $names, int $kills): void
    {
        self::assertGreaterThan(50, $this->check(self::copy(true), $names, $kills));
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
        self::assertGreaterThan(50, $this->check(self::copy($names !== ['appends', 'follows twice']), $names, $kills, true));
    }

    /** @return iterable<string, array{list<string>, int}> */
    public static function appended(): iterable
    {
        yield 'two append' => [['appends', 'appends another'], 1];
        yield 'one appends what it has read while another appends' => [['appends', 'appends what it has read'], 0];
        yield 'one appends what it has read while another commits' => [['sets', 'appends what it has read'], 0];
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
        $this->check(new Copy(\array_merge_recursive($mutations, self::SMALL)), $names, $kills, true);
    }

    /** @return iterable<string, array{array<string, array<string, string>>, list<string>, int}> */
    public static function takenOutOfTheLog(): iterable
    {
        yield 'two append at the same place' => [
            [self::COUNTER => ['if ($file === null || (!$isHeld && !\flock($file, \LOCK_EX | \LOCK_NB))) {' => 'if ($file === null) {']],
            ['appends', 'appends another'], 0,
        ];
        yield 'a process appends what it knows nothing of' => [
            [self::COUNTER => ['|| \filesize($this->path) !== $size ||' => '||']],
            ['appends', 'marks'], 0,
        ];
        yield 'a process appends where others have appended' => [
            [self::STEPS => ['$this->follow(); $this->end = $this->changeLog->position;' => '']],
            ['appends', 'appends another'], 0,
        ];
        yield 'what others have appended is in no change\'s way' => [
            [self::STEPS => ['return $this->isFree($change) ? $this->changeLog->append($change, $this->counter->size, true) : -1;' => 'return $this->changeLog->append($change, $this->counter->size, true);']],
            ['appends', 'appends what it has read'], 0,
        ];
        yield 'what was read of the table stays when others have changed it' => [
            [self::STEPS => ['$this->table = null; $this->waiting = []; } $this->waiting' => '$this->waiting = []; } $this->waiting']],
            ['sets', 'appends what it has read'], 0,
        ];
        yield 'half a record counts' => [
            [self::COUNTER => [
                '|| \fseek($file, $at) !== 0 || \fwrite($file, $record) !== \strlen($record)) {' => '|| \fseek($file, $size) !== 0 || \fwrite($file, ($size & 2) === 0 ? "...." : "..") === 0) {',
                '\fseek($file, $size) !== 0 || \fwrite($file, $step) !== \strlen($step)) {' => '\fseek($file, $at) !== 0 || \fwrite($file, $record) !== \strlen($record)) {',
            ]],
            ['appends', 'appends another'], 1,
        ];
        yield 'the log is not looked at' => [
            [self::STEPS => ['if (($size & 3) === 2 && $token' => 'if (($size & 1) === 0 && $token', 'ChangeCounter::waits($size) ? $this->commit([], 1.0) : $this->tryToApply();' => '']],
            ['appends', 'follows twice'], 0,
        ];
        yield 'it is emptied before what was applied can be seen' => [
            [self::STEPS => [
                "Machine::step('db.frames'); Machine::step('db.visible'); \$this->counter->isLeftOdd() && \$this->changeLog->clear(\$this->end, 0);"
                    => "\$this->counter->isLeftOdd() && \$this->changeLog->clear(\$this->end, 0); \$this->counter->unlock(); Machine::step('db.frames'); Machine::step('db.visible');",
            ]],
            ['sets', 'follows twice'], 1,
        ];
    }

    /** @param list<string> $names */
    #[DataProvider('many')]
    #[Group('long')]
    public function testManyProcessesTogether(array $names, int $kills): void
    {
        self::assertGreaterThan(50, $this->check(self::copy(\count($names) < 3 || $kills > 1), $names, $kills));
    }

    /** @return iterable<string, array{list<string>, int}> */
    public static function many(): iterable
    {
        yield 'two writers' => [['sets', 'deletes', 'follows'], 0];
        yield 'two writers, two near requests' => [['fills', 'follows', 'follows'], 0];
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
        $this->check(new Copy(\array_merge_recursive($mutations, self::SMALL)), $names, $kills);
    }

    /** @return iterable<string, array{array<string, array<string, string>>, list<string>, int}> */
    public static function taken(): iterable
    {
        $odd = 'if (($this->size & 1) === 0 && !$this->growTo($this->size + 1)) {';
        $even = '$this->growTo($this->sizeWhenEmpty());';

        yield 'the bell rings after the commit only' => [
            [self::COUNTER => [$odd => 'if (false) {', 'if ($this->held && $this->isEmptied) {' => 'if ($this->held) {', $even => '$this->growTo($this->size + 1); $this->growTo($this->sizeWhenEmpty());'],
                self::STEPS => ['$this->counter->isLeftOdd() && $this->changeLog->clear' => '$this->changeLog->clear']],
            ['sets', 'follows twice'], 1,
        ];
        yield 'the bell rings before the commit only' => [
            [self::COUNTER => [$odd => 'if (!$this->growTo($this->size + 4)) {', $even => '']],
            ['sets', 'follows twice'], 0,
        ];
        yield 'an odd bell is believed' => [
            [self::STEPS => ['if (($size & 3) === 2 && $token' => 'if ($token', 'if (!ChangeCounter::isSettled($size)) { ChangeCounter::waits' => 'if (ChangeCounter::waits($size)) { ChangeCounter::waits']],
            ['sets', 'follows twice'], 1,
        ];
        yield 'the bell is looked at after the database' => [
            [self::STEPS => ['"$changes->epoch:$size"' => '"$changes->epoch:" . $this->counter->size()']],
            ['sets', 'follows twice'], 0,
        ];
        yield 'what a killed writer left is not written over' => [
            [self::STEPS => ["if (\$this->counter->hasWaiting() || \$this->counter->isLeftOdd()) { \$this->counter->ring();" => "if (\$this->counter->isLeftOdd() && \$changes === []) { \$this->changeLog->clear(0, 0); \$this->counter->unlock(); return []; } if (\$this->counter->hasWaiting()) { \$this->counter->ring();"]],
            ['sets', 'follows twice', 'recovers'], 1,
        ];
        yield 'nobody holds the lock' => [
            [self::COUNTER => ['if (!FileLock::take($file, $timeout)) { throw' => 'if (false) { throw']],
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
