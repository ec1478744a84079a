<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Request\History;
use Larder\Request\Leases;
use Larder\Request\Space;
use Larder\Request\Truth;
use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\MemoryStore;
use Larder\Store\OutageGuard;
use Larder\Store\PendingInvalidations;
use Larder\Store\Record;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\ProcessId;
use Larder\Tests\Contract\Forks;
use Larder\Tests\Support\HookedStore;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/** Leases over a store: who gets one, when it ends, who waits for whom. */
final class LeasesTest extends TestCase
{
    use Forks;

    protected const FORKS = true;

    private MemoryStore $store;
    private Truth $truth;

    protected function setUp(): void
    {
        $this->store = new MemoryStore(1 << 20);
        $this->truth = new Truth(new OutageGuard('memory', $this->store, null, new FailureLog(null), new PendingInvalidations(null)), 'writer000000');
    }

    public function testOneHasItUntilItGivesItBack(): void
    {
        [$one, $two] = [$this->leases('one'), $this->leases('two')];
        self::assertFalse($one->holdsAny());
        self::assertTrue($one->take('e::k', 60_000));
        self::assertTrue($one->holds('e::k'));
        self::assertFalse($two->take('e::k', 60_000));
        self::assertFalse($two->holds('e::k'));
        self::assertTrue($two->take('e::other', 60_000), 'each key has its own');
        $release = $one->release('e::k');
        self::assertInstanceOf(Change::class, $release);
        self::assertFalse($one->holds('e::k'));
        self::assertNull($one->release('e::k'));
        self::assertFalse($two->take('e::k', 60_000), 'not before that is written');
        self::assertTrue($this->store->write([$release])[0]->done);
        self::assertTrue($two->take('e::k', 60_000));
    }

    /** Its process lives, so nobody would call it dead, and others would wait for all of its time. */
    #[TestWith([false])]
    #[TestWith([true])]
    public function testOneWhoseAnswerWasLostIsTakenBack(bool $unchanged): void
    {
        $store = new HookedStore($this->store);
        $directory = new TemporaryDirectory();
        $truth = self::truth($store, $directory->file('kept'));
        $store->after = self::loseAnswers(...);
        $leases = new Leases($truth, new History(), 'writer000000');
        $unchanged ? self::assertFalse($leases->takeUnchanged('e::k', 60_000, 0)) : self::assertNull($leases->take('e::k', 60_000));
        self::assertFalse($this->leases('other')->take('e::k', 60_000), 'it was given');
        $store->after = null;
        $truth->retry();
        $truth->catchUp();
        self::assertTrue($this->leases('other')->take('e::k', 60_000));
    }

    /** A caller whose attempt has failed, and one whose lease had ended before it could release it. */
    public function testOneThatAnotherHasByNowStands(): void
    {
        $store = new HookedStore($this->store);
        $directory = new TemporaryDirectory();
        $truth = self::truth($store, $directory->file('kept'));
        $leases = new Leases($truth, new History(), 'writer000000');
        self::assertTrue($leases->take('e::ended', 20));
        $other = $this->leases('other');
        self::assertTrue($other->take('e::k', 60_000));
        Wait::until(static fn(): bool => $other->take('e::ended', 60_000) === true, 'the end of a lease');
        $store->after = self::loseAnswers(...);
        self::assertNull($leases->take('e::k', 60_000));
        $truth->retry();
        $leases->giveBack('e::ended');
        $store->after = null;
        $truth->retry();
        $truth->catchUp();
        self::assertFalse($this->leases('third')->take('e::k', 60_000));
        self::assertFalse($this->leases('third')->take('e::ended', 60_000));
    }

    public function testItIsReleasedAlsoWhereTheAnswerWasLostToWhatItWaitsFor(): void
    {
        $store = new HookedStore($this->store);
        $truth = self::truth($store, null);
        $leases = new Leases($truth, new History(), 'writer000000');
        self::assertTrue($leases->take('e::k', 60_000));
        $store->after = self::loseAnswers(...);
        $leases->waitFor('e::other', 60_000);
        $store->after = null;
        $truth->retry();
        $leases->waitFor('', 60_000);
        $leases->giveBack('e::k');
        self::assertTrue($this->leases('other')->take('e::k', 60_000));
    }

