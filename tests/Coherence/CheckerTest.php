<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/**
 * The checker finds each kind of violation in histories made by hand, and accepts what only looks like one.
 *
 * Item 0 is computed from row 0. Times are nanoseconds, small numbers of them.
 */
#[CoversNothing]
final class CheckerTest extends TestCase
{
    private const OLD = '0;0=1;old';
    private const NEW = '0;0=2;new';

    private const GONE = 'promises 1 and 2: a value that was replaced or deleted';
    private const OLDER = 'promise 3: older than the database';
    private const OUTLIVED = 'a bounded life outlived';
    private const UNKNOWN = 'a value that was never stored';

    /** A request that stored the old value at 110 to 120. */
    private const STORES = "R 100\nG 101 102 0 -\nD 103 104 0=1\nB 110 fill 0 0;0=1;old\nE 120 1\nZ 130 2\n";

    private const WRITES = "B 210 write 0\nE 211 2\n";

    /**
     * @param array<string, string> $diaries
     * @param list<array{int, int}> $losses
     * @param list<array{int, int}> $overlaps
     */
    #[DataProvider('histories')]
    public function testFindsWhatIsCertain(?string $expected, array $diaries, array $losses = [], array $overlaps = []): void
    {
        $history = new History($catalog = new Catalog());
        foreach ($diaries as $process => $text) {
            $history->read($process, $text);
        }
        $found = \array_map(static fn(Violation $violation): string => $violation->what, (new Checker($history, $catalog, $losses, overlaps: $overlaps))->check());
        self::assertSame($expected === null ? [] : [$expected], $found);
    }

