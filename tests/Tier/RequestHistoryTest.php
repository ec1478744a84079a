<?php

declare(strict_types=1);

namespace Larder\Tests\Tier;

use Larder\Store\Changes;
use Larder\Store\Outcome;
use Larder\Tier\RequestHistory;
use PHPUnit\Framework\TestCase;

/** What one request knows of the journal, and by which position its writes are judged. */
final class RequestHistoryTest extends TestCase
{
    private RequestHistory $ledger;

    protected function setUp(): void
    {
        $this->ledger = new RequestHistory();
        $this->ledger->begin(new Changes('epoch', 10, 'token', false));
    }

    public function testAtTheStartEverythingCountsAsReadThere(): void
    {
        self::assertSame(['epoch', 10, 'token', 10], [$this->ledger->epoch, $this->ledger->seen, $this->ledger->token, $this->ledger->start()]);
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::k'));
        self::assertFalse($this->ledger->changed('e::k', 10));
        self::assertSame(10, $this->ledger->limit('e::k', 10));
    }

    public function testTheFirstReadCounts(): void
    {
        $this->ledger->hit('e::before', 7, false);
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::before'), 'what was there at the start is no news');
        $this->ledger->hit('e::since', 12, false);
        $this->ledger->hit('e::since', 14, false);
        self::assertSame([RequestHistory::SEEN, 12], $this->ledger->reference('e::since'));
        $this->ledger->miss('e::missed', 13);
        $this->ledger->miss('e::missed', 15);
        $this->ledger->hit('e::missed', 16, false);
        self::assertSame([RequestHistory::MISSED, 13], $this->ledger->reference('e::missed'));
    }

    public function testAValueOfBoundedLifeMakesUnsureWhateverWasReadBefore(): void
    {
        $this->ledger->miss('e::k', 11);
        $this->ledger->hit('e::k', 12, true);
        self::assertSame([RequestHistory::UNSURE, 11], $this->ledger->reference('e::k'));
        // Who was sent to renew it begins anew.
        $this->ledger->foreign('e::k', 12, 's');
        $this->ledger->anew('e::k', 13);
        self::assertSame([RequestHistory::MISSED, 13], $this->ledger->reference('e::k'));
        self::assertFalse($this->ledger->changed('e::k', 13));
    }

    public function testForeignChangesAreKnownOwnOnesAreNot(): void
    {
        $this->ledger->learn(new Changes('epoch', 14, 't', true, [
            ['e::k', 11, 'somebody', 's'], ['e::k', 12, 'somebody', 'd'], ['e::mine', 13, 'me', 's'], ['f:', 14, 'somebody', 'c'],
        ]), 'me');
        self::assertTrue($this->ledger->changed('e::k', 10));
        self::assertTrue($this->ledger->changed('e::k', 11));
        self::assertFalse($this->ledger->changed('e::k', 12));
        self::assertSame('d', $this->ledger->kind('e::k'));
        self::assertSame(10, $this->ledger->limit('e::k', 10), 'the store is to find it');
        self::assertSame(14, $this->ledger->limit('e::k', 12), 'up to here nothing is between');
        self::assertFalse($this->ledger->changed('e::mine', 10));
        self::assertFalse($this->ledger->changed('f:', 10), 'a marker made anew is no flush');
        self::assertSame([14, 't', 10], [$this->ledger->seen, $this->ledger->token, $this->ledger->start()]);
    }

    public function testAGapCountsAsAChangeOfEverythingReadBefore(): void
    {
        $this->ledger->miss('e::k', 11);
        $this->ledger->learn(new Changes('epoch', 50, '', false), 'me');
        self::assertTrue($this->ledger->changed('e::k', 11));
        self::assertSame(-1, $this->ledger->limit('e::k', 11));
        self::assertSame('', $this->ledger->kind('e::k'));
        $this->ledger->miss('e::later', 50);
        self::assertFalse($this->ledger->changed('e::later', 50));
        self::assertSame(50, $this->ledger->limit('e::later', 50));
    }

