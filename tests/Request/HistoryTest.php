<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Request\History;
use Larder\Store\Journal\JournalSlice;
use PHPUnit\Framework\TestCase;

/** What one request knows of the journal, and by which position its writes are judged. */
final class HistoryTest extends TestCase
{
    private History $history;

    protected function setUp(): void
    {
        $this->history = new History();
        $this->history->begin(new JournalSlice('epoch', 10, 'token', false));
    }

    public function testAtTheStartEverythingCountsAsReadThere(): void
    {
        self::assertSame(['epoch', 10, 'token', 10], [$this->history->epoch, $this->history->seen, $this->history->token, $this->history->start]);
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::k'), 0, 2));
        self::assertFalse($this->history->changed('e::k', 10));
        self::assertSame(10, $this->history->limit('e::k', 10));
    }

    public function testTheFirstReadCounts(): void
    {
        $this->history->hit('e::before', 7, false);
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::before'), 0, 2), 'what was there at the start is no news');
        $this->history->hit('e::since', 12, false);
        $this->history->hit('e::since', 14, false);
        self::assertSame([History::SEEN, 12], \array_slice($this->history->reference('e::since'), 0, 2));
        $this->history->miss('e::missed', 13);
        $this->history->miss('e::missed', 15);
        $this->history->hit('e::missed', 16, false);
        self::assertSame([History::MISSED, 13], \array_slice($this->history->reference('e::missed'), 0, 2));
    }

    public function testAValueOfBoundedLifeMakesUnsureWhateverWasReadBefore(): void
    {
        $this->history->miss('e::k', 11);
        $this->history->hit('e::k', 12, true);
        self::assertSame([History::UNSURE, 11], \array_slice($this->history->reference('e::k'), 0, 2));
        // Who was sent to renew it begins anew.
        $this->history->foreign('e::k', 12, 's');
        $this->history->anew('e::k', 13);
        self::assertSame([History::MISSED, 13], \array_slice($this->history->reference('e::k'), 0, 2));
        self::assertFalse($this->history->changed('e::k', 13));
    }

    public function testForeignChangesAreKnownOwnOnesAreNot(): void
    {
        $this->history->learn(new JournalSlice('epoch', 14, 't', true, [
            ['e::k', 11, 'somebody', 's'], ['e::k', 12, 'somebody', 'd'], ['e::mine', 13, 'me', 's'], ['f:', 14, 'somebody', 'c'],
        ]), 'me');
        self::assertTrue($this->history->changed('e::k', 10));
        self::assertTrue($this->history->changed('e::k', 11));
        self::assertFalse($this->history->changed('e::k', 12));
        self::assertSame('d', $this->history->kind('e::k'));
        self::assertSame(10, $this->history->limit('e::k', 10), 'the store is to find it');
        self::assertSame(14, $this->history->limit('e::k', 12), 'up to here nothing is between');
        self::assertFalse($this->history->changed('e::mine', 10));
        self::assertFalse($this->history->changed('f:', 10), 'a marker made anew is no flush');
        self::assertSame([14, 't', 10], [$this->history->seen, $this->history->token, $this->history->start]);
    }

    public function testAGapCountsAsAChangeOfEverythingReadBefore(): void
    {
        $this->history->miss('e::k', 11);
        $this->history->learn(new JournalSlice('epoch', 50, '', false), 'me');
        self::assertTrue($this->history->changed('e::k', 11));
        self::assertSame(-1, $this->history->limit('e::k', 11));
        self::assertSame('', $this->history->kind('e::k'));
        $this->history->miss('e::later', 50);
        self::assertFalse($this->history->changed('e::later', 50));
        self::assertSame(50, $this->history->limit('e::later', 50));
    }

    public function testAnotherEpochMakesAllPositionsVoid(): void
    {
        $this->history->miss('e::k', 11);
        $this->history->learn(new JournalSlice('another', 3, '', false), 'me');
        self::assertSame([History::SEEN, -1], \array_slice($this->history->reference('e::k'), 0, 2));
        self::assertTrue($this->history->changed('e::k', -1));
        self::assertSame(['another', 3, -1], [$this->history->epoch, $this->history->seen, $this->history->start]);
        $this->history->miss('e::k', 3);
        self::assertSame([History::MISSED, 3], \array_slice($this->history->reference('e::k'), 0, 2));
        self::assertFalse($this->history->changed('e::k', 3));
    }

