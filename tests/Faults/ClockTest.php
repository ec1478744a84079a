<?php

declare(strict_types=1);

namespace Larder\Tests\Faults;

use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\Attributes\TestWith;

/** The wall clock is set back, or forth and back, while processes run. */
#[Group('slow')]
final class ClockTest extends FaultCase
{
    /** So that a busy machine is no reason for a false. */
    private const PATIENT = ['timeout' => 5.0];

    private const HOUR = 3600;

    private static ?Clock $clock = null;
    private static ?Clock $other = null;
    private TemporaryDirectory $directory;
    private RedisServer|MemcachedServer|null $server = null;

    protected function setUp(): void
    {
        self::$clock ??= new Clock();
        self::$clock->set(0);
        $this->directory = new TemporaryDirectory();
        parent::setUp();
    }

    protected function tearDown(): void
    {
        if (isset($this->directory)) {
            parent::tearDown();
        }
        $this->server = null;
    }

    public static function tearDownAfterClass(): void
    {
        self::$clock = self::$other = null;
    }

    /** @return iterable<string, array{string}> */
    public static function engines(): iterable
    {
        yield 'SQLite' => ['sqlite'];
        yield 'Redis' => ['redis'];
        yield 'APCu over SQLite' => ['near'];
    }

    #[DataProvider('engines')]
    public function testWhatHasExpiredDoesNotComeBackToLife(string $engine): void
    {
        $options = $this->options($engine);
        $client = $this->client($options);
        self::assertTrue($client->call('set', 'short', 'v', 1));
        self::assertTrue($client->call('set', 'for ever', 'v'));
        $client->call('refresh');
        self::assertSame('v', $client->call('get', 'short'));
        self::$clock?->set(-self::HOUR);
        self::rest(1.1);
        foreach ([$client, $this->client($options)] as $each) {
            // The second has passed, whatever the clock on the wall says.
            self::assertNull($each->call('get', 'short'));
            self::assertSame('v', $each->call('get', 'for ever'));
        }
        $client->call('refresh');
        self::assertNull($client->call('get', 'short'));
        self::assertTrue($client->call('set', 'short', 'new', 60));
        self::assertSame('new', $this->client($options)->call('get', 'short'));
        self::assertSame([], $client->log());
    }

    #[DataProvider('engines')]
    public function testWhatWasWrittenInTheFutureIsNotOlderThanWhatIsWrittenNow(string $engine): void
    {
        $options = $this->options($engine);
        self::$clock?->set(self::HOUR);
        $client = $this->client($options);
        self::assertTrue($client->call('set', 'k', 'from the future'));
        self::assertTrue($client->call('set', 'ends', 'from the future', 60));
        self::assertTrue($client->call('set', 'tagged', 'from the future', 0, ['t']));
        self::assertTrue($client->call('set', 'deleted', 'from the future'));
        self::$clock?->set(0);
        $now = $this->client($options);
        self::assertSame('from the future', $now->call('get', 'k'));
        self::assertSame('from the future', $now->call('get', 'ends'), 'all judge its minute by one clock');
        self::assertTrue($now->call('set', 'k', 'now'));
        self::assertTrue($now->call('delete', 'deleted'));
        self::assertTrue($now->call('invalidateTags', 't'));
        foreach ([$client, $this->client($options)] as $each) {
            $each->call('refresh');
            self::assertSame('now', $each->call('get', 'k'));
            self::assertNull($each->call('get', 'deleted'));
            self::assertNull($each->call('get', 'tagged'));
        }
        self::assertTrue($now->call('flush'));
        self::assertNull($this->client($options)->call('get', 'k'));
        self::assertTrue($now->call('set', 'k', 'after'));
        self::assertSame('after', $this->client($options)->call('get', 'k'));
    }

    #[DataProvider('engines')]
    public function testABoundedLifeEnds(string $engine): void
    {
        $options = $this->options($engine);
        [$one, $two] = [$this->client($options), $this->client($options)];
        $one->call('get', 'k');
        $two->call('set', 'k', 'two');
        self::assertTrue($one->call('set', 'k', 'one'));
        self::$clock?->set(-self::HOUR);
        self::assertSame('one', $this->client($options)->call('get', 'k'));
        $this->becomes(null, fn(): mixed => $this->client($options)->call('get', 'k'));
        $three = $this->client($options);
        $three->call('get', 'k');
        self::assertTrue($three->call('set', 'k', 'three'));
        self::assertSame('three', $this->client($options)->call('get', 'k'));
    }