    public function testAnotherEpochMakesAllPositionsVoid(): void
    {
        $this->ledger->miss('e::k', 11);
        $this->ledger->learn(new Changes('another', 3, '', false), 'me');
        self::assertSame([RequestHistory::SEEN, -1], $this->ledger->reference('e::k'));
        self::assertTrue($this->ledger->changed('e::k', -1));
        self::assertSame(['another', 3, -1], [$this->ledger->epoch, $this->ledger->seen, $this->ledger->start()]);
        $this->ledger->miss('e::k', 3);
        self::assertSame([RequestHistory::MISSED, 3], $this->ledger->reference('e::k'));
        self::assertFalse($this->ledger->changed('e::k', 3));
    }

    public function testBlindEverythingCountsAsChanged(): void
    {
        $this->ledger->beginBlind();
        [, $reference] = $this->ledger->reference('e::k');
        self::assertTrue($this->ledger->changed('e::k', $reference));
        self::assertSame(-1, $this->ledger->limit('e::k', $reference));
        self::assertSame('', $this->ledger->epoch);
    }

    public function testAnOwnChangeThatIsTheNextOneMovesTheView(): void
    {
        $this->ledger->own(new Outcome(true, 11));
        self::assertSame(11, $this->ledger->seen);
        $this->ledger->own(new Outcome(true, 13));
        self::assertSame(11, $this->ledger->seen, 'what is at 12 is somebody else\'s');
        self::assertSame(10, $this->ledger->start());
    }

    public function testPositionsMayCountInStepsOfTheirOwn(): void
    {
        $this->ledger->own(new Outcome(true, 50, step: 40));
        self::assertSame(50, $this->ledger->seen);
        $this->ledger->own(new Outcome(true, 120, step: 40));
        self::assertSame(50, $this->ledger->seen);
    }

    public function testAForeignChangeFoundOnTheWayIsTheLastOneOnly(): void
    {
        $this->ledger->foreign('e::k', 15, 'x');
        $this->ledger->foreign('e::k', 12, 's');
        self::assertSame('x', $this->ledger->kind('e::k'));
        self::assertTrue($this->ledger->changed('e::k', 14));
    }

    public function testACopyThatGoesHadBeenReadAtTheStart(): void
    {
        $this->ledger->gone('e::k');
        $this->ledger->miss('e::k', 20);
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::k'));
        // Where nobody lists which copies went, it may have been any.
        $this->ledger->goneAll();
        $this->ledger->miss('e::any', 20);
        $this->ledger->hit('e::hit', 20, false);
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::any'));
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::hit'));
    }

    public function testARequestThatBeginsHoldsNothing(): void
    {
        $this->ledger->miss('e::k', 11);
        $this->ledger->foreign('e::k', 12, 's');
        $this->ledger->goneAll();
        $this->ledger->begin(new Changes('epoch', 30, '', true));
        self::assertSame([RequestHistory::SEEN, 30], $this->ledger->reference('e::k'));
        self::assertFalse($this->ledger->changed('e::k', 30));
        $this->ledger->miss('e::k', 31);
        self::assertSame([RequestHistory::MISSED, 31], $this->ledger->reference('e::k'));
    }

    public function testItsMemoryIsBoundedAndForgettingIsOnTheSafeSide(): void
    {
        for ($i = 0; $i <= 100_001; $i++) {
            $this->ledger->miss("e::$i", 11);
        }
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::0'));
        $this->ledger->miss('e::0', 12);
        self::assertSame([RequestHistory::SEEN, 10], $this->ledger->reference('e::0'));
        $list = [];
        for ($i = 0; $i <= 100_001; $i++) {
            $list[] = ["e::$i", 11 + $i, 'somebody', 's'];
        }
        $this->ledger->learn(new Changes('epoch', 200_000, '', true, $list), 'me');
        self::assertTrue($this->ledger->changed('e::never changed', 10), 'which keys changed is not known any more');
        self::assertFalse($this->ledger->changed('e::read later', 200_000));
    }
}
