<?php

declare(strict_types=1);

namespace Larder\Tests\System;

use Larder\Page\FileCopies;
use Larder\Queue\QueueFull;
use Larder\Queue\Retry;
use Larder\Queue\SqliteTransport;
use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\Sqlite\SqliteStore;
use Larder\Store\Store;
use Larder\System\Ownership;
use Larder\System\ServerPolicy;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** What a server's administrator allows at most: read as it is written, obeyed by all that takes room, and only if nobody else wrote it. */
#[CoversClass(ServerPolicy::class)]
final class ServerPolicyTest extends TestCase
{
    private const MEGABYTE = 1 << 20;

    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{string, array<string, int>, list<string>}> text, limits, what is wrong, without the file's name */
    public static function texts(): iterable
    {
        yield 'all keys' => ["segment = 16M\nsegment_total = 2G\ndisk = 500M\nqueue = 102400K\n", ['segment' => 16 << 20, 'segment_total' => 2 << 30, 'disk' => 500 << 20, 'queue' => 100 << 20], []];
        yield 'comments, blanks and line ends' => ["; disk = 1M\r\n# disk = 2M\r\n\r\n  disk=3m  \r\n\tqueue\t=\t1048577", ['disk' => 3 << 20, 'queue' => 1_048_577], []];
        yield 'nothing' => ['', [], []];
        yield 'an unknown key, and the next line counts' => ["dusk = 1M\ndisk = 2M", ['disk' => 2 << 20], ['line 1: there is no key "dusk"; write segment, segment_total, disk, queue']];
        yield 'sections are none' => ["[larder]\ndisk = 2M", ['disk' => 2 << 20], ['line 1: no "key = value"']];
        foreach (['-5', '1T', '1.5G', 'much', '0x100000', '9999999999999999999', '5M ; five', ''] as $value) {
            yield "the size '$value'" => ["\ndisk = $value", [], ["line 2: the size \"$value\" is no number of bytes; write for example disk = 100M"]];
        }
        yield 'too little' => ["disk = 0\nqueue = 10K", ['disk' => self::MEGABYTE, 'queue' => self::MEGABYTE], ['line 1: disk = 0 is less than 1M, which counts instead', 'line 2: queue = 10K is less than 1M, which counts instead']];
        yield 'twice' => ["disk = 2M\ndisk = 1G\n", ['disk' => 2 << 20], ['line 2: disk stands there twice, and the lesser counts']];
        yield 'the greatest' => ['disk = 999999999999G', ['disk' => \PHP_INT_MAX], []];
        yield 'bytes of all kinds' => ["\0\xff\x1b[31m = \xe2\x82\ndisk = 2M", ['disk' => 2 << 20], ["line 1: there is no key \"\0\xff\x1b[31m\"; write segment, segment_total, disk, queue"]];
    }

    /**
     * @param array<string, int> $limits
     * @param list<string>       $wrong
     */
    #[DataProvider('texts')]
    // Seen to fail: without the smaller of two; without the least; a continue for a wrong line that was a break.
    public function testItIsReadLineByLine(string $text, array $limits, array $wrong): void
    {
        [$read, $said] = $this->policy($text)->read();

        self::assertSame($limits, $read);
        self::assertSame(\array_map(fn(string $line): string => $this->directory->file('policy.ini') . ", $line", $wrong), $said);
    }

    public function testWithoutAFileThereIsNoLimit(): void
    {
        $policy = new ServerPolicy($this->directory->file('none.ini'), Ownership::user());

        self::assertSame(1 << 40, $policy->atMost(1 << 40, 'disk'));
        self::assertSame([[], []], $policy->read());
    }

    /** What is below the limit stays, and so does what has none. */
    public function testItOnlyTakesAway(): void
    {
        $policy = $this->policy('disk = 2M');

        self::assertSame([2 << 20, 5, 1 << 40], [$policy->atMost(1 << 40, 'disk'), $policy->atMost(5, 'disk'), $policy->atMost(1 << 40, 'queue')]);
    }

