<?php

declare(strict_types=1);

namespace Larder\Tests\Near;

use Larder\Cache;
use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Near\Near;
use Larder\Near\SegmentNear;
use Larder\Segment;
use Larder\Store\Journal\JournalSlice;
use Larder\System\Clock;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** The segment as a near tier: what it refuses, what it gives, and what happens when something of it is gone. */
#[RequiresPhpExtension('larder')]
final class SegmentNearTest extends TestCase
{
    private TemporaryDirectory $directory;
    private Segment $segment;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
        $this->segment = Segment::open($this->directory->file('segment'), 4 << 20);
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
    }

    // Seen to fail: fill() that does not look at the guard; follow() that does not raise it.
    public function testACopyReadBeforeWhatWasFollowedIsRefused(): void
    {
        $near = $this->near();
        self::assertTrue($near->follow(new JournalSlice('epoch', 10, '', false)));
        $near->put([['e::k', self::entry('read at 10'), 7, 10, 0]], 'epoch');
        self::assertSame(7, $near->copy('e::k')[1] ?? null);
        self::assertTrue($this->near()->follow(new JournalSlice('epoch', 12, '', true, [['e::other', 12, 'somebody', 's']])));
        $near->put([['e::late', self::entry('read at 11'), 9, 11, 0]], 'epoch');
        self::assertNull($near->copy('e::late'));
        self::assertSame(1, $near->stats()['refused']);
        self::assertNotNull($near->copy('e::k'), 'it has not changed');
        $near->put([['e::late', self::entry('read at 12'), 9, 12, 0]], 'epoch');
        self::assertSame(9, $near->copy('e::late')[1] ?? null);
    }

    // Seen to fail: its position, of the epoch before, was greater than all of the new one.
    public function testACopyOfAnEpochThatIsOverIsRefused(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->follow(new JournalSlice('another', 3, '', false));
        $near->put([['e::k', self::entry('read before'), 10, 10, 0]], 'epoch');
        $near->putMarker('f:', 10, 10, 'epoch');
        self::assertNull($near->copy('e::k'));
        self::assertNull($near->marker('f:'));
        self::assertSame(2, $near->stats()['refused']);
        $near->put([['e::k', self::entry('read in it'), 3, 3, 0]], 'another');
        self::assertSame(3, $near->copy('e::k')[1] ?? null);
    }

    // Seen to fail: drop() without a position; fill() that replaces whatever is there.
    public function testWhatChangedIsDroppedAndWhatIsNewerStays(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::old', self::entry('old'), 9, 10, 0]], 'epoch');
        $near->put([['e::new', self::entry('new'), 12, 12, 0]], 'epoch');
        $near->follow(new JournalSlice('epoch', 12, '', true, [['e::old', 11, 'somebody', 's'], ['e::new', 12, 'me', 's']]));
        self::assertNull($near->copy('e::old'));
        self::assertSame('new', $near->copy('e::new')[0]->value ?? null);
        $near->put([['e::new', self::entry('an older one'), 11, 12, 0]], 'epoch');
        self::assertSame('new', $near->copy('e::new')[0]->value ?? null, 'an older copy never replaces a newer one');
    }

    // Seen to fail: seg_fill() that leaves what is there where the guard refuses.
    public function testWhatIsRefusedTakesAnOlderCopyWithIt(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::k', self::entry('old'), 9, 10, 0]], 'epoch');
        $near->put([['e::newer', self::entry('newer'), 12, 12, 0]], 'epoch');
        $this->near()->follow(new JournalSlice('epoch', 20, '', true));
        $near->put([['e::k', self::entry('refused'), 11, 11, 0]], 'epoch');
        $near->put([['e::newer', self::entry('refused'), 11, 11, 0]], 'epoch');
        self::assertNull($near->copy('e::k'), 'whoever put it knew of a change at 11');
        self::assertSame(12, $near->copy('e::newer')[1] ?? null);
    }

    // Seen to fail: ahead() not among what the guard is raised to.
    public function testChangesAheadOfTheEndKeepOlderCopiesOut(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->follow(new JournalSlice('epoch', 10, '', true, [['e::k', 13, 'somebody', 's']]));
        self::assertSame(['epoch', 10, ''], $this->near()->state());
        $near->put([['e::k', self::entry('read at 12'), 9, 12, 0]], 'epoch');
        self::assertNull($near->copy('e::k'));
        $near->put([['e::k', self::entry('read at 13'), 13, 13, 0]], 'epoch');
        self::assertSame(13, $near->copy('e::k')[1] ?? null);
    }

    // Seen to fail: begin() that keeps the generation's name.
    public function testAGapOrAnotherEpochBeginsAnew(): void
    {
        $near = $this->near();
        foreach ([new JournalSlice('epoch', 20, 't', false), new JournalSlice('another', 5, 't', true)] as $changes) {
            $near->follow(new JournalSlice('epoch', 10, '', false));
            $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
            self::assertNotNull($near->copy('e::k'));
            self::assertTrue($near->follow($changes));
            self::assertNull($near->copy('e::k'));
            self::assertSame([$changes->epoch, $changes->end, 't'], $this->near()->state());
            $this->segment->flush();
        }
    }

    // Seen to fail: begin() that does not delete the guard before it.
    public function testWhoStillIsInAnOlderGenerationStoresNothingAndEndsNoNewerOne(): void
    {
        $slow = $this->near();
        $slow->follow(new JournalSlice('epoch', 10, '', false));
        $quick = $this->near();
        $quick->follow(new JournalSlice('epoch', 30, '', false));
        $quick->put([['e::k', self::entry('new'), 29, 30, 0]], 'epoch');
        $slow->put([['e::k', self::entry('old'), 9, 10, 0]], 'epoch');
        self::assertNull($slow->copy('e::k'));
        self::assertSame('new', $quick->copy('e::k')[0]->value ?? null);
        self::assertSame(['epoch', 30, ''], $this->near()->state(), 'the newer generation goes on');
        // It learns of the gap only now: another has begun anew meanwhile, and further on.
        self::assertTrue($slow->follow(new JournalSlice('epoch', 28, '', false)));
        self::assertSame('new', $slow->copy('e::k')[0]->value ?? null);
    }

    // Seen to fail: follow() that raises no guard.
    public function testTwoWhoFollowAtOnceNeedNotMeet(): void
    {
        [$one, $other] = [$this->near(), $this->near()];
        $one->follow(new JournalSlice('epoch', 10, '', false));
        $other->state();
        $one->put([['e::a', self::entry('a'), 9, 10, 0]], 'epoch');
        $one->put([['e::b', self::entry('b'), 9, 10, 0]], 'epoch');
        // Both have seen 10. The one that is further on comes first.
        $other->follow(new JournalSlice('epoch', 14, 'later', true, [['e::a', 11, 'x', 's'], ['e::b', 14, 'x', 's']]));
        self::assertTrue($one->follow(new JournalSlice('epoch', 12, 'earlier', true, [['e::a', 11, 'x', 's']])));
        self::assertSame(['epoch', 14, 'later'], $one->state());
        self::assertNull($one->copy('e::a'));
        self::assertNull($one->copy('e::b'));
        $one->put([['e::b', self::entry('read at 13'), 9, 13, 0]], 'epoch');
        self::assertNull($one->copy('e::b'));
    }

    /**
     * One process follows the journal, in which a key changes all the time; another puts copies of it that it has read
     * before. When following has ended, no older copy is there, nor comes in.
     */
    // Seen to fail: follow() that drops first and raises then; seg_fill() that does not look at the guard in the lock,
    // but only before.
    public function testWhoFillsWhileAnotherFollowsNeverLeavesAnOlderCopy(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 1, '', false));
        $this->segment->set('journal', 1);
        $value = \range(0, 2000);
        $child = \pcntl_fork();
        self::assertNotSame(-1, $child);
        if ($child === 0) {
            try {
                do {
                    $at = $this->segment->get('journal');
                    // What takes a while to be stored, after a first look at the guard.
                    $entry = new Entry("\0", 0);
                    $entry->given = $value;
                    \is_int($at) && $near->put([['e::k', $entry, $at, $at, 0]], 'epoch');
                } while ($at !== 'end');
            } finally {
                \posix_kill((int) \getmypid(), \SIGKILL);
            }
        }
        $older = $copies = 0;
        for ($position = 2; $position < 6_000; $position++) {
            $this->segment->set('journal', $position);
            $near->follow(new JournalSlice('epoch', $position, '', true, [['e::k', $position, 'x', 's']]));
            // Until the other comes by.
            for ($look = 0, $at = null; $look < 2_000 && $at === null; $look++) {
                $at = $near->copy('e::k')[1] ?? null;
            }
            $copies += $at === null ? 0 : 1;
            $older += $at === null || $at >= $position ? 0 : 1;
        }
        $this->segment->set('journal', 'end');
        \pcntl_waitpid($child, $status);
        self::assertSame(0, $older);
        self::assertGreaterThan(100, $copies, 'it was put');
    }

    // Seen to fail: fill() that takes a guard that is not there for an open one.
    public function testAGuardThatIsGoneEndsItsGeneration(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::before', self::entry('v'), 9, 10, 0]], 'epoch');
        $this->segment->delete($near->prefix . 'g');
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        self::assertNull($near->copy('e::k'));
        self::assertSame(['', 0, ''], $this->near()->state(), 'the next request begins anew');

        $near->follow(new JournalSlice('epoch', 10, '', false));
        $this->segment->delete($near->prefix . 'g');
        self::assertTrue($near->follow(new JournalSlice('epoch', 11, '', true)));
        $near->put([['e::k', self::entry('v'), 11, 11, 0]], 'epoch');
        self::assertNotNull($near->copy('e::k'), 'so does whoever follows');
    }

    // Seen to fail: state() that keeps the prefix where there is no state; fill() that allows what has no guard.
    public function testASegmentThatWasFlushedTakesNoCopiesAndGivesNone(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        $this->segment->delete('near:state');
        self::assertSame(['', 0, ''], $near->state());
        self::assertNull($near->copy('e::k'), 'up to where it is good is not known');
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $this->segment->flush();
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        self::assertSame(['', 0, ''], $near->state());
        self::assertNull($near->copy('e::k'));
        $near->put([['e::k', self::entry('v'), 9, 10, 0]], 'epoch');
        self::assertSame(0, $this->segment->stats()['entries']);
        self::assertTrue($near->follow(new JournalSlice('epoch', 10, '', true)));
        self::assertSame('epoch', $near->state()[0]);
        self::assertNull($near->copy('e::k'));
    }

    // Seen to fail: tags left out of a copy.
    public function testValuesOfEveryShapeComeBack(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $codec = Codec::create(null, null);
        $now = Clock::now();
        foreach (['text', '', \str_repeat('long', 9000), 17, -1, 1.5, true, false, null, [], ['a' => [1, 2], 'b' => null]] as $value) {
            foreach ([new Entry($codec->encode($value), 0), new Entry($codec->encode($value), $now, $now + 60000, $now + 1000, $now + 2000, ['t::a', 't::b'])] as $entry) {
                $near->put([['e::k', $entry, 9, 10, 0]], 'epoch');
                [$copy, $position] = $near->copy('e::k') ?? [null, 0];
                self::assertInstanceOf(Entry::class, $copy);
                self::assertSame([9, true, $value], [$position, $copy->isHeld, $copy->value]);
                self::assertSame(
                    [$entry->created, $entry->expiry, $entry->soft, $entry->sure, $entry->tags],
                    [$copy->created, $copy->expiry, $copy->soft, $copy->sure, $copy->tags],
                );
            }
        }
        // Each reader gets objects of his own, made when he asks.
        $entry = new Entry($codec->encode(['object' => new \ArrayObject([1])]), $now);
        $near->put([['e::k', $entry, 9, 10, 0]], 'epoch');
        self::assertEquals([$entry, 9], $near->copy('e::k'));

        $near->put([['e::damaged', new Entry("\x07damaged", $now), 9, 10, 0]], 'epoch');
        self::assertNull($near->copy('e::damaged'));
        self::assertSame(1, $near->stats()['errors']);

        $near->putMarker('f:', 8, 10, 'epoch');
        self::assertSame(8, $near->marker('f:'));
        self::assertNull($near->marker('f:other'));
        self::assertNull($near->copy('f:'), 'it is no copy');
        $near->putMarker('f:unknown', \PHP_INT_MAX, \PHP_INT_MAX, 'epoch');
        self::assertNull($near->marker('f:unknown'), 'that nobody knows a position is no news for others');
        $near->drop('e::k');
        self::assertNull($near->copy('e::k'));
    }

    // Seen to fail: the segment's time to live left at 0.
    public function testWhatHasEndedGivesItsMemoryBack(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::k', new Entry("\0v", 1, Clock::now() + 100), 9, 10, 1]], 'epoch');
        self::assertNotNull($near->copy('e::k'));
        $end = \hrtime(true) + 60_000_000_000;
        while ($this->segment->has($near->prefix . 'e::k') && \hrtime(true) < $end) {
            \usleep(50_000);
        }
        self::assertFalse($this->segment->has($near->prefix . 'e::k'));
    }

    // Seen to fail: fill() that leaves the older value where there is no room.
    public function testWhatHasNoRoomLeavesNothingOlder(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $near->put([['e::k', self::entry('small'), 9, 10, 0]], 'epoch');
        $near->put([['e::k', self::entry(\str_repeat('x', 3 << 20)), 11, 11, 0]], 'epoch');
        self::assertNull($near->copy('e::k'));
        self::assertSame(1, $near->stats()['refused']);
        self::assertNull($this->segment->check());
    }

    // Seen to fail: RequestTier that keeps an array of the application's as it is (Entry::$given not taken away).
    public function testWhatTheApplicationChangesThroughAReferenceIsNotWhatItStored(): void
    {
        $cache = $this->cache();
        $part = 1;
        $value = ['a' => &$part, 'b' => [1]];
        self::assertTrue($cache->set('set', $value));
        self::assertNull($cache->get('filled'));
        self::assertTrue($cache->fill('filled', $value));
        self::assertSame(['a' => 1, 'b' => [1]], $this->cache()->get('filled'), 'near at once');
        $part = 2;
        $cache->writeFills();
        foreach ([$cache, $this->cache()] as $reader) {
            self::assertSame(['a' => 1, 'b' => [1]], $reader->get('set'));
            self::assertSame(['a' => 1, 'b' => [1]], $reader->get('filled'));
        }
        self::assertGreaterThan(0, $reader->stats()['near']['hits']);
    }

    // Seen to fail: the build with LARDER_BROKEN_REFCOUNT, which crashes here.
    public function testWhatAReaderDoesWithAValueIsItsOwnAffair(): void
    {
        $cache = $this->cache();
        $cache->set('k', ['list' => [1, 2, 3], 'text' => 'abc']);
        $cache->refresh();
        $value = $cache->get('k');
        self::assertIsArray($value);
        $value['list'][] = 4;
        $value['text'][0] = 'X';
        \sort($value['list']);
        self::assertSame(['list' => [1, 2, 3], 'text' => 'abc'], $cache->get('k'));
        self::assertSame(['list' => [1, 2, 3], 'text' => 'abc'], $this->cache()->get('k'));
    }

    // Seen to fail: Cache::lookup() that does not compare with the last flush.
    public function testASpaceSeesItsOwnFlushAndTagsInTheSegment(): void
    {
        $cache = $this->cache();
        $group = $cache->group('g');
        $group->set('k', 1);
        $cache->set('k', 2);
        $cache->set('tagged', 3, 0, ['t']);
        $reader = $this->cache();
        self::assertSame([1, 2, 3], [$reader->group('g')->get('k'), $reader->get('k'), $reader->get('tagged')]);
        $group->flush();
        $cache->invalidateTags('t');
        $reader = $this->cache();
        self::assertSame([null, 2, null], [$reader->group('g')->get('k'), $reader->get('k'), $reader->get('tagged')]);
    }

    // Seen to fail: Cache::lookup() that takes a copy of after this request's view without noting it.
    public function testWhatWasReadAfterTheRequestBeganIsWhatASetIsJudgedBy(): void
    {
        $late = $this->cache();
        $this->cache()->set('k', 'by another, since');
        self::assertSame('by another, since', $late->get('k'));
        self::assertSame(1, $late->stats()['near']['hits']);
        self::assertTrue($late->set('k', 'computed from that'));
        self::assertSame('computed from that', $this->cache()->get('k'));
    }

    // Seen to fail: Cache::lookup() that asks the segment for what this request has changed.
    public function testWhatThisRequestChangedIsNotAskedFromCopies(): void
    {
        $cache = $this->cache();
        $cache->set('k', 'old');
        $cache->writeFills();
        $near = \Closure::bind(static fn(Cache $cache): ?Near => $cache->view->near, null, Cache::class)($cache);
        $old = $near->copy('e::k');
        self::assertNotNull($old);
        $cache->refresh();
        $cache->delete('k');
        // Somebody read it before, and comes late.
        $near->put([['e::k', $old[0], $old[1], $old[1], 0]], $near->state()[0]);
        self::assertNotNull($near->copy('e::k'));
        self::assertNull($cache->get('k'));
        self::assertNull($this->cache()->get('k'), 'whoever begins now has learned of it');
    }

    // Seen to fail: seg_after_fork_child() that takes over nothing of what the parent holds: the child dies.
    public function testAForkedChildKeepsWhatItsParentHasReadAndSeesWhatChanges(): void
    {
        $cache = $this->cache();
        $array = ['list' => \range(0, 3000), 'text' => \str_repeat('t', 5000)];
        $cache->set('k', $array);
        $cache->refresh();
        $held = $cache->get('k');
        $ends = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);
        self::assertIsArray($ends);
        $child = \pcntl_fork();
        self::assertNotSame(-1, $child);
        // A child that dies closes its end, and what is read here is empty.
        \fclose($ends[$child === 0 ? 1 : 0]);
        $end = $ends[$child === 0 ? 0 : 1];
        if ($child === 0) {
            try {
                \restore_error_handler();
                $cache->get('k');
                \fwrite($end, "here\n");
                \fgets($end);
                $cache->refresh();
                $cache->set('of the child', 'c');
                // What it held all the time, after its parent has let go of it and others have written over what was free.
                \fwrite($end, \md5(\serialize([$held, $cache->get('k')])) . "\n");
            } finally {
                \posix_kill((int) \getmypid(), \SIGKILL);
            }
        }
        self::assertSame("here\n", \fgets($end));
        $held = null;
        $cache->set('k', 'new');
        $this->segment()->release();
        for ($i = 0; $i < 300; $i++) {
            $cache->set("other $i", \str_repeat((string) $i, 4000));
        }
        \fwrite($end, "go on\n");
        self::assertSame(\md5(\serialize([$array, 'new'])) . "\n", \fgets($end));
        \pcntl_waitpid($child, $status);
        $cache->refresh();
        self::assertSame('c', $cache->get('of the child'));
    }

    /** Whoever stores much within one request looks at the state only when it begins. */
    // Seen to fail: fill() that never reads the state (it is evicted, and all that was kept begins anew).
    public function testTheStateOutlivesMoreThanFits(): void
    {
        $near = $this->near();
        $near->follow(new JournalSlice('epoch', 10, '', false));
        $generation = $near->prefix;
        for ($i = 0; $i < 40_000; $i++) {
            $near->put([["e::$i", self::entry(\str_repeat('x', 300)), 9, 10, 0]], 'epoch');
        }
        self::assertGreaterThan(1_000, $this->segment->stats()['evictions']);
        $later = $this->near();
        self::assertSame(['epoch', 10, ''], $later->state());
        self::assertSame($generation, $later->prefix);
    }

    // Seen to fail: a near tier's name without the secret.
    public function testAnotherSecretIsAnotherNearTier(): void
    {
        $this->cache(['secret' => 'one'])->set('k', 'v');
        self::assertNull($this->cache(['secret' => 'another'])->get('k'));
        self::assertNull($this->cache()->get('k'));
        self::assertSame('v', $this->cache(['secret' => 'one'])->get('k'));
    }

    /** @param array<string, string> $options */
    private function cache(array $options = []): Cache
    {
        return Cache::open($options + [
            'dsn' => 'sqlite://' . $this->directory->path . '/cache',
            'near' => 'segment://' . $this->directory->path . '/near/segment?bytes=2M',
        ]);
    }

    /** That of cache(). */
    private function segment(): Segment
    {
        return Segment::open($this->directory->path . '/near/segment');
    }

    private function near(): SegmentNear
    {
        $near = new SegmentNear($this->segment, 'near', Codec::create(null, null));
        $near->state();

        return $near;
    }

    private static function entry(string $value): Entry
    {
        return new Entry("\0" . $value, 1, Clock::now() + 60000);
    }
}
