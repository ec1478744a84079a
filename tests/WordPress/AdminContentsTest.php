<?php

declare(strict_types=1);

namespace Larder\Tests\WordPress;

use Larder\WordPress\Admin\Contents;
use PHPUnit\Framework\TestCase;

final class AdminContentsTest extends TestCase
{
    public function testSumsByGroupAndTheLargestKeys(): void
    {
        $contents = Contents::look(self::entries([
            ['s/c/options', 'alloptions', 5000], ['s/c/options', 'notoptions', 100], ['s/p/shop', 'a', 70], ['s/p/a/b', 'of a name with a slash', 9000],
            ['~larder', 'hour-1', 100_000], ['elsewhere', 'b', 100_000],
        ]));

        self::assertSame([4, 14_170], [$contents->entries, $contents->bytes]);
        self::assertSame([['a/b', 1, 9000], ['options', 2, 5100], ['shop', 1, 70]], \array_map(static fn(array $group): array => [$group['group'], $group['entries'], $group['bytes']], $contents->groups));
        self::assertSame(['of a name with a slash', 'alloptions', 'notoptions', 'a'], \array_column($contents->keys, 'key'));
        self::assertTrue($contents->complete);
    }

    public function testASiteOfANetworkSeesItself(): void
    {
        $entries = [['s/2/c/options', 'of two', 20], ['s/22/c/options', 'of twenty-two', 30], ['s/g/c/users', 'of all', 40], ['s/2/p/shop', 'too', 5]];

        $two = Contents::look(self::entries($entries), '2');
        $all = Contents::look(self::entries($entries));

        self::assertSame(['of two', 'too'], \array_column($two->keys, 'key'));
        self::assertSame(['options', 'shop'], \array_column($two->groups, 'group'));
        self::assertSame([4, 95], [$all->entries, $all->bytes]);
        self::assertSame(['g', '22', '2', '2'], \array_column($all->groups, 'site'));
    }

    public function testOfAKeyThatIsANumberTheNameStays(): void
    {
        self::assertSame(['17'], \array_column(Contents::look(self::entries([['s/c/posts', '17', 1]]))->keys, 'key'));
    }

    public function testMoreThanAllowedIsASample(): void
    {
        $read = 0;
        $many = static function () use (&$read): iterable {
            for (; $read < 10_000; $read++) {
                yield "key-$read" => ['size' => $read, 'age' => 1.0, 'ttl' => null, 'group' => 's/c/posts'];
            }
        };

        $contents = Contents::look($many(), most: 5000, seconds: 3600);

        self::assertSame([false, 5000, 5000], [$contents->complete, $contents->entries, $read]);
        self::assertCount(20, $contents->keys);
        self::assertSame(['key-4999', 'key-4980'], [$contents->keys[0]['key'], $contents->keys[19]['key']]);
    }

    public function testWhatTakesTooLongIsASample(): void
    {
        $contents = Contents::look(self::entries([['s/c/a', 'b', 1], ['s/c/a', 'c', 1]]), seconds: -1.0);

        self::assertSame([false, 0], [$contents->complete, $contents->entries]);
    }

    public function testWhatIsExactlyAsMuchAsAllowedIsAll(): void
    {
        self::assertTrue(Contents::look(self::entries([['s/c/a', 'b', 1], ['s/c/a', 'c', 1]]), most: 2)->complete);
    }

    /**
     * @param list<array{string, string, int}> $rows group, key, size
     *
     * @return iterable<array-key, array{size: int, age: float, ttl: ?float, group: string}>
     */
    private static function entries(array $rows): iterable
    {
        foreach ($rows as [$group, $key, $size]) {
            yield $key => ['size' => $size, 'age' => 1.0, 'ttl' => null, 'group' => $group];
        }
    }
}