    /** @return iterable<string, array{\Closure(string): mixed, string}> what is done to the file, and what is said of it */
    public static function plants(): iterable
    {
        yield 'a link' => [static fn(string $file): bool => \rename($file, "$file.real") && \symlink("$file.real", $file), '~policy\.ini is no plain file; nothing in it is obeyed$~'];
        yield 'a link to nothing' => [static fn(string $file): bool => \unlink($file) && \symlink('/nowhere', $file), '~policy\.ini is no plain file~'];
        yield 'a directory' => [static fn(string $file): bool => \unlink($file) && \mkdir($file), '~policy\.ini is no plain file~'];
        yield 'a pipe' => [static fn(string $file): bool => \unlink($file) && \posix_mkfifo($file, 0o644), '~policy\.ini is no plain file~'];
        yield 'a file that its group can write' => [static fn(string $file): bool => \chmod($file, 0o664), '~policy\.ini can be written by others: type chmod go-w \S+policy\.ini; nothing~'];
        yield 'a file that all can write' => [static fn(string $file): bool => \chmod($file, 0o646), '~policy\.ini can be written by others~'];
        yield 'a directory that all can write' => [static fn(string $file): bool => \chmod(\dirname($file), 0o777), '~ can be written by others~'];
        if (\posix_geteuid() === 0) {
            yield 'another user\'s' => [static fn(string $file): bool => \chown($file, 65_534), '~policy\.ini belongs to nobody and not to root; nothing~'];
            yield 'in another user\'s directory' => [static fn(string $file): bool => \chown(\dirname($file), 65_534), '~ belongs to nobody and not to root; nothing~'];
        }
    }

    /** @param \Closure(string): mixed $plant */
    #[DataProvider('plants')]
    // Seen to fail: stat() for lstat(); without the look at the mode, the owner and the directory.
    public function testNothingIsObeyedThatAnybodyElseMayHaveWritten(\Closure $plant, string $said): void
    {
        $policy = $this->policy('disk = 2M');
        self::assertSame(2 << 20, $policy->atMost(1 << 30, 'disk'));
        $plant($policy->file);

        self::assertSame(1 << 30, $policy->atMost(1 << 30, 'disk'));
        [$limits, $wrong] = $policy->read();
        self::assertSame([], $limits);
        self::assertCount(1, $wrong);
        self::assertMatchesRegularExpression($said, $wrong[0]);
    }

    /** Only its first part is read: nobody's memory is filled by it. */
    public function testAFileWithoutEndIsNoHarm(): void
    {
        $policy = $this->policy("disk = 2M\n" . \str_repeat('; and so on' . "\n", 500_000));

        self::assertSame([['disk' => 2 << 20], []], $policy->read());
    }

    /** @return iterable<string, array{\Closure(string, ServerPolicy): Store}> */
    public static function stores(): iterable
    {
        yield 'sqlite' => [static fn(string $directory, ServerPolicy $policy): Store => new SqliteStore($directory, 256 << 20, 1.0, $policy)];
        yield 'files' => [static fn(string $directory, ServerPolicy $policy): Store => new FileStore($directory, 256 << 20, 1.0, $policy)];
    }

    /** @param \Closure(string, ServerPolicy): Store $open */
    #[DataProvider('stores')]
    // Seen to fail: the budget asked for, in budget().
    public function testACacheKeepsToIt(\Closure $open): void
    {
        \mkdir($directory = $this->directory->file('cache'), 0o700);
        $store = $open($directory, $this->policy('disk = 2M'));
        for ($i = 0; $i < 400; $i++) {
            $store->write([new Change("e::$i", \str_repeat(\chr(65 + $i % 26), 20_000), 'w')]);
        }
        $store->tidy();
        $stats = $store->stats();

        self::assertSame(2 << 20, $stats['budget']);
        self::assertLessThan((2 << 20) + 300_000, $stats['bytes']);
        self::assertGreaterThan(self::MEGABYTE, $stats['bytes']);
    }

