<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Memcached;

use Larder\Tests\Model\Clients;
use Larder\Tests\Model\Copy;
use Larder\Tests\Model\Violation;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/**
 * Every interleaving of the commands that the real store sends to a memcached server, with its clients killed, or
 * stopped for longer than others have patience, between any two of them.
 */
#[Group('slow')]
final class MemcachedStepsTest extends TestCase
{
    private static ?Copy $copy = null;

    public static function tearDownAfterClass(): void
    {
        self::$copy = null;
    }

    /** @param list<string> $names */
    #[DataProvider('together')]
    public function testClientsTogether(array $names, int $kills, int $rounds): void
    {
        self::assertGreaterThan(50, $this->check(self::$copy ??= new Copy(), $names, $kills, $rounds));
    }

    /** @return iterable<string, array{list<string>, int, int}> */
    public static function together(): iterable
    {
        foreach (['sets', 'counts'] as $writer) {
            yield "a near tier follows while another $writer" => [[$writer, 'follows twice'], 1, 9];
        }
        foreach ([['fills', 'sets'], ['fills', 'deletes'], ['fills guarded', 'marks']] as $names) {
            yield \implode(' + ', $names) => [$names, 0, 9];
        }
        yield 'fills guarded + marks, killed' => [['fills guarded', 'marks'], 1, 9];
    }

    /** @param list<string> $names */
    #[DataProvider('many')]
    #[Group('long')]
    public function testManyClientsTogether(array $names, int $kills, int $rounds): void
    {
        self::assertGreaterThan(50, $this->check(self::$copy ??= new Copy(), $names, $kills, $rounds));
    }

    /** @return iterable<string, array{list<string>, int, int}> */
    public static function many(): iterable
    {
        foreach (['deletes', 'fills'] as $writer) {
            yield "a near tier follows while another $writer" => [[$writer, 'follows twice'], 1, 9];
        }
        yield 'a guess that is late' => [['fills what was set and forgotten', 'looks, sets another'], 0, self::rounds(3, 4)];
        yield 'two counters' => [['counts', 'counts'], 1, self::rounds(3, 9)];
        foreach (self::rounds(0, 9) === 9 ? ['sets', 'deletes'] : [] as $writer) {
            yield "$writer + follows + follows" => [[$writer, 'follows', 'follows'], 0, 9];
        }
        foreach (['sets', 'deletes', 'fills', 'counts'] as $writer) {
            yield "$writer, stopped or dead for six seconds" => [[$writer, 'waits, follows twice'], 1, self::rounds(2, 3)];
        }
        foreach ([['fills', 'sets'], ['counts', 'sets'], ['fills guarded', 'sets']] as $names) {
            yield \implode(' + ', $names) . ', killed' => [$names, 1, self::rounds(3, 9)];
        }
    }

    /** The last rounds, and three clients, are most of the states: LARDER_MODEL=full looks at them too, for six minutes of a core. */
    private static function rounds(int $few, int $all): int
    {
        return \getenv('LARDER_MODEL') === 'full' ? $all : $few;
    }

    /**
     * @param array<string, array<string, string>> $mutations
     * @param list<string>                         $names
     */
    #[DataProvider('taken')]
    public function testNothingCanBeTakenOut(array $mutations, array $names, int $kills, int $rounds): void
    {
        $this->expectException(Violation::class);
        $this->check(new Copy($mutations), $names, $kills, $rounds);
    }

    /** @return iterable<string, array{array<string, array<string, string>>, list<string>, int, int}> */
    public static function taken(): iterable
    {
        yield 'a slot that is pending counts as settled' => [
            ['Store\Memcached\SlotWindow' => ['|| $slot === null || !$slot->final())' => '|| $slot === null)']],
            ['sets', 'follows twice'], 0, 9,
        ];
        yield 'a change is not announced before it is made' => [
            ['Store\Memcached\JournaledWrite' => ['$entries = self::entries($changes, $changes);' => '$entries = [];']],
            ['sets', 'follows twice'], 1, 9,
        ];
        yield 'a position that was guessed is not compared with the allocated one' => [
            ['Store\Memcached\WriteSnapshot' => ['if ($this->given !== $this->last) {' => 'if (false) {']],
            ['sets', 'looks, sets another', 'follows'], 0, 9,
        ];
        yield 'a guessed slot tells what happened at its position' => [
            ['Store\Memcached\SlotWindow' => ['if ($slot === null || $slot->guessed || $slot->state === Slot::UNKNOWN) {' => 'if ($slot === null || $slot->state === Slot::UNKNOWN) {']],
            ['fills what was set and forgotten', 'looks, sets another'], 0, 3,
        ];
        yield 'a marker under way does not stop what it guards' => [
            ['Store\Memcached\ItemConditions' => ['return $guard ? $this->window->change($key, \max($limit, $this->log->end), $except, true) : null;' => 'return null;']],
            ['fills guarded', 'marks'], 0, 9,
        ];
        yield 'a dead writer is not fenced' => [
            ['Store\Memcached\Healer' => ['$removals[] = new Change(' => '$none[] = new Change(']],
            ['sets', 'waits, follows twice'], 1, 2,
        ];
        yield 'a record is replaced without comparing' => [
            ['Store\Memcached\ItemWrite' => ["'cas', \$this->name," => "'set', \$this->name,"]],
            ['counts', 'counts'], 0, 9,
        ];
    }

    /** @param list<string> $names */
    private function check(Copy $copy, array $names, int $kills, int $rounds): int
    {
        $store = static fn(): object => $copy->make('Store\Memcached\MemcachedStore', [['server', 11211]], 'p', 1.0);
        $states = 0;
        // A copy that is there before, and none.
        foreach (\in_array('waits, follows twice', $names, true) ? [true] : [true, false] as $warm) {
            $states += (new Clients($copy, $store))->check(new Server($rounds), $names, $kills, $warm);
        }

        return $states;
    }
}
