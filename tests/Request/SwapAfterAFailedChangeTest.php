<?php

declare(strict_types=1);

namespace Larder\Tests\Request;

use Larder\Cache;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;
use Psr\Log\NullLogger;

/**
 * A request's change failed, and is kept until the store can make it. A request that has begun before swaps then: it must not
 * be told of something that the kept change takes away later.
 */
final class SwapAfterAFailedChangeTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory();
    }

    /** @return iterable<string, array{callable(Cache): bool}> */
    public static function changes(): iterable
    {
        yield 'delete' => [static fn(Cache $cache): bool => $cache->delete('k')];
        yield 'flush' => [static fn(Cache $cache): bool => $cache->flush()];
        yield 'tag' => [static fn(Cache $cache): bool => $cache->invalidateTags('tag')];
        yield 'set' => [static fn(Cache $cache): bool => $cache->set('k', \str_repeat('x', 20000))];
    }

    #[DataProvider('changes')]
    public function testTwoRequestsDoNotBothGetALock(callable $change): void
    {
        $first = $this->open();
        $second = $this->open();
        $first->get('k');
        $second->get('k');
        self::assertFalse($this->whileAnotherWrites(static fn(): bool => $change($first)));
        self::assertTrue($second->add('k', 'second', 60));
        self::assertFalse($this->open()->add('k', 'third', 60));
        self::assertSame('second', $this->open()->get('k'));
    }

    #[DataProvider('changes')]
    public function testNothingIsComputedFromTheValueBefore(callable $change): void
    {
        $first = $this->open();
        $first->set('k', 5, 0, ['tag']);
        $first->refresh();
        $first->get('k');
        $second = $this->open();
        $second->get('k');
        self::assertFalse($this->whileAnotherWrites(static fn(): bool => $change($first)));
        self::assertNull($second->update('k', static fn(mixed $value): mixed => $value + 1));
        self::assertSame(1, $second->increment('k', initial: 0));
        self::assertSame(1, $this->open()->get('k'));
    }

    /** Runs $work while the store's files are locked, as by a process that has stopped. */
    private function whileAnotherWrites(callable $work): mixed
    {
        $locks = [];
        foreach (\glob($this->directory->file('cache') . '/bell.*') ?: [] as $file) {
            $locks[] = $lock = \fopen($file, 'r+');
            self::assertNotFalse($lock);
            self::assertTrue(\flock($lock, \LOCK_EX));
        }
        self::assertCount(1, $locks);

        return $work();
    }

    private function open(): Cache
    {
        return Cache::open(['dsn' => 'sqlite://' . $this->directory->file('cache'), 'near' => 'none', 'timeout' => 0.05, 'logger' => new NullLogger()]);
    }
}