    public function testItEndsAtItsTime(): void
    {
        [$one, $two] = [$this->leases('one'), $this->leases('two')];
        self::assertTrue($one->take('e::k', 20));
        self::assertFalse($two->take('e::k', 60_000));
        \usleep(25_000);
        self::assertTrue($two->take('e::k', 60_000));
        // What the first one still believes to have it cannot give back over the second one's.
        $release = $one->release('e::k');
        self::assertNotNull($release);
        self::assertFalse($this->store->write([$release])[0]->done);
        self::assertFalse($this->leases('three')->take('e::k', 60_000));
    }

    public function testItEndsWithItsProcess(): void
    {
        [$name] = $this->inProcesses(1, static fn(): string => ProcessId::current());
        $this->put('e::k', Clock::now() + 60_000, $name, '');
        self::assertTrue($this->leases('one')->take('e::k', 60_000));
        $this->put('e::living', Clock::now() + 60_000, ProcessId::current(), '');
        self::assertFalse($this->leases('one')->take('e::living', 60_000));
    }

    public function testWhatStands(): void
    {
        $record = static fn(string $body): Record => new Record($body, 1, 'w');
        self::assertTrue($this->leases('any')->stands($record('l' . (Clock::now() + 1000) . ' elsewhere.1.2.3 ')));
        self::assertTrue($this->leases('any')->stands($record('l' . (Clock::now() + 1000) . ' elsewhere.1.2.3 e::a key with spaces')));
        foreach (['l' . (Clock::now() - 1) . ' elsewhere.1.2.3 ', 'l', '', 'lnonsense', 'd'] as $body) {
            self::assertFalse($this->leases('any')->stands($record($body)), $body);
        }
    }

    public function testOneIsSentToRenew(): void
    {
        [$one, $two] = [$this->leases('one'), $this->leases('two')];
        self::assertTrue($one->renews('e::k', 60_000));
        self::assertTrue($one->renews('e::k', 60_000), 'asked again, it is still the one');
        self::assertFalse($two->renews('e::k', 60_000));
    }

    public function testCirclesOfThoseWhoWaitAreSeen(): void
    {
        $one = $this->leases('one');
        self::assertTrue($one->take('e::a', 60_000));
        $others = fn(string $key, string $waits) => $this->put($key, Clock::now() + 60_000, 'elsewhere.1.2.3', $waits);
        $others('e::b', '');
        $others('e::c', '');
        self::assertFalse($one->wouldDeadlock('e::b'));
        $others('e::b', 'e::c');
        self::assertFalse($one->wouldDeadlock('e::b'));
        $others('e::c', 'e::a');
        self::assertTrue($one->wouldDeadlock('e::b'), 'a → b → c → a');
        $others('e::c', '');
        self::assertFalse($one->wouldDeadlock('e::b'));
        self::assertTrue($one->wouldDeadlock('e::a'), 'its own');
        // A circle that it is not in itself ends too.
        $others('e::c', 'e::b');
        self::assertFalse($one->wouldDeadlock('e::b'));
        // Saying what it waits for, it still holds what it holds.
        $one->waitFor('e::b', 60_000);
        self::assertFalse($this->leases('four')->take('e::a', 60_000));
        $release = $one->release('e::a');
        self::assertNotNull($release);
        self::assertTrue($this->store->write([$release])[0]->done);
    }

    public function testWhatAnotherObjectOfThisProcessComputesIsWaitedForByNobodyHere(): void
    {
        [$one, $two] = [$this->leases('one'), $this->leases('two')];
        self::assertTrue($one->take('e::a', 60_000));
        self::assertTrue($two->holdsAny());
        self::assertTrue($two->wouldDeadlock('e::a'));
        $this->put('e::b', Clock::now() + 60_000, 'elsewhere.1.2.3', 'e::a');
        self::assertTrue($two->wouldDeadlock('e::b'), 'b → a');
        // Others see what this process waits for, whichever object it is that waits.
        $two->waitFor('e::b', 60_000);
        self::assertStringEndsWith(' e::b', $this->store->read(['l::a'])->records['l::a']->body);
        $dead = $this->inProcesses(1, fn(): string => \json_encode([$two->holdsAny(), $two->wouldDeadlock('e::a')], \JSON_THROW_ON_ERROR));
        self::assertSame(['[false,false]'], $dead, 'in a forked child these are its parent\'s');
        // Seen to fail: parent and child have one writer's name, and the child did not wait for what its parent computes.
        $waits = $this->inProcesses(1, static function () use ($one): array {
            $one->forget();

            return [$one->take('e::c', 60_000), $one->wouldDeadlock('e::b')];
        });
        self::assertSame([[true, false]], $waits, 'a forked child that computes too');
        $release = $one->release('e::a');
        self::assertNotNull($release);
        self::assertFalse($two->holdsAny());
        self::assertFalse($two->wouldDeadlock('e::b'));
    }

