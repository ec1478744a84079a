<?php

declare(strict_types=1);

namespace Larder\Tests\Codec;

use Larder\Codec\Entry;
use Larder\Codec\EntrySigner;
use Larder\Codec\Signer;
use PHPUnit\Framework\TestCase;

/** Entries in their records, signed and not. */
final class EntrySignerTest extends TestCase
{
    private const SECRET = 'at least thirty-two random characters';

    public function testWhatIsSealedIsOpenedUnderTheSameKeyOnly(): void
    {
        $entry = new Entry('payload', 1, 2, 3, 4, ['t::a']);
        foreach ([new EntrySigner(null), new EntrySigner(new Signer(self::SECRET))] as $i => $signer) {
            $body = $signer->seal('e::k', $entry);
            self::assertEquals($entry, $signer->open('e::k', $body));
            self::assertSame($i === 1, $signer->open('e::other', $body) === null);
        }
    }

    /** Seen to fail: whoever could write to the server copied one site's record over another's. */
    public function testWhatOneCacheHasSealedAnotherDoesNotOpen(): void
    {
        [$one, $other] = [new EntrySigner(new Signer(self::SECRET), 'one'), new EntrySigner(new Signer(self::SECRET), 'other')];
        $body = $one->seal('e::k', new Entry('payload', 1));
        self::assertNotNull((new EntrySigner(new Signer(self::SECRET), 'one'))->open('e::k', $body));
        self::assertNull($other->open('e::k', $body));
        self::assertNull((new EntrySigner(new Signer(self::SECRET)))->open('e::k', $body));
        // A prefix may hold colons.
        self::assertNull($one->open('e:g:e::k', (new EntrySigner(new Signer(self::SECRET), 'one:e:g'))->seal('e::k', new Entry('payload', 1))));
    }

    public function testNeitherReadsWhatTheOtherWrote(): void
    {
        $entry = new Entry('payload', 1);
        [$plain, $signed] = [new EntrySigner(null), new EntrySigner(new Signer(self::SECRET))];
        self::assertNull($plain->open('k', $signed->seal('k', $entry)));
        self::assertNull($signed->open('k', $plain->seal('k', $entry)));
        self::assertNull($signed->open('k', 's' . $plain->seal('k', $entry)));
        self::assertNull((new EntrySigner(new Signer('another ' . self::SECRET)))->open('k', $signed->seal('k', $entry)));
    }

    public function testEveryBitCounts(): void
    {
        $signer = new EntrySigner(new Signer(self::SECRET));
        $body = $signer->seal('k', new Entry('payload', 1, 2));
        for ($bit = 0; $bit < 8 * \strlen($body); $bit++) {
            $changed = $body;
            $changed[$bit >> 3] = \chr(\ord($changed[$bit >> 3]) ^ (1 << ($bit & 7)));
            self::assertNull($signer->open('k', $changed));
        }
    }

    public function testOtherRecordsAreNoEntries(): void
    {
        foreach ([new EntrySigner(null), new EntrySigner(new Signer(self::SECRET))] as $signer) {
            foreach (['', 's', 'd', 'x', 'm', 'i1 2 3', 's' . \str_repeat("\0", 16)] as $body) {
                self::assertNull($signer->open('k', $body));
            }
        }
    }
}