    #[DataProvider('engines')]
    public function testALeaseOfTheFutureEnds(string $engine): void
    {
        $options = ['lease' => 1.0] + $this->options($engine);
        self::$clock?->set(self::HOUR);
        $holder = $this->client($options);
        // It computes no more, and is not dead: stopped in the midst of it.
        $holder->send('stall', 'k');
        \usleep(300_000);
        self::$clock?->set(0);
        $waiting = $this->client($options);
        $start = \microtime(true);
        self::assertSame('computed', $waiting->call('remember', 'k', 'computed'));
        self::assertLessThan(8.0, \microtime(true) - $start, 'nobody waits longer than the lease');
        $holder->process->kill();
    }

    #[DataProvider('engines')]
    public function testAnIntentOfTheFutureEnds(string $engine): void
    {
        $options = $this->options($engine);
        self::$clock?->set(self::HOUR);
        $writer = $this->client($options);
        $writer->call('intend', 'k');
        self::$clock?->set(0);
        $reader = $this->client($options);
        self::assertNull($reader->call('get', 'k'));
        // Five seconds, not an hour.
        $this->becomes('v', function () use ($reader, $options): mixed {
            $reader->call('refresh');
            $reader->call('set', 'k', 'v');

            return $this->client($options)->call('get', 'k');
        });
    }

    // Seen to fail: each judged by its own clock, so the fast one took what the slow one held, and what it held itself
    // ended never for others.
    #[DataProvider('engines')]
    #[TestWith(['memcached'])]
    #[TestWith(['file'])]
    public function testALockIsHeldByOneWhateverTheClocksSay(string $engine): void
    {
        $options = $this->options($engine);
        self::$other ??= new Clock();
        self::$other->set(90);
        $slow = $this->client($options);
        $fast = new Client($options + self::PATIENT, environment: self::$other->environment());
        foreach ([[$slow, $fast], [$fast, $slow]] as $i => [$holder, $other]) {
            self::assertTrue($holder->call('add', "lock $i", 'held', 60));
            self::assertFalse($other->call('add', "lock $i", 'held', 60));
            self::assertFalse($other->call('increment', "lock $i"), 'it is no integer, and there');
            // Set forth and back while it is held.
            foreach ([3600, -3600, 0] as $offset) {
                self::$clock?->set($offset);
                self::$other->set(-$offset);
                $other->call('refresh');
                $holder->call('refresh');
                self::assertFalse($other->call('add', "lock $i", 'held', 60), "$offset seconds");
                self::assertFalse($holder->call('add', "lock $i", 'held', 60), "$offset seconds");
            }
            self::$other->set(90);
            // And it ends, for both.
            self::assertTrue($holder->call('add', "short $i", 'held', 1));
            $this->becomes(true, static fn(): mixed => $other->call('add', "short $i", 'held', 60));
            self::assertFalse($holder->call('add', "short $i", 'held', 60));
        }
    }

    /** @param \Closure(): mixed $ask */
    private function becomes(mixed $value, \Closure $ask): void
    {
        $end = \hrtime(true) + 60 * 1_000_000_000;
        while ($ask() !== $value) {
            self::assertLessThan($end, \hrtime(true), 'It takes too long.');
            \usleep(100_000);
        }
        $this->addToAssertionCount(1);
    }

    /** @return array<string, mixed> */
    private function options(string $engine): array
    {
        if ($engine === 'redis') {
            RedisServer::demand();
            $this->server = new RedisServer();
            $options = ['far' => 'redis://' . $this->server->socket];
            $this->keptFile($options);

            return $options;
        }
        if ($engine === 'memcached') {
            if (!MemcachedServer::installed()) {
                self::markTestSkipped('There is no memcached.');
            }
            $this->server = new MemcachedServer();
            $options = ['far' => 'memcached://' . $this->server->address[0]];
            $this->keptFile($options);

            return $options;
        }
        if ($engine === 'file') {
            return ['disk' => 'file://' . $this->directory->path . '/cache'];
        }
        $options = ['disk' => 'sqlite://' . $this->directory->path . '/cache'];

        return $engine === 'near' ? ['near' => 'apcu'] + $options : $options;
    }

    /** @param array<string, mixed> $options */
    private function client(array $options): Client
    {
        return new Client($options + self::PATIENT, environment: self::$clock?->environment() ?? []);
    }
}
