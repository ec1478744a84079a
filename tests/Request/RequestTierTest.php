<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Request\History;
use Larder\Request\RequestTier;
use Larder\Request\Truth;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\MemoryStore;
use Larder\Store\OutageGuard;
use Larder\System\Clock;
use PHPUnit\Framework\TestCase;

/** The request tier: what it keeps, as what, and for how long. */
final class RequestTierTest extends TestCase
{
    private Codec $codec;
    private History $history;
    private RequestTier $copies;

    protected function setUp(): void
    {
        $this->codec = Codec::create(null, null);
        $this->history = new History();
        $this->history->begin(new JournalSlice('epoch', 10, '', false));
        $this->copies = new RequestTier($this->codec, $this->history, new Truth(new OutageGuard('memory', new MemoryStore()), 'writer000000'), 'e::');
    }

    public function testPlainValuesAreReadyToBeHandedOut(): void
    {
        foreach (['s' => 'string', 'i' => 0, 'f' => 1.5, 't' => true, 'n' => false, 'a' => [1, ['x' => 'y']]] as $key => $value) {
            self::assertSame($value, $this->copies->put($key, $this->entry($value), $found));
            self::assertTrue($found);
            self::assertSame($value, $this->copies->values[$key]);
        }
    }

    public function testNullAndObjectsAreDecodedEachTime(): void
    {
        self::assertNull($this->copies->put('null', $this->entry(null), $found));
        self::assertTrue($found);
        self::assertArrayNotHasKey('null', $this->copies->values);
        self::assertTrue($this->copies->has('null'));
        self::assertNull($this->copies->decode('null', $found));
        self::assertTrue($found);

        $first = $this->copies->put('object', $this->entry(new \ArrayObject([1])), $found);
        $second = $this->copies->decode('object');
        self::assertEquals($first, $second);
        self::assertNotSame($first, $second, 'a fresh copy for each reader');
    }

    public function testAnArrayThatTheApplicationStillHoldsIsNotShared(): void
    {
        $inner = 1;
        $array = ['x' => &$inner];
        $this->copies->keepValue('k', $array, $this->entry($array));
        $inner = 2;
        self::assertSame(['x' => 1], $this->copies->decode('k'));
    }

    public function testWhatCannotBeDecodedIsNotThere(): void
    {
        self::assertNull($this->copies->put('k', new Entry("\x05damaged", 1), $found));
        self::assertFalse($found);
        self::assertFalse($this->copies->has('k'));
        $this->copies->keep('k', new Entry("\x05damaged", 1));
        self::assertNull($this->copies->decode('k', $found));
        self::assertFalse($found);
        self::assertFalse($this->copies->has('k'));
    }

    public function testACopyGoesInTime(): void
    {
        $now = Clock::now();
        $this->copies->put('ends', $this->entry('v', $now + 300));
        $this->copies->put('later', $this->entry('v', $now + 60_000));
        $this->copies->put('never', $this->entry('v'));
        self::assertLessThanOrEqual(\hrtime(true) + 300_000_000, $this->copies->end);
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertTrue($this->copies->has('ends'));
        \usleep(305_000);
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertSame(['later', 'never'], \array_keys($this->copies->values));
        self::assertGreaterThan(\hrtime(true) + 20_000_000_000, $this->copies->end);
        // That it was read stays known: a set of it is judged by that.
        self::assertSame([History::SEEN, 10, 0], $this->history->reference('e::ends'));
        $this->copies->drop('later');
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertSame(\PHP_INT_MAX, $this->copies->end);
    }

    public function testASoftExpiryOrABoundedLifeEndsTheCopyToo(): void
    {
        $now = Clock::now();
        foreach (['soft' => new Entry($this->codec->encode('v'), $now, $now + 60_000, $now + 20), 'bounded' => new Entry($this->codec->encode('v'), $now, $now + 60_000, 0, $now + 20)] as $key => $entry) {
            $this->copies->put($key, $entry);
        }
        \usleep(25_000);
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertSame([], $this->copies->values);
    }

    public function testAnEndBeyondAllTimesIsNone(): void
    {
        $this->copies->put('k', $this->entry('v', \PHP_INT_MAX));
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertTrue($this->copies->has('k'));
        self::assertGreaterThan(\hrtime(true), $this->copies->end);
    }

    public function testANewCopyForgetsTheOldOnesEnd(): void
    {
        $this->copies->put('k', $this->entry('old', Clock::now() + 10));
        $this->copies->put('k', $this->entry('new'));
        \usleep(15_000);
        $this->copies->expire((int) \hrtime(true), \PHP_INT_MAX);
        self::assertSame('new', $this->copies->values['k']);
    }

    public function testItIsBoundedInNumberAndBytes(): void
    {
        for ($i = 0; $i < 50_000; $i++) {
            $this->copies->put("k$i", new Entry("\0v", 1));
        }
        self::assertLessThanOrEqual(20_000, $this->copies->count());
        self::assertSame('v', $this->copies->values['k49999'], 'the newest stay');
        $this->copies->clear();
        self::assertSame([0, 0], [$this->copies->count(), $this->copies->bytes()]);
        $large = "\0" . \str_repeat('x', 1 << 20);
        for ($i = 0; $i < 200; $i++) {
            $this->copies->put("k$i", new Entry($large, 1));
            self::assertLessThan(70, $this->copies->count());
        }
        // Forgetting which ones went, everything counts as read at the start.
        $this->history->miss('e::k0', 15);
        self::assertSame([History::SEEN, 10, 0], $this->history->reference('e::k0'));
    }

    public function testTrimKeepsTheNewerHalf(): void
    {
        for ($i = 0; $i < 20_001; $i++) {
            $this->copies->values["k$i"] = $i;
        }
        $this->copies->trim();
        self::assertLessThanOrEqual(10_001, $this->copies->count());
        self::assertSame(20_000, $this->copies->values['k20000']);
    }

    private function entry(mixed $value, int $expiry = 0): Entry
    {
        return new Entry($this->codec->encode($value), Clock::now(), $expiry);
    }
}
