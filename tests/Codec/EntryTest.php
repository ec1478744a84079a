<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Entry;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** An entry's bytes, and what its times mean, also to a clock that was set back. */
final class EntryTest extends TestCase
{
    private const NOW = 1_800_000_000_000;

    /** @return iterable<string, array{Entry}> */
    public static function entries(): iterable
    {
        yield 'plain' => [new Entry('payload', self::NOW)];
        yield 'binary' => [new Entry("\0\xFF\n" . \str_repeat("\0", 100), self::NOW)];
        yield 'expiring' => [new Entry('payload', self::NOW, self::NOW + 1)];
        yield 'soft' => [new Entry('payload', self::NOW, 0, self::NOW + 1)];
        yield 'bounded' => [new Entry('payload', self::NOW, 0, 0, self::NOW + 2000)];
        yield 'tagged' => [new Entry('payload', self::NOW, 0, 0, 0, ['t::a', "t:g:\0\xFF", 't::' . \str_repeat('x', 30000)])];
        // Seen to fail: 16 bits held the length, and other tags and another payload were read.
        yield 'long tags' => [new Entry('payload', self::NOW, 0, 0, 0, ['t::a', 't:' . \str_repeat('g', 65_536) . ':x', 't::b'])];
        yield 'all of it' => [new Entry('payload', self::NOW, \PHP_INT_MAX, 1, 2, ['t::1', 't::2'])];
    }

    #[DataProvider('entries')]
    public function testItsBytesSayAllOfIt(Entry $entry): void
    {
        self::assertEquals($entry, Entry::fromBody($entry->body()));
    }

    #[DataProvider('entries')]
    public function testCutBytesAreNoOtherEntry(Entry $entry): void
    {
        $body = $entry->body();
        for ($length = 0; $length < \min(\strlen($body), 400); $length++) {
            $cut = Entry::fromBody(\substr($body, 0, $length));
            // Only the payload may be shorter: it has a checksum of its own (Codec).
            self::assertTrue($cut === null || [$cut->created, $cut->expiry, $cut->soft, $cut->sure, $cut->tags]
                === [$entry->created, $entry->expiry, $entry->soft, $entry->sure, $entry->tags], (string) $length);
        }
    }

    #[DataProvider('entries')]
    public function testOnlyAnExpiryIsJudgedByTheBodyAlone(Entry $entry): void
    {
        $isTimed = $entry->expiry !== 0 && $entry->soft === 0 && $entry->sure === 0 && $entry->tags === [];
        $left = 0;
        $at = Entry::timed($entry->body(), self::NOW, $left);
        self::assertSame($isTimed, $at !== 0);
        self::assertSame($isTimed ? [$entry->payload, $entry->expiry - self::NOW] : ['', 0], [$at === 0 ? '' : \substr($entry->body(), $at), $left]);
        self::assertSame($at === 0 ? 0 : $at + 9, Entry::timed('e12345678' . $entry->body(), self::NOW, $left, 9));
    }

    public function testATimedValueEndsAsItsEntryDoes(): void
    {
        $left = 0;
        foreach ([self::NOW + 1, self::NOW, self::NOW - 1, 1] as $expiry) {
            foreach ([self::NOW, self::NOW + 60_000, self::NOW + 60_001] as $created) {
                $entry = new Entry('payload', $created, $expiry);
                self::assertSame(!$entry->expired(self::NOW), Entry::timed($entry->body(), self::NOW, $left) !== 0, "$created $expiry");
            }
        }
        foreach (['', 'w', 'v', 'v12345678payload', \substr((new Entry('x', self::NOW, self::NOW + 1))->body(), 0, -1)] as $body) {
            self::assertSame(0, Entry::timed($body, self::NOW, $left));
        }
    }

    public function testOtherRecordsAreNoEntries(): void
    {
        foreach (['', Entry::DELETED, Entry::DROPPED, Entry::MARKER, Entry::MADE, 'i1 2 3', 'l123 p ', 'V12345678x', 'w', 'W', 'v', 'v12345678'] as $body) {
            self::assertNull(Entry::fromBody($body), $body);
        }
    }