    /** @return iterable<string, array{0: ?string, 1: array<string, string>, 2?: list<array{int, int}>, 3?: list<array{int, int}>}> */
    public static function histories(): iterable
    {
        $reads = static fn(int $begin, string $value, string $tier = 'n', ?int $at = null): string => "R $begin\nG " . ($at ?? $begin + 1) . ' '
            . (($at ?? $begin + 1) + 1) . " 0 $tier $value\nZ " . (($at ?? $begin + 1) + 5) . " 1\n";
        $other = static fn(string $change, string $answer = '1'): array => ['a' => self::STORES, 'b' => "R 200\n{$change}E 230 $answer\nZ 240 1\n"];

        yield 'nothing but what was stored' => [null, ['a' => self::STORES, 'c' => $reads(300, self::OLD)]];
        yield 'a value from nowhere' => [self::UNKNOWN, ['c' => $reads(300, self::OLD)]];
        yield 'a value under another key' => [self::UNKNOWN, ['a' => self::STORES, 'c' => "R 300\nG 301 302 1 n " . self::OLD . "\nZ 303 1\n"]];
        yield 'a fill that was refused' => [self::UNKNOWN, ['a' => "R 100\nB 110 fill 0 " . self::OLD . "\nE 120 0\nZ 130 1\n", 'c' => $reads(300, self::OLD)]];
        yield 'a fill that was refused, in its own request' => [null, ['a' => "R 100\nB 110 fill 0 " . self::OLD . "\nE 120 0\nG 121 122 0 r " . self::OLD . "\nZ 130 1\n"]];
        yield 'a value read before it was stored' => [self::UNKNOWN, ['a' => self::STORES, 'c' => $reads(50, self::OLD)]];

        foreach (['delete 0', 'set 0 ' . self::NEW, 'set 1 1;1=1;x 0 ' . self::NEW, 'flush ', 'intend 0', 'delete 5 0 7'] as $change) {
            yield "gone by $change" => [self::GONE, $other("B 220 $change\n") + ['c' => $reads(300, self::OLD)]];
            yield "a request that began during $change" => [null, $other("B 220 $change\n") + ['c' => $reads(225, self::OLD, 'n', 300)]];
            yield "$change was not done" => [null, $other("B 220 $change\n", '0') + ['c' => $reads(300, self::OLD)]];
            yield "killed in $change" => [null, ['a' => self::STORES, 'b' => "R 200\nB 220 $change\n"] + ['c' => $reads(300, self::OLD)]];
        }
        yield 'a flush of another group' => [null, $other("B 220 flush shop\n") + ['c' => $reads(300, self::OLD)]];
        yield 'a tag that it does not have' => [null, $other("B 220 tag  red\n") + ['c' => $reads(300, self::OLD)]];
        yield 'a tag that it has' => [self::GONE, [
            'a' => "R 100\nB 110 fill 8 8;8=1;x\nE 120 1\nZ 130 1\n",
            'b' => "R 200\nB 220 tag  red\nE 230 1\nZ 240 1\n",
            'c' => "R 300\nG 301 302 8 t 8;8=1;x\nZ 303 1\n",
        ]];
        yield 'a flush of the group around it' => [self::GONE, [
            'a' => "R 100\nB 110 fill 18 18;18=1;x\nE 120 1\nZ 130 1\n",
            'b' => "R 200\nB 220 flush shop\nE 230 1\nZ 240 1\n",
            'c' => "R 300\nG 301 302 18 t 18;18=1;x\nZ 303 1\n",
        ]];
        yield 'gone by the same request' => [self::GONE, ['a' => self::STORES, 'b' => "R 200\nB 220 delete 0\nE 230 1\nG 240 241 0 r " . self::OLD . "\nZ 250 2\n"]];
        yield 'stored again afterwards' => [null, $other("B 220 delete 0\n") + [
            'd' => "R 250\nB 260 set 0 " . self::OLD . "\nE 270 1\nZ 280 1\n", 'c' => $reads(300, self::OLD),
        ]];
        yield 'stored by somebody killed, who knows when' => [null, ['a' => "R 100\nB 110 set 0 " . self::OLD . "\n", 'b' => "R 200\nB 220 delete 0\nE 230 1\nZ 240 1\n", 'c' => $reads(300, self::OLD)]];
        yield 'gone while its fill waited for the end of its request' => [self::GONE, [
            'a' => \str_replace('Z 130', 'Z 290', self::STORES), 'b' => "R 200\nB 220 delete 0\nE 230 1\nZ 240 1\n", 'c' => $reads(300, self::OLD, 't'),
        ]];

        // The cache calls of these leave the old value alone, so that only its age counts.
        $writer = static fn(string $then): array => ['a' => \str_replace(['110', '120'], ['225', '600'], self::STORES), 'b' => "R 200\n" . self::WRITES . $then];
        yield 'older than the database' => [self::OLDER, $writer("B 220 delete 0\nE 230 1\nZ 240 1\n") + ['c' => $reads(300, self::OLD)]];
        yield 'the writer has not told the cache yet' => [null, $writer("B 220 delete 0\nE 330 1\nZ 340 1\n") + ['c' => $reads(300, self::OLD)]];
        yield 'the writer failed to tell the cache' => [null, $writer("B 220 delete 0\nE 230 0\nZ 240 1\n") + ['c' => $reads(300, self::OLD)]];
        yield 'the writer was killed before' => [null, $writer('') + ['c' => $reads(300, self::OLD)]];
        yield 'told by a flush' => [self::OLDER, $writer("B 220 flush \nE 230 1\nZ 240 1\n") + ['c' => $reads(300, self::OLD)]];
        yield 'as new as the database' => [null, $writer("B 220 delete 0\nE 230 1\nZ 240 1\n") + ['d' => "R 232\nB 240 fill 0 " . self::NEW . "\nE 250 1\nZ 260 1\n", 'c' => $reads(300, self::NEW)]];

        // Stored all the time, so that only the intent's promise counts; the writer was killed.
        $intent = static fn(string $then): array => ['a' => "R 100\nB 205 set 0 " . self::OLD . "\nE 600 1\nZ 700 1\n", 'b' => "R 200\nB 201 intend 0\nE 203 1\n" . self::WRITES . $then];
        yield 'older than the database, with an intent' => [self::OLDER, $intent('') + ['c' => $reads(300, self::OLD)]];
        yield 'the intent went with its server' => [null, $intent('') + ['c' => $reads(300, self::OLD)], [[205, 205]]];
        $both = $intent('') + ['c' => $reads(300, self::OLD)];
        yield 'two servers took themselves for the primary' => [null, $both, [], [[290, 310]]];
        yield 'not any more' => [self::OLDER, $both, [], [[290, 300]]];
        yield 'the intent was not put' => [null, ['b' => "R 200\nB 201 intend 0\nE 203 0\n" . self::WRITES] + $intent('') + ['c' => $reads(300, self::OLD)]];
        yield 'the intent had ended' => [null, ['b' => "R 200\nB 201 intend 0\nE 203 1\nB 204 delete 0\nE 205 1\n" . self::WRITES] + $intent('') + ['c' => $reads(300, self::OLD)]];

        $bounded = "R 100\nB 225 set 0 " . self::OLD . "\nE 600 1 bounded\nZ 700 1\n";
        $told = "R 200\n" . self::WRITES . "B 220 delete 0\nE 230 1\nZ 240 1\n";
        yield 'older, of bounded life' => [null, ['a' => $bounded, 'b' => $told, 'c' => $reads(300, self::OLD . ' bounded')]];
        yield 'older, of bounded life, while one renews it' => [null, ['a' => $bounded, 'b' => $told, 'c' => $reads(3_900_000_000, self::OLD . ' bounded')]];
        yield 'a bounded life outlived' => [self::OUTLIVED, ['a' => $bounded, 'c' => $reads(4_100_000_000, self::OLD)]];
        yield 'a bounded life outlived within a request' => [self::OUTLIVED, ['a' => $bounded, 'c' => $reads(800, self::OLD, 'r', 4_100_000_000)]];
        $partly = \str_replace(['bounded', 'set 0 '], ['partly-bounded', 'set 1 1;1=0;x 0 '], $bounded);
        yield 'perhaps of bounded life' => [null, ['a' => $partly, 'c' => $reads(4_100_000_000, self::OLD)]];
        yield 'perhaps of bounded life, and older' => [null, ['a' => $partly, 'b' => $told, 'c' => $reads(300, self::OLD . ' bounded')]];
        yield 'older, of no bounded life any more' => [self::OLDER, ['a' => $partly, 'b' => $told, 'c' => $reads(4_100_000_000, self::OLD . ' bounded')]];
        yield 'perhaps of bounded life, and its reader does not find one' => [self::OLDER, ['a' => $partly, 'b' => $told, 'c' => $reads(300, self::OLD)]];
        yield 'stored for good later' => [null, ['a' => $bounded, 'd' => "R 800\nB 810 set 0 " . self::OLD . "\nE 820 1\nZ 830 1\n", 'c' => $reads(4_100_000_000, self::OLD)]];

        $expires = "R 100\nB 110 fill 28 28;36=1;x\nE 120 1\nZ 130 1\n";
        yield 'within its life' => [null, ['a' => $expires, 'c' => "R 1000000100\nG 1000000115 1000000116 28 n 28;36=1;x\nZ 1000000117 1\n"]];
        yield 'expired' => ['a value that had expired', ['a' => $expires, 'c' => "R 1010000100\nG 1010000110 1010000120 28 n 28;36=1;x\nZ 1010000121 1\n"]];
        yield 'expired, and stored again' => [null, ['a' => $expires, 'b' => \str_replace(['110', '120'], ['500000000', '600000000'], $expires), 'c' => "R 1010000100\nG 1010000110 1010000120 28 n 28;36=1;x\nZ 1010000121 1\n"]];

        // The other one's old value stands all the time, so that only the transaction's promises count.
        $inside = static fn(string $end, string $change = "B 203 delete 0\nE 204 1\n"): array => [
            'a' => "R 100\nB 110 set 0 " . self::OLD . "\nE 600 1\nZ 700 1\n", 'b' => "R 200\nB 201 begin\nE 202 1\n$change$end",
        ];
        $commits = self::WRITES . "B 220 end commit\nE 230 1\nZ 240 1\n";
        yield 'older than a committed transaction' => [self::OLDER, $inside($commits) + ['c' => $reads(300, self::OLD)]];
        yield 'older than a transaction that was committed and its writer killed' => [self::OLDER, $inside(self::WRITES) + ['c' => $reads(300, self::OLD)]];
        yield 'its change was not recorded, and its writer was killed' => [null, $inside(self::WRITES, "B 203 delete 0\nE 204 0\n") + ['c' => $reads(300, self::OLD)]];
        $sets = "B 203 set 0 " . self::NEW . "\nE 204 1\n";
        yield 'set and committed' => [null, $inside($commits, $sets) + ['c' => $reads(300, self::NEW)]];
        yield 'set, and seen inside' => [null, $inside("G 205 206 0 r " . self::NEW . "\n$commits", $sets)];
        yield 'set, and seen before the end' => [self::UNKNOWN, ['b' => "R 200\nB 201 begin\nE 202 1\n$sets"] + ['c' => $reads(300, self::NEW)]];
        yield 'set, and killed in the end' => [null, ['b' => "R 200\nB 201 begin\nE 202 1\n{$sets}B 220 end commit\n"] + ['c' => $reads(300, self::NEW)]];
        yield 'set and rolled back' => [self::UNKNOWN, $inside("B 220 end rollback\nE 230 1\nZ 240 1\n", $sets) + ['c' => $reads(300, self::NEW)]];
        yield 'rolled back, and seen by itself' => [self::GONE, $inside("B 220 end rollback\nE 230 1\nG 235 236 0 r " . self::NEW . "\nZ 240 1\n", $sets)];
        yield 'filled inside, and seen by others' => [self::UNKNOWN, $inside($commits, "B 203 fill 1 1;1=0;x\nE 204 1\n") + ['c' => "R 300\nG 301 302 1 t 1;1=0;x\nZ 303 1\n"]];
        $fills = "B 203 fill 1 1;1=0;x\nE 204 1\nB 220 end rollback\nE 230 1\n";
        yield 'filled inside, rolled back, and seen by itself' => [self::UNKNOWN, $inside("{$fills}G 235 236 1 r 1;1=0;x\nZ 240 1\n", '')];
        yield 'filled inside, rolled back, and the value of another seen' => [null, $inside("{$fills}G 235 236 1 t 1;1=0;y\nZ 240 1\n", '') + ['c' => "R 190\nB 195 fill 1 1;1=0;y\nE 196 1\nZ 225 1\n"]];
        yield 'gone by the end of a transaction' => [self::GONE, ['a' => \str_replace(['110', '120'], ['205', '206'], self::STORES)] + $inside($commits) + ['c' => $reads(300, self::OLD)]];

        yield 'counted once each' => [null, ['a' => "R 100\nB 110 count 1\nE 120 1\nB 130 count 1\nE 140 2\nZ 150 2\n"]];
        yield 'the same count twice' => ['a count given out twice', ['a' => "R 100\nB 110 count 1\nE 120 1\nZ 150 1\n", 'b' => "R 100\nB 110 count 1\nE 120 1\nZ 150 1\n"]];
        yield 'a count left out' => ['counts left out', ['a' => "R 100\nB 110 count 1\nE 120 1\nB 130 count 1\nE 140 3\nZ 150 2\n"]];
        yield 'a count that somebody killed may have had' => [null, ['a' => "R 100\nB 110 count 1\nE 120 1\nB 130 count 1\nE 140 3\nZ 150 2\n", 'b' => "R 100\nB 110 count 1\n"]];
        yield 'counts out of order' => ['counts out of order', ['a' => "R 100\nB 110 count 1\nE 120 2\nZ 150 1\n", 'b' => "R 100\nB 130 count 1\nE 140 1\nZ 150 1\n"]];
        yield 'counts of the same time' => [null, ['a' => "R 100\nB 110 count 1\nE 135 2\nZ 150 1\n", 'b' => "R 100\nB 130 count 1\nE 140 1\nZ 150 1\n"]];
        $counted = "R 100\nB 110 count 1\nE 120 1\nB 130 count 1\nE 140 2\nZ 150 2\n";
        yield 'a count read' => [null, ['a' => $counted, 'b' => "R 160\nN 170 180 1 2\nZ 190 1\n"]];
        yield 'a count read by a request that had begun before' => [null, ['a' => $counted, 'b' => "R 135\nN 170 180 1 1\nZ 190 1\n"]];
        yield 'a count from before' => ['a count from before', ['a' => $counted, 'b' => "R 160\nN 170 180 1 1\nZ 190 1\n"]];
        yield 'a lock given once' => [null, ['a' => "R 100\nB 110 lock 7\nE 120 1\nB 130 lock 7\nE 140 0\nZ 150 2\n"]];
        yield 'a lock given twice' => ['a lock given to two', ['a' => "R 100\nB 110 lock 7\nE 120 1\nZ 150 1\n", 'b' => "R 100\nB 115 lock 7\nE 125 1\nZ 150 1\n"]];
        yield 'a lock given again after the server had lost it' => [null, ['a' => "R 100\nB 110 lock 7\nE 120 1\nZ 150 1\n", 'b' => "R 200\nB 215 lock 7\nE 225 1\nZ 250 1\n"], [[180, 190]]];
        yield 'a lock given again while the server was losing it' => [null, ['a' => "R 100\nB 110 lock 7\nE 120 1\nZ 150 1\n", 'b' => "R 200\nB 215 lock 7\nE 225 1\nZ 250 1\n"], [[90, 400]]];
        yield 'a lock given again long after that' => ['a lock given to two', ['a' => "R 9000000100\nB 9000000110 lock 7\nE 9000000120 1\nZ 9000000150 1\n", 'b' => "R 9000000200\nB 9000000215 lock 7\nE 9000000225 1\nZ 9000000250 1\n"], [[80, 90]]];
        yield 'PHP complains' => ['an exception or a complaint of PHP', ['a' => "R 100\nX 105 Undefined variable\nZ 110 0\n"]];
    }

