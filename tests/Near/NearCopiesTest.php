<?php

declare(strict_types=1);

namespace Larder\Tests\Near;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

/** Which copies of a near tier a get takes, whatever form they have there. */
final class NearCopiesTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{string}> */
    public static function nears(): iterable
    {
        yield 'apcu' => ['apcu'];
        yield 'segment' => ['segment'];
    }

    /** @return iterable<string, array{string, int, mixed}> the near tier, seconds until the value expires, the value */
    public static function copies(): iterable
    {
        foreach (self::nears() as [$near]) {
            foreach (['for ever' => 0, 'for an hour' => 3600] as $life => $ttl) {
                foreach (['a string' => 'old', 'a long string' => \str_repeat('old', 1000), 'an array' => ['old', [1]], 'a number' => 7, 'null' => null, 'an object' => (object) ['a' => 1]] as $what => $value) {
                    yield "$near, $what $life" => [$near, $ttl, $value];
                }
            }
        }
    }

    #[DataProvider('copies')]
    public function testItIsTheValue(string $near, int $ttl, mixed $value): void
    {
        $this->open($near)->set('k', $value, $ttl);
        $reader = $this->open($near);
        self::assertSame(\serialize($value), \serialize($reader->get('k', 'none')));
        self::assertSame(\serialize($value), \serialize($reader->get('k', 'none')));
        self::assertSame(0, $reader->stats(false)['disk']['hits']);
    }

    #[DataProvider('copies')]
    public function testNoneIsTakenFromBeforeAFlush(string $near, int $ttl, mixed $value): void
    {
        $writer = $this->open($near);
        $writer->set('k', $value, $ttl);
        $writer->writeFills();
        $reader = $this->open($near);
        self::assertSame(\serialize($value), \serialize($reader->get('k', 'none')));
        $reader->flush();
        self::assertSame('none', $reader->get('k', 'none'));
        $writer->refresh();
        self::assertSame('none', $writer->get('k', 'none'));
    }

    /** Otherwise a set after it would be judged as if this request had read an older value. */
    #[DataProvider('copies')]
    public function testOneThatIsNewerThanTheRequestCountsAsReadNow(string $near, int $ttl, mixed $value): void
    {
        $request = $this->open($near);
        $request->get('another key');
        $other = $this->open($near);
        $other->set('k', $value, $ttl);
        $other->writeFills();
        self::assertSame(\serialize($value), \serialize($request->get('k', 'none')));
        self::assertTrue($request->set('k', 'made from it'));
        $request->writeFills();
        self::assertSame('made from it', $this->open($near)->get('k', 'none'));
    }

    #[DataProvider('nears')]
    public function testNoneOutlivesItsExpiry(string $near): void
    {
        $writer = $this->open($near);
        $reader = $this->open($near);
        $values = $none = [];
        foreach (self::copies() as $name => [$of, $ttl, $value]) {
            if ($of === $near) {
                $writer->set("short, $name", $value, 1);
                $writer->set($name, $value, $ttl);
                $values[$name] = \serialize($value);
                $none[$name] = \serialize('none');
            }
        }
        $writer->writeFills();
        $read = static function (Cache $cache, string $prefix) use ($values): array {
            foreach ($values as $name => $_) {
                $values[$name] = \serialize($cache->get($prefix . $name, 'none'));
            }

            return $values;
        };
        $reader->refresh();
        $second = $this->open($near);
        self::assertSame([$values, $values], [$read($reader, 'short, '), $read($reader, '')]);
        \usleep(1_010_000);
        foreach ([$reader, $second] as $each) {
            self::assertSame([$none, $values], [$read($each, 'short, '), $read($each, '')]);
        }
    }

    /** A set waits in the log at first, and the copy before it may lie in the near tier as long. */
    #[DataProvider('nears')]
    public function testAChangeThatWaitsHidesTheCopyBeforeIt(string $near): void
    {
        $group = static fn(Cache $cache): Cache => $cache->group('g');
        $first = $this->open($near);
        $first->setMultiple(['set' => 'old', 'deleted' => 'old', 'killed' => 'old']);
        $group($first)->set('k', 'old');
        $first->writeFills();
        $request = $this->open($near);
        $read = static fn(Cache $cache): array => [$cache->get('set'), $cache->get('deleted'), $cache->get('killed'), $group($cache)->get('k')];
        self::assertSame(['old', 'old', 'old', 'old'], $read($request));
        $request->refresh();

        $request->set('set', 'new');
        $request->delete('deleted');
        // Nobody holds this group's cache any longer when it is asked again.
        $group($request)->set('k', 'new');
        $request->forget();
        self::assertSame(['new', null, 'old', 'new'], $read($request));
        $child = \pcntl_fork();
        if ($child === 0) {
            $killed = $this->open($near);
            $killed->get('killed');
            $killed->set('killed', 'new');
            \posix_kill(\getmypid(), \SIGKILL);
        }
        \pcntl_waitpid($child, $status);
        self::assertTrue(\pcntl_wifsignaled($status));
        self::assertSame(['new', null, 'new', 'new'], $read($this->open($near)));
    }

    /** @return iterable<string, array{string, callable(Cache): mixed, mixed}> the near tier, a change of "k" that cannot wait in the log, the value then */
    public static function changesThatDoNotWait(): iterable
    {
        $changes = [
            'a set with a tag' => [static fn(Cache $cache): bool => $cache->set('k', 'second', 0, ['tag']), 'second'],
            'a long set' => [static fn(Cache $cache): bool => $cache->set('k', \str_repeat('second', 5000)), \str_repeat('second', 5000)],
            'several sets' => [static fn(Cache $cache): bool => $cache->setMultiple(['k' => 'second', 'other' => 1]), 'second'],
            'a delete' => [static fn(Cache $cache): bool => $cache->deleteMultiple(['k']), null],
            'an intent' => [static fn(Cache $cache): mixed => $cache->intend('k'), null],
            'a transaction' => [static fn(Cache $cache): mixed => $cache->transaction(static fn(): bool => $cache->set('k', 'second')), 'second'],
            'an update' => [static fn(Cache $cache): mixed => $cache->update('k', static fn(mixed $value): ?string => $value === 'first' ? 'second' : null), 'second'],
        ];
        foreach (self::nears() as [$near]) {
            foreach ($changes as $what => [$change, $value]) {
                yield "$near, $what" => [$near, $change, $value];
            }
        }
    }

    /** The first change is applied before the second, and its outcome is asked for afterwards. */
    #[DataProvider('changesThatDoNotWait')]
    public function testAChangeThatDoesNotWaitHidesTheOneBeforeThatDid(string $near, callable $change, mixed $value): void
    {
        foreach ([false, true] as $isInTheWay) {
            $request = $this->open($near);
            $request->set('k', 'first');
            // Another's change between the two: the key has no value then, or that of a request that has read it.
            $isInTheWay && $this->open($near)->set('k', 'foreign');
            $change($request);
            $request->writeFills();
            $request->increment('n');
            $request->forget();
            self::assertNotSame('first', $request->get('k'));
            $isInTheWay || self::assertSame($value, $request->get('k'));
            self::assertNotSame('first', $this->open($near)->get('k'));
            unset($request);
            $this->open($near)->flush();
        }
    }

    /** What is filled may have been computed before the set, so the set counts, near and below. */
    #[DataProvider('nears')]
    public function testAFillOfAKeyThatThisRequestHasSetIsRefused(string $near): void
    {
        $request = $this->open($near);
        self::assertNull($request->get('k'));
        $request->set('k', 'set');
        self::assertFalse($request->fill('k', 'filled'));
        self::assertSame('set', $request->get('k'));
        self::assertSame('set', $this->open($near)->get('k'));
        $request->writeFills();
        self::assertSame('set', $this->open($near)->get('k'));
    }

    private function open(string $near): Cache
    {
        if ($near === 'segment' ? !\extension_loaded('larder') : !\function_exists('apcu_enabled') || !\apcu_enabled()) {
            self::markTestSkipped("This PHP has no $near.");
        }

        return Cache::open(['dsn' => 'sqlite://' . $this->directory->file('cache'), 'near' => $near, 'prefix' => \basename($this->directory->path)]);
    }
}