    public function testSecondsBecomeTimes(): void
    {
        $entry = Entry::make('p', self::NOW, 60, 10, ['t::a']);
        self::assertSame(self::NOW, $entry->created);
        self::assertSame($entry->created + 60_000, $entry->expiry);
        self::assertSame($entry->created + 10_000, $entry->soft);
        self::assertSame(['t::a'], $entry->tags);
        self::assertSame([0, 0, 0], [Entry::make('p', self::NOW, 0, 0, [])->expiry, Entry::make('p', self::NOW, 0, 0, [])->soft, Entry::make('p', self::NOW, 0, 0, [])->sure]);
        self::assertSame(0, Entry::make('p', self::NOW, \PHP_INT_MAX, \PHP_INT_MAX, [])->expiry, 'beyond 64 bits an end is none');
        self::assertGreaterThan(self::NOW, Entry::make('p', self::NOW, 9_000_000_000_000, 0, [])->expiry);
        foreach ([-1, -2_000_000_000, -9_000_000_000_001, \PHP_INT_MIN] as $past) {
            $entry = Entry::make('p', self::NOW, $past, $past, []);
            // Seen to fail: a time before the clock's beginning counted as none.
            self::assertSame([true, true], [$entry->until() > 0, $entry->until() < self::NOW], (string) $past);
            self::assertSame([true, true], [$entry->expired(self::NOW), $entry->stale(self::NOW)], (string) $past);
        }
    }

    public function testItExpires(): void
    {
        $entry = new Entry('p', self::NOW, self::NOW + 1000);
        self::assertFalse($entry->expired(self::NOW + 999));
        self::assertTrue($entry->expired(self::NOW + 1000));
        self::assertFalse($entry->expired(self::NOW - 30_000), 'clocks of two servers may differ');
        self::assertTrue($entry->expired(self::NOW - 3_600_000), 'a clock was set back: it would live for an hour too long');
        $forever = new Entry('p', self::NOW);
        self::assertFalse($forever->expired(self::NOW - 3_600_000));
        self::assertFalse($forever->expired(\PHP_INT_MAX));
    }

    public function testABoundedLifeEndsAndIsShownALittleLonger(): void
    {
        $entry = (new Entry('p', self::NOW - 5000, self::NOW + 9000, self::NOW + 100, 0, ['t::a']))->bounded(self::NOW);
        self::assertSame(self::NOW, $entry->created);
        self::assertSame([self::NOW + 9000, self::NOW + 100, ['t::a'], 'p'], [$entry->expiry, $entry->soft, $entry->tags, $entry->payload]);
        self::assertSame(self::NOW + Entry::BOUNDED_LIFE, $entry->sure);
        self::assertFalse($entry->outlived(self::NOW + 1999));
        self::assertTrue($entry->outlived(self::NOW + 2000));
        self::assertFalse($entry->over(self::NOW + 3999));
        self::assertTrue($entry->over(self::NOW + 4000));
        // Set back by more than two clocks differ: nobody knows when its two seconds are over.
        self::assertFalse($entry->outlived(self::NOW - 500));
        self::assertTrue($entry->outlived(self::NOW - 3_600_000));
        self::assertTrue($entry->over(self::NOW - 3_600_000));
        self::assertFalse((new Entry('p', self::NOW))->outlived(\PHP_INT_MAX));
        self::assertFalse((new Entry('p', self::NOW))->over(\PHP_INT_MAX));
    }

    public function testPastItsSoftExpiryItIsStale(): void
    {
        $entry = new Entry('p', self::NOW, 0, self::NOW + 10);
        self::assertFalse($entry->stale(self::NOW + 9));
        self::assertTrue($entry->stale(self::NOW + 10));
        self::assertFalse((new Entry('p', self::NOW))->stale(\PHP_INT_MAX));
    }

    public function testTheEarliestOfItsTimesCounts(): void
    {
        self::assertSame(0, (new Entry('p', self::NOW))->until());
        self::assertSame(5, (new Entry('p', 1, 5))->until());
        self::assertSame(3, (new Entry('p', 1, 5, 3))->until());
        self::assertSame(2, (new Entry('p', 1, 5, 3, 2))->until());
        self::assertSame(4, (new Entry('p', 1, 0, 0, 4))->until());
    }

    public function testItsCopiesKeepTheRest(): void
    {
        $entry = new Entry('p', 1, 2, 3, 4, ['t::a']);
        self::assertEquals(new Entry('q', 1, 2, 3, 4, ['t::a']), $entry->with('q'));
    }
}
