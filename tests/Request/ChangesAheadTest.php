<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Codec\Entry;
use Larder\Near\ApcuNear;
use Larder\Near\Near;
use Larder\Near\StoreNear;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\MemoryStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

/**
 * A journal whose end stands still, because a writer died in the middle, still names what others change after it:
 * near tiers drop that, and take no copy that was read before it.
 */
#[CoversNothing]
final class ChangesAheadTest extends TestCase
{
    public function testApcu(): void
    {
        if (!\extension_loaded('apcu') || !\apcu_enabled()) {
            self::markTestSkipped('Needs apc.enable_cli=1.');
        }
        $directory = new TemporaryDirectory();
        $name = 'ahead-' . \bin2hex(\random_bytes(4));
        $this->follows(static fn(): Near => new ApcuNear($name, $directory->file('lock'), 1 << 20));
    }

    public function testStore(): void
    {
        $store = new MemoryStore(1 << 20);
        $this->follows(static fn(): Near => new StoreNear($store, 'n'));
    }

    public function testWhoHasSomethingToLearn(): void
    {
        $plain = new JournalSlice('e', 10, '', true, [['e::k', 9, 'w', 's']]);
        $ahead = new JournalSlice('e', 10, '', true, [['e::k', 9, 'w', 's'], ['e::k', 12, 'w', 'd']]);
        $gap = new JournalSlice('e', 10, '', false);
        self::assertSame([0, 12, 0], [$plain->ahead(), $ahead->ahead(), $gap->ahead()]);
        self::assertSame([true, false, false, true], [$plain->news('e', 9), $plain->news('e', 10), $plain->news('e', 11), $plain->news('f', 11)]);
        self::assertSame([true, true, false], [$ahead->news('e', 10), $ahead->news('e', 11), $ahead->news('e', 12)]);
        self::assertSame([true, true, false], [$gap->news('e', 9), $gap->news('e', 10), $gap->news('e', 11)]);
    }

    /** @param \Closure(): Near $open what another request of the same server has */
    private function follows(\Closure $open): void
    {
        $entry = Entry::make("\0value", 0, 0, 0, []);
        $one = $open();
        self::assertSame(['', 0, ''], $one->state());
        self::assertTrue($one->follow(new JournalSlice('e', 10, '', false)));
        $one->put([['e::k', $entry, 5, 10, 0]], 'e');
        $one->put([['e::other', $entry, 6, 10, 0]], 'e');
        self::assertSame(5, $one->copy('e::k')[1] ?? null);

        $other = $open();
        self::assertSame(['e', 10, ''], $other->state());
        self::assertTrue($other->follow(new JournalSlice('e', 10, '', true, [['e::k', 12, 'w', 'd']])));
        self::assertNull($other->copy('e::k'), 'changed after the end');
        self::assertSame(6, $other->copy('e::other')[1] ?? null);
        $one->put([['e::k', $entry, 5, 10, 0]], 'e');
        self::assertNull($open()->copy('e::k') ?? $other->copy('e::k'), 'read before the change that the end has not reached');

        // Stored after it, and the same news again.
        $other->put([['e::k', $entry, 13, 13, 0]], 'e');
        self::assertTrue($other->follow(new JournalSlice('e', 10, '', true, [['e::k', 12, 'w', 'd']])));
        self::assertSame(13, $other->copy('e::k')[1] ?? null);

        // Somebody with older news does not take the end back, but what he knows ahead of it counts.
        self::assertTrue($other->follow(new JournalSlice('e', 20, '', true)));
        $other->put([['e::other', $entry, 6, 21, 0]], 'e');
        self::assertTrue($other->follow(new JournalSlice('e', 10, '', true, [['e::other', 22, 'w', 'd']])));
        self::assertSame(['e', 20, ''], $other->state());
        self::assertNull($other->copy('e::other'));

        // Where it is not known what came after the end, nothing that was there is shown.
        self::assertTrue($other->follow(new JournalSlice('e', 20, '', false)));
        self::assertNull($other->copy('e::k'));
    }
}
