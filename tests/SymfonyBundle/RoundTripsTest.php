<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Cache;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Cache\Adapter\TagAwareAdapter;

/** What pools cost over Redis, counted by the server. */
#[CoversClass(LarderAdapter::class)]
#[Group('bridge')]
final class RoundTripsTest extends TestCase
{
    private RedisServer $server;
    private Cache $cache;

    /** @var list<string> */
    private array $keys;

    protected function setUp(): void
    {
        Frameworks::prefer();
        RedisServer::demand();
        $this->server = new RedisServer();
        $this->keys = \array_map(static fn(int $i): string => "product_$i", \range(1, 175));
        // The first use of a pool makes the marker of its flush.
        $this->begin()->getItem('first');
    }

    protected function tearDown(): void
    {
        if (isset($this->server)) {
            unset($this->cache);
            $this->server->stop();
        }
    }

    public function testATaggedListIsReadInOneRoundTripAndStoredInTwo(): void
    {
        $pool = $this->begin();
        $items = [...$pool->getItems($this->keys)];
        foreach ($items as $key => $item) {
            $pool->saveDeferred($item->set(['id' => $key])->tag([$key, 'catalogue'])->expiresAfter(100 + \strlen($key)));
        }
        self::assertLessThanOrEqual(2, $this->trips(static fn() => self::assertTrue($pool->commit())));

        // Another request, with all that it does to begin.
        $pool = $this->begin();
        $hits = 0;
        self::assertSame(1, $this->trips(function () use ($pool, &$hits): void {
            foreach ($pool->getItems($this->keys) as $key => $item) {
                $hits += (int) ($item->isHit() && $item->get() === ['id' => $key] && isset($item->getMetadata()['tags'][$key]));
            }
        }));
        self::assertSame(175, $hits);
        foreach ($pool->getItems($this->keys) as $item) {
            $pool->saveDeferred($item->set(1)->tag([$item->getKey(), 'catalogue']));
        }
        self::assertSame(1, $this->trips(static fn() => $pool->commit()));
        self::assertSame(1, $this->trips(static fn() => $pool->invalidateTags(['catalogue'])));
        self::assertFalse($this->begin()->hasItem('product_1'));
    }

    /** What FrameworkBundle puts around other adapters looks each tag up a second time. */
    public function testTheWrapperThatIsTakenOffCostsMore(): void
    {
        $save = static function (TagAwareAdapter|LarderAdapter $pool): void {
            $pool->save($pool->getItem('key')->set(1)->tag('t'));
        };
        $read = fn(\Closure $pool): int => $this->trips(static fn() => self::assertTrue($pool()->getItem('key')->isHit()));
        $save(new TagAwareAdapter($this->begin()));
        $wrapped = $read(fn(): TagAwareAdapter => new TagAwareAdapter($this->begin()));
        $save($this->begin());
        $native = $read($this->begin(...));
        self::assertSame(1, $native);
        self::assertGreaterThan($native, $wrapped);
    }

    public function testAHitAndAMissOfGet(): void
    {
        $pool = $this->begin();
        // The read and the lease, then the value and the lease's end in one.
        self::assertLessThanOrEqual(3, $this->trips(static fn() => $pool->get('key', static fn(): int => 1)));
        $pool = $this->begin();
        self::assertSame(1, $this->trips(static fn() => self::assertSame(1, $pool->get('key', static fn(): int => 2))));
        self::assertSame(0, $this->trips(static fn() => $pool->get('key', static fn(): int => 2)));
    }

    /** A new request, whose connection stands; the bundle opens its caches so. */
    private function begin(): LarderAdapter
    {
        unset($this->cache);
        $this->cache = Cache::open(['dsn' => "redis://{$this->server->socket}", 'near' => 'none', 'lazy' => true]);

        return new LarderAdapter($this->cache, 'pool');
    }

    /**
     * A round trip is at least one read of the server from its clients, and at least one write to them. Large ones are more,
     * of one of the two.
     */
    private function trips(\Closure $do): int
    {
        $before = $this->events();
        $do();
        $after = $this->events();

        // Without those of asking.
        return \min($after[0] - $before[0], $after[1] - $before[1]) - 1;
    }

    /** @return array{int, int} reads and writes of the server until now */
    private function events(): array
    {
        $text = $this->server->command('INFO', 'stats');
        self::assertIsString($text);
        self::assertSame(1, \preg_match('/total_reads_processed:(\d+)\s+total_writes_processed:(\d+)/', $text, $match), $text);

        return [(int) $match[1], (int) $match[2]];
    }
}
