<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Store\PendingInvalidations;
use Larder\System\Failure;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** An invalidation that is made later than asked for leaves the intents of other requests standing. */
#[CoversNothing]
final class InvalidationOverIntentTest extends TestCase
{
    private TemporaryDirectory $directory;

    private HookedStore $store;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->store = new HookedStore();
    }

    #[TestWith([true])]
    #[TestWith([false])]
    public function testOneThatWasKeptDuringAnOutage(bool $isFlush): void
    {
        $writer = $this->store->cache();
        $writer->set('k', 'old');
        $other = $this->store->cache(null, new PendingInvalidations($this->directory->file('kept')));
        $this->store->before = static fn(string $call) => $call === 'write' && throw new Failure('away');
        self::assertFalse($isFlush ? $other->flush() : $other->set('k', 'not stored'));
        $this->store->before = null;
        $writer->intend('k');
        $other->internals()->retry();
        self::assertTrue($other->set('other', 1), 'and what was kept is made first');
        $this->fillIsRefused();
        self::assertTrue($writer->delete('k'));
        $this->fillIsStored();
    }

    /** The request whose intent it is has ended it so. */
    public function testItEndsItsOwn(): void
    {
        $writer = $this->store->cache(null, new PendingInvalidations($this->directory->file('kept')));
        $writer->intend('k');
        $this->store->before = static fn(string $call) => $call === 'write' && throw new Failure('away');
        self::assertFalse($writer->delete('k'));
        $this->store->before = null;
        $this->fillIsRefused();
        $writer->internals()->retry();
        self::assertTrue($writer->set('other', 1));
        $this->fillIsStored();
    }

    public function testOneThatANestedCallMade(): void
    {
        $writer = $this->store->cache();
        $writer->set('k', 'old');
        $other = $this->store->cache();
        $writer->intend('k');
        $this->store->before = static function (string $call) use ($other): void {
            $call === 'write' && $other->delete('k');
        };
        self::assertTrue($other->set('other', 1));
        $this->store->before = null;
        $this->fillIsRefused();
        self::assertTrue($writer->delete('k'));
        $this->fillIsStored();
    }

    private function fillIsRefused(): void
    {
        self::assertNull($this->filled());
    }

    private function fillIsStored(): void
    {
        self::assertSame('computed', $this->filled());
    }

    private function filled(): mixed
    {
        $reader = $this->store->cache();
        self::assertNull($reader->get('k'));
        $reader->fill('k', 'computed');
        $reader->writeFills();

        return $this->store->cache()->get('k');
    }
}