    public function testBlindEverythingCountsAsChanged(): void
    {
        $this->history->beginBlind();
        [, $reference] = $this->history->reference('e::k');
        self::assertTrue($this->history->changed('e::k', $reference));
        self::assertSame(-1, $this->history->limit('e::k', $reference));
        self::assertSame('', $this->history->epoch);
    }

    public function testAnOwnChangeThatIsTheNextOneMovesTheView(): void
    {
        $this->history->own(11, 1);
        self::assertSame(11, $this->history->seen);
        $this->history->own(13, 1);
        self::assertSame(11, $this->history->seen, 'what is at 12 is somebody else\'s');
        self::assertSame(10, $this->history->start);
    }

    public function testMovesOfMarkersCanBeKnownFurtherThanOtherChanges(): void
    {
        $this->history->learnMarkers(new JournalSlice('epoch', 20, '', true, [
            ['t::t', 12, 'somebody', 'm'], ['e::k', 13, 'somebody', 's'], ['f:g', 14, 'somebody', 'c'], ['f:', 15, 'me', 'm'],
        ]), 'me');
        self::assertTrue($this->history->changed('t::t', 11));
        self::assertFalse($this->history->changed('t::t', 12));
        foreach (['e::k', 'f:g', 'f:'] as $key) {
            self::assertFalse($this->history->changed($key, 10), $key);
        }
        self::assertSame([10, 20], [$this->history->seen, $this->history->markersSeen]);
        // Own changes move either view, each if it is the next one there.
        $this->history->own(21, 1);
        self::assertSame([10, 21], [$this->history->seen, $this->history->markersSeen]);
        $this->history->own(23, 1);
        self::assertSame(21, $this->history->markersSeen, 'what is at 22 is somebody else\'s');
        $this->history->learn(new JournalSlice('epoch', 24, '', true), 'me');
        self::assertSame([24, 24], [$this->history->seen, $this->history->markersSeen]);
    }

    public function testPositionsMayCountInStepsOfTheirOwn(): void
    {
        $this->history->own(50, 40);
        self::assertSame(50, $this->history->seen);
        $this->history->own(120, 40);
        self::assertSame(50, $this->history->seen);
    }

    public function testAForeignChangeFoundOnTheWayIsTheLastOneOnly(): void
    {
        $this->history->foreign('e::k', 15, 'x');
        $this->history->foreign('e::k', 12, 's');
        self::assertSame('x', $this->history->kind('e::k'));
        self::assertTrue($this->history->changed('e::k', 14));
    }

    public function testACopyThatGoesHadBeenReadAtTheStart(): void
    {
        $this->history->gone('e::k');
        $this->history->miss('e::k', 20);
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::k'), 0, 2));
        // Where nobody lists which copies went, it may have been any.
        $this->history->goneAll();
        $this->history->miss('e::any', 20);
        $this->history->hit('e::hit', 20, false);
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::any'), 0, 2));
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::hit'), 0, 2));
    }

    public function testARequestThatBeginsHoldsNothing(): void
    {
        $this->history->miss('e::k', 11);
        $this->history->foreign('e::k', 12, 's');
        $this->history->goneAll();
        $this->history->begin(new JournalSlice('epoch', 30, '', true));
        self::assertSame([History::SEEN, 30], \array_slice($this->history->reference('e::k'), 0, 2));
        self::assertFalse($this->history->changed('e::k', 30));
        $this->history->miss('e::k', 31);
        self::assertSame([History::MISSED, 31], \array_slice($this->history->reference('e::k'), 0, 2));
    }

    public function testItsMemoryIsBoundedAndForgettingIsOnTheSafeSide(): void
    {
        for ($i = 0; $i <= 100_001; $i++) {
            $this->history->miss("e::$i", 11);
        }
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::0'), 0, 2));
        $this->history->miss('e::0', 12);
        self::assertSame([History::SEEN, 10], \array_slice($this->history->reference('e::0'), 0, 2));
        $list = [];
        for ($i = 0; $i <= 100_001; $i++) {
            $list[] = ["e::$i", 11 + $i, 'somebody', 's'];
        }
        $this->history->learn(new JournalSlice('epoch', 200_000, '', true, $list), 'me');
        self::assertTrue($this->history->changed('e::never changed', 10), 'which keys changed is not known any more');
        self::assertFalse($this->history->changed('e::read later', 200_000));
    }
}