    /** What readers have read stays longer than what nobody has, though what they asked for is far away. */
    // Seen to fail: the budget asked for, in isSpacious().
    #[Group('slow')]
    public function testWhatIsReadCountsAsUsedWhereOnlyThePolicyIsNear(): void
    {
        \mkdir($directory = $this->directory->file('cache'), 0o700);
        $open = fn(): SqliteStore => new SqliteStore($directory, 256 << 20, 1.0, $this->policy('disk = 2M'));
        $store = $open();
        $store->write([new Change('e::read', \str_repeat('r', 20_000), 'w')]);
        for ($i = 0; $i < 60; $i++) {
            $store->write([new Change("e::$i", \str_repeat('x', 20_000), 'w')]);
        }
        $store->tidy();
        for ($i = 0; $i < 4_000; $i++) {
            $reader = $open();
            $reader->read(['e::read']);
            $reader->tidy();
        }
        $database = new \PDO("sqlite:$directory/larder.db");

        self::assertSame(1, $database->query("SELECT used FROM e WHERE k = CAST('e::read' AS BLOB)")?->fetchColumn());
        self::assertSame(0, $database->query("SELECT used FROM e WHERE k = CAST('e::59' AS BLOB)")?->fetchColumn());
    }

    // Seen to fail: without the policy in holds(); without it in renew(), in which the log went on.
    public function testAQueueKeepsToItAndGoesOnWhenItIsEmptier(): void
    {
        \mkdir($directory = $this->directory->file('queue'), 0o700);
        $queue = new SqliteTransport($directory, 'mail', 1_000_000, new Retry(5), false, 5.0, $this->policy('queue = 2M'));
        $message = ['body' => \str_repeat('m', 10_000), 'key' => null, 'delay' => 0, 'priority' => 0, 'stays' => false];
        $pushed = 0;
        try {
            while ($pushed < 1_000) {
                $queue->push([$message]);
                $pushed++;
            }
            self::fail('A thousand messages of 10 kB fit into 2 MB.');
        } catch (QueueFull $full) {
            self::assertStringContainsString('(key "queue" in ' . $this->directory->file('policy.ini') . ')', $full->getMessage());
        }
        self::assertGreaterThan(150, $pushed);
        // A log of pushes is counted when it is in the database.
        self::assertLessThan(260, $pushed);
        self::assertSame($pushed, $queue->size());
        // Whoever claims begins a new log, which has no room.
        foreach ([1, 2, 3] as $_) {
            $queue->claim(1, 60_000);
            try {
                $queue->push([['body' => 'short'] + $message]);
                self::fail('A new log took a message.');
            } catch (QueueFull) {
            }
        }
        foreach ($queue->claim(90, 60_000) as $claim) {
            $queue->acknowledge([[$claim['id'], $claim['token']]]);
        }
        $queue->push([$message]);
        self::assertSame($pushed - 3 - 90 + 1, $queue->size());
    }

    // Seen to fail: the budget asked for.
    public function testThePageCacheKeepsToIt(): void
    {
        $copies = new FileCopies($this->directory->file('copies'), 1 << 30, $this->policy('disk = 2M'));
        $lock = \fopen($this->directory->file('lock'), 'w+');
        self::assertIsResource($lock);
        for ($i = 0; $i < 100; $i++) {
            $copies->put($lock, '0' . \md5((string) $i), ['counter' => 1, 'key' => "k$i", 'id' => 'id', 'vary' => []], [], \str_repeat('p', 10_000), 60);
        }
        $bytes = \array_sum(\array_map(\filesize(...), \glob($this->directory->file('copies/0/*')) ?: []));

        self::assertGreaterThan(0, $bytes);
        self::assertLessThanOrEqual((2 << 20) / FileCopies::SHARDS, $bytes);
    }

    private function policy(string $text): ServerPolicy
    {
        $file = $this->directory->write('policy.ini', $text);
        \chmod($file, 0o644);

        return new ServerPolicy($file, Ownership::user());
    }
}
