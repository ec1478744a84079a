<?php

declare(strict_types=1);

namespace Larder\Tests\Store\File;

use Larder\Store\Change;
use Larder\Store\File\FileJournal;
use Larder\Store\File\FileStore;
use Larder\Store\File\JournalFile;
use Larder\Store\File\State;
use Larder\Store\Journal\JournalIndex;
use Larder\Store\Store;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** How one file of the log follows another, and what is left when a process dies on the way. */
final class JournalTest extends TestCase
{
    private const WRITER = 'aaaaaaaaaaaa';
    private const EPOCH = '0123456789abcdef';

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        \set_error_handler(static function (int $level, string $message, string $file, int $line): never {
            throw new \ErrorException($message, 0, $level, $file, $line);
        });
        $this->directory = new TemporaryDirectory('larder-l');
    }

    protected function tearDown(): void
    {
        \restore_error_handler();
        $this->directory->remove();
    }

    private function store(): Store
    {
        return new FileStore($this->directory->path, 10_000_000, 5.0);
    }

    /** @return list<string> */
    private function files(): array
    {
        $files = \glob($this->directory->file('log.*')) ?: [];
        \natsort($files);

        return \array_values($files);
    }

    private static function remove(Store $store, int $from, int $to): int
    {
        $changes = [];
        for ($i = $from; $i < $to; $i++) {
            $changes[] = new Change("k$i", null, self::WRITER, kind: 'd');
            if (\count($changes) === 100 || $i === $to - 1) {
                $outcomes = $store->write($changes);
                $changes = [];
            }
        }

        return isset($outcomes) ? $outcomes[\count($outcomes) - 1]->position : 0;
    }

    #[Group('slow')]
    public function testTheLogKeepsTenThousandChangesAndNotMuchMore(): void
    {
        $writer = $this->store();
        $follower = $this->store();
        $late = $this->store();
        $start = $seen = $late->since('', 0, '');
        $count = 0;
        $positions = [];
        for ($i = 0; $i < 33_000; $i += 500) {
            $positions[$i + 499] = self::remove($writer, $i, $i + 500);
            $seen = $follower->since($seen->epoch, $seen->end, $seen->token);
            self::assertTrue($seen->complete);
            foreach ($seen->list as [$key]) {
                self::assertSame('k' . $count++, $key);
            }
            self::assertSame([], $follower->since($seen->epoch, $seen->end, $seen->token)->list);
            self::assertLessThanOrEqual(2, \count($this->files()));
            if ($i === 500) {
                $start = $seen;
            }
        }
        self::assertSame(33_000, $count);
        self::assertLessThan(2_000_000, \array_sum(\array_map(\filesize(...), $this->files())));
        foreach ([$late, $this->store()] as $reader) {
            self::assertFalse($reader->since($start->epoch, $start->end, $start->token)->complete);
            $recent = $reader->since($start->epoch, $positions[22_999], '');
            self::assertTrue($recent->complete);
            self::assertSame('k23000', $recent->list[0][0] ?? null);
            self::assertCount(10_000, $recent->list);
        }
        $limit = static fn(string $key, int $limit) => new Change($key, 'v', 'bbbbbbbbbbbb', $limit);
        $cold = $this->store();
        self::assertSame(-1, $cold->write([$limit('unknown', $positions[999])])[0]->position, 'Unknown so far back: a conflict.');
        self::assertSame([false, $positions[32_499]], [
            $cold->write([$limit('k32499', $positions[23_499])])[0]->done,
            $cold->write([$limit('k32499', $positions[23_499])])[0]->position,
        ]);
        self::assertTrue($cold->write([$limit('k32499', $positions[32_499])])[0]->done);
        self::assertTrue($cold->write([$limit('unknown', $positions[23_499])])[0]->done);
        self::assertSame($start->epoch, $cold->read(['k'])->epoch);
    }

    /** @return iterable<string, array{string}> */
    public static function deaths(): iterable
    {
        yield 'before the file is said to be full' => ['none'];
        yield 'before the next file is there' => ['full'];
        yield 'when the next file is empty' => ['empty'];
        yield 'when the next file has half a header' => ['half'];
        yield 'before the state names the next file' => ['next'];
        yield 'before the oldest file is removed' => ['state'];
    }

    #[DataProvider('deaths')]
    public function testAProcessMayDieBetweenAnyTwoStepsFromOneFileToTheNext(string $death): void
    {
        $old = $this->store();
        $n = 20_000;
        $last = self::remove($this->store(), 0, $n);
        [, $second] = $this->files();
        self::assertSame(10_000, $this->number($second));
        $seen = $old->since($old->since('', 0, '')->epoch, $last, '');
        self::assertSame([true, []], [$seen->complete, $seen->list]);
        // The file is as full as can be: the next writer goes to the next one. Done by hand up to the death:
        $file = JournalFile::open($second, $seen->epoch, $this->base($second));
        self::assertInstanceOf(JournalFile::class, $file);
        $size = $file->size();
        $next = $this->base($second) + $size + JournalFile::FRAME;
        $path = $this->directory->file("log.$seen->epoch.$next");
        $lock = $this->directory->file('lock');
        if ($death !== 'none') {
            $file->put($size, $file->frame($size, 10_001, JournalFile::FULL, '', ''));
        }
        if ($death === 'empty' || $death === 'half') {
            \file_put_contents($path, $death === 'half' ? 'LARDER' : '');
        }
        if ($death === 'next' || $death === 'state') {
            JournalFile::create($path, $seen->epoch, $next);
        }
        if ($death === 'state') {
            $handle = \fopen($lock, 'r+');
            self::assertIsResource($handle);
            $state = State::read($handle);
            self::assertInstanceOf(State::class, $state);
            $state->previous = $state->base;
            $state->base = $next;
            $state->write($handle);
        }
        // Now everybody goes on, readers before writers and after them, with and without a past.
        foreach ([$old, $this->store()] as $reader) {
            $now = $reader->since($seen->epoch, $seen->end, $seen->token);
            self::assertSame([true, []], [$now->complete, $now->list]);
            self::assertGreaterThanOrEqual($seen->end, $now->end);
        }
        $position = self::remove($this->store(), $n, $n + 1);
        self::assertGreaterThan($next, $position);
        foreach ([$old, $this->store()] as $reader) {
            foreach ([$seen, $now] as $since) {
                $changes = $reader->since($since->epoch, $since->end, $since->token);
                self::assertSame([true, [["k$n", $position, self::WRITER, 'd']]], [$changes->complete, $changes->list]);
            }
            self::assertSame($position, $reader->read(['k'])->at);
        }
        $position = self::remove($old, $n + 1, $n + 2);
        self::assertSame($position, $this->store()->since('', 0, '')->end);
        self::assertSame(["k$n", 'k' . $n + 1], \array_column($this->store()->since($seen->epoch, $seen->end, '')->list, 0));
    }

    public function testADamagedFrameBetweenGoodOnesMakesTheLogUnknown(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        self::remove($store, 0, 50);
        [$path] = $this->files();
        $bytes = (string) \file_get_contents($path);
        $bytes[(int) (\strlen($bytes) / 2)] = "\xff";
        \file_put_contents($path, $bytes);
        $changes = $this->store()->since($start->epoch, $start->end, '');
        self::assertFalse($changes->complete);
        self::assertFalse($this->store()->write([new Change('k49', 'v', 'bbbbbbbbbbbb', $start->end)])[0]->done);
    }

    public function testNothingInAKeyPassesForAChange(): void
    {
        $path = $this->directory->file('log');
        self::assertTrue(JournalFile::create($path, self::EPOCH, 0));
        $file = JournalFile::open($path, self::EPOCH, 0);
        self::assertInstanceOf(JournalFile::class, $file);
        $frame = $file->frame(JournalFile::HEADER, 1, 's', self::WRITER, 'k');
        $file->put(JournalFile::HEADER, $frame);
        $end = $file->size();
        self::assertSame(JournalFile::HEADER, $file->last($end));
        // Torn just there where what stands in the key looks like a whole frame at the end of the file.
        $file->put($end, \substr($file->frame($end, 2, 's', self::WRITER, $frame), 0, -4));
        self::assertNull($file->last($file->size()));
        $known = new JournalIndex(0);
        self::assertSame([\strlen($frame), 1, false], $file->scan(JournalFile::HEADER, $known, $file->size()));
        self::assertSame([['k', $end, self::WRITER, 's']], $known->after(0));
    }

    /** The worst that a key may hold: frames of this very log. */
    public function testTornAnywhereNothingInAKeyPassesForAChange(): void
    {
        $store = $this->store();
        $seen = $store->since('', 0, '');
        for ($cut = 1, $last = 1; $cut <= $last; $cut += 3) {
            self::remove($store, $cut, $cut + 2);
            $before = $store->since($seen->epoch, $seen->end, '');
            $path = $this->files()[0];
            $whole = (string) \file_get_contents($path);
            $state = (string) \file_get_contents($this->directory->file('lock'));
            // Of as many bytes as those frames that have been read.
            $hostile = 'key ' . \substr($whole, -120) . \substr($whole, -60);
            $this->store()->write([new Change($hostile, null, 'bbbbbbbbbbbb', kind: 'd')]);
            $torn = \substr((string) \file_get_contents($path), \strlen($whole));
            $last = \strlen($torn) - 1;
            \file_put_contents($path, $whole . \substr($torn, 0, $cut));
            \file_put_contents($this->directory->file('lock'), $state);

            $reader = $this->store();
            self::assertSame($before->list, $reader->since($seen->epoch, $seen->end, '')->list, "torn after $cut bytes");
            $position = self::remove($reader, 5_000 + $cut, 5_001 + $cut);
            $after = $this->store()->since($seen->epoch, $seen->end, '');
            self::assertSame([...$before->list, ['k' . 5_000 + $cut, $position, self::WRITER, 'd']], $after->list, "torn after $cut bytes");
            $store = $this->store();
            $seen = $after;
        }
        self::assertGreaterThan(200, $last);
        self::assertNotEmpty($seen->list);
    }

    /** A missing end is an epoch's end. */
    public function testALogThatAnotherProgramHasCutEndsTheEpoch(): void
    {
        foreach ([0, 5, JournalFile::HEADER, 50, 90] as $left) {
            foreach ([false, true] as $isZeroed) {
                $store = $this->store();
                $store->write([new Change('gone', 'old', self::WRITER)]);
                $running = $this->store();
                $seen = $running->since('', 0, '');
                self::assertSame('old', $running->read(['gone'])->records['gone']->body);
                self::remove($store, 1, 4);
                $store->write([new Change('gone', null, self::WRITER, kind: 'd')]);
                $path = $this->files()[\count($this->files()) - 1];
                $bytes = (string) \file_get_contents($path);
                self::assertGreaterThan($left, \strlen($bytes));
                \file_put_contents($path, $isZeroed ? \str_pad(\substr($bytes, 0, $left), \strlen($bytes), "\0") : \substr($bytes, 0, $left));
                foreach ([$running, $this->store(), $store] as $each) {
                    $slice = $each->since($seen->epoch, $seen->end, $seen->token);
                    self::assertTrue(!$slice->complete || \in_array('gone', \array_column($slice->list, 0), true), "$left bytes");
                    self::assertArrayNotHasKey('gone', $each->read(['gone'])->records, "$left bytes");
                }
            }
        }
    }

    public function testAPositionWithinAChangeIsAnsweredFromTheStart(): void
    {
        $store = $this->store();
        $start = $store->since('', 0, '');
        $positions = [];
        for ($i = 0; $i < 5; $i++) {
            $positions[] = self::remove($store, $i, $i + 1);
        }
        foreach ([$positions[1] - 1, $positions[1] + 3] as $i => $position) {
            $list = $this->store()->since($start->epoch, $position, '')->list;
            self::assertSame($i === 0 ? 'k1' : 'k2', $list[0][0] ?? null);
            self::assertCount($i === 0 ? 4 : 3, $list);
        }
    }

    public function testAnUnknownFileIsNotTheLog(): void
    {
        $path = $this->directory->path;
        $log = new FileJournal($path, self::EPOCH);
        self::assertFalse($log->follow(new State(self::EPOCH, 0, -1, 0, 0, '', 0)));
        self::assertTrue($log->create());
        self::assertTrue($log->follow(new State(self::EPOCH, 0, -1, JournalFile::HEADER, 0, '', 0)));
        \rename("$path/log." . self::EPOCH . '.0', "$path/log.fedcba9876543210.0");
        self::assertFalse((new FileJournal($path, 'fedcba9876543210'))->follow(new State('fedcba9876543210', 0, -1, 0, 0, '', 0)));
    }

    private function base(string $path): int
    {
        return (int) \substr((string) \strrchr($path, '.'), 1);
    }

    /** Number of the last change in a file. */
    private function number(string $path): int
    {
        $file = JournalFile::open($path, \explode('.', \basename($path))[1], $this->base($path));

        return $file === null ? 0 : $file->scan(JournalFile::HEADER, null, $file->size())[1];
    }
}