    public function testAllOfThemAtTheEndAndNoneAfterAFork(): void
    {
        $leases = $this->leases('one');
        self::assertTrue($leases->take('e::a', 60_000) && $leases->take('e::b', 60_000));
        $leases->computes('e::b');
        self::assertSame(['l::a'], \array_map(static fn(Change $change): string => $change->key, $leases->releaseAll(false)), 'as long as the value is computed');
        self::assertFalse($leases->holds('e::a'));
        self::assertTrue($leases->take('e::c', 60_000));
        $leases->giveBack('e::b');
        self::assertTrue($leases->take('e::b', 60_000));
        $released = $leases->releaseAll(false);
        self::assertCount(2, $released);
        self::assertFalse($leases->holdsAny());
        foreach ($this->store->write($released) as $outcome) {
            self::assertTrue($outcome->done);
        }
        self::assertTrue($leases->take('e::d', 60_000));
        $leases->leaveParent('child0000000');
        self::assertSame([], $leases->releaseAll(true), 'a child gives nothing back that is its parent\'s');
        self::assertFalse($this->leases('two')->take('e::d', 60_000));
    }

    /** As in prefork servers: the parent has opened the cache, and its children use it. */
    // Seen to fail: leaveParent() that leaves the name as it is, so that what one child keeps for an outage removes its sibling's lease.
    public function testEachChildHasANameOfItsOwn(): void
    {
        $directory = new TemporaryDirectory();
        $cache = Cache::open('file://' . $directory->path);
        $cache->remember('k', static fn(): int => 1);
        $store = new FileStore($directory->path, 1 << 20, 1.0);
        $names = $this->inProcesses(2, static fn(int $i): mixed => $cache->remember("child $i", static function () use ($store, $i): ?string {
            $lease = Space::lease("e::child $i");

            return ($store->read([$lease])->records[$lease] ?? null)?->writer;
        }));
        self::assertNotContains(null, $names);
        self::assertNotSame($names[0], $names[1]);
    }

    // Seen to fail: a commit() that gives back all leases, so that another process computes the same.
    public function testWritingWhatWaitsLeavesTheLeaseOfWhatIsBeingComputed(): void
    {
        $directory = new TemporaryDirectory();
        $cache = Cache::open('file://' . $directory->path);
        $store = new FileStore($directory->path, 1 << 20, 1.0);
        $stands = static fn(): bool => isset($store->read([Space::lease('e::k')])->records[Space::lease('e::k')]);
        $seen = $cache->remember('k', static function () use ($cache, $stands): array {
            $cache->fill('other', 1);
            $cache->writeFills();

            return [$stands(), $cache->has('other')];
        });
        self::assertSame([true, true], $seen);
        self::assertFalse($stands());
    }

    private static function truth(HookedStore $store, ?string $kept): Truth
    {
        $truth = new Truth(new OutageGuard('hooked', $store, null, new FailureLog(new NullLogger()), new PendingInvalidations($kept)), 'writer000000');
        $truth->catchUp();

        return $truth;
    }

    private static function loseAnswers(string $call): void
    {
        $call === 'write' && throw Failure::because('hooked', 'the answer was lost');
    }

    private function leases(string $name): Leases
    {
        return new Leases($this->truth, new History(), \str_pad($name, 12, '0'));
    }

    private function put(string $key, int $deadline, string $process, string $waits): void
    {
        $outcome = $this->store->write([new Change('l' . \substr($key, 1), "l$deadline $process $waits", 'somebody', logged: false)])[0];
        self::assertTrue($outcome->done);
    }
}