    public function testCountsTheExceptions(): void
    {
        $history = new History($catalog = new Catalog());
        $history->read('a', \str_replace(['110', '120'], ['225', '600'], self::STORES));
        $history->read('b', "R 200\n" . self::WRITES);
        $history->read('c', "R 300\nG 301 302 0 n " . self::OLD . "\nZ 310 1\n");
        $history->read('d', "R 300\nB 225 set 1 1;1=0;x\nE 600 1 bounded\nZ 700 1\n");
        $history->read('e', "R 200\nB 210 write 1\nE 211 1\nB 220 delete 1\nE 230 1\nZ 240 2\n");
        $history->read('f', "R 315\nG 316 317 1 t 1;1=0;x bounded\nZ 318 1\n");
        $checker = new Checker($history, $catalog);
        self::assertSame([], $checker->check());
        self::assertSame(1, $checker->totals['bounded values served']);
        self::assertSame(1, $checker->totals['older ones among them (exception a)']);
        self::assertSame(1, $checker->totals['writers killed between database and cache']);
        self::assertSame(1, $checker->totals['served after a writer was killed between database and cache (exception b)']);
        self::assertSame([1, 3], [$history->totals['requests killed'], $history->totals['reads']]);
    }

    /** Which step a process was killed in is known from its last line. */
    public function testKnowsWhenAKilledProcessHadEnded(): void
    {
        foreach ([[false, []], [true, [self::GONE]]] as [$known, $expected]) {
            $history = new History($catalog = new Catalog());
            if ($known) {
                $history->died('a', 150);
            }
            $late = History::GRACE;
            $history->read('a', "R 100\nB 110 set 0 " . self::OLD . "\n");
            $history->read('b', 'R ' . ($late + 200) . "\nB " . ($late + 220) . " delete 0\nE " . ($late + 230) . " 1\nZ " . ($late + 240) . " 1\n");
            $history->read('c', 'R ' . ($late + 300) . "\nG " . ($late + 301) . ' ' . ($late + 302) . ' 0 n ' . self::OLD . "\nZ " . ($late + 305) . " 1\n");
            $found = \array_map(static fn(Violation $violation): string => $violation->what, (new Checker($history, $catalog))->check());
            self::assertSame($expected, $found);
        }
    }
}
