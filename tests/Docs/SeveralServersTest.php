<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Cache;
use Larder\Config\Dsn;
use Larder\Console\Doctor\RedisUser;
use Larder\Lock\Lock;
use Larder\Lock\Locks;
use Larder\Queue\Queue;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The examples of docs/several-servers.md, with servers of one's own in the place of the page's. */
#[CoversNothing]
#[Group('slow')]
final class SeveralServersTest extends TestCase
{
    public function testTheFirstFiveLinesWork(): void
    {
        RedisServer::demand();
        $server = new RedisServer(appendOnly: true);
        $code = \str_replace('10.0.0.5:6379', "127.0.0.1:$server->port", $this->blocks()[0], $count);
        self::assertSame([3, 5], [$count, \substr_count($code, "\n")]);
        [$cache, $price, $lock] = self::shared($code);
        self::assertInstanceOf(Cache::class, $cache);
        self::assertSame([1499, null], [$price, $cache->get('price-7')]);
        self::assertInstanceOf(Lock::class, $lock);
        self::assertNull(Locks::open("redis://127.0.0.1:$server->port")->acquire('invoices'));
        self::assertSame('a message', Queue::open("redis://127.0.0.1:$server->port", 'mail')->pop()?->body);
    }

    public function testTheLineOfTheLeastUserIsTheDoctors(): void
    {
        \preg_match('/^ACL SETUSER larder reset on >PASSWORD (.*)$/m', self::page(), $line);
        self::assertSame(\implode(' ', RedisUser::rules(Dsn::parse('redis://h'), 'larder', 'counters')), $line[1] ?? null);
    }

    /** Connections and round trips, which are the same each time, and about so many bytes. */
    public function testTheTableOfWhatARequestCosts(): void
    {
        RedisServer::demand();
        $bench = new Process([\PHP_BINARY, '-d', 'apc.enable_cli=1', '-d', 'larder.state=' . ($directory = new TemporaryDirectory())->path, \dirname(__DIR__, 2) . '/bench/far.php', '--counts']);
        $rows = static function (string $text): array {
            \preg_match_all('/^(\w.*?) {2,}(\d+) +(\d+) +(\d+) +(\d+)$/m', $text, $found, \PREG_SET_ORDER);

            return \array_column(\array_map(static fn(array $row): array => [$row[1], [(int) $row[2], (int) $row[3]], (int) $row[4] + (int) $row[5]], $found), null, 0);
        };
        $measured = $rows($said = $bench->output());
        self::assertSame(0, $bench->wait(), $bench->errors());
        $told = $rows(self::page());
        self::assertGreaterThan(7, \count($told));
        \extension_loaded('apcu') || $told = \array_diff_key($told, ['the same 175 keys, near=apcu' => 0]);
        self::assertSame(\array_map(static fn(array $row): array => $row[1], $told), \array_map(static fn(array $row): array => $row[1], $measured), $said);
        foreach ($told as $name => [, , $bytes]) {
            self::assertEqualsWithDelta($bytes, $measured[$name][2], 0.1 * $bytes, $name);
        }
        \preg_match_all('/^a value of +\d+ bytes takes +(\d+) bytes more$/m', $said, $sizes);
        self::assertCount(3, $sizes[1]);
        self::assertLessThan(400, \max($sizes[1]));
    }

    public function testEachOfTheThreeWorks(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $sentinels = new RedisSentinels();
        $cluster = new RedisCluster();
        $behind = StrictEndpoint::server();
        $single = new StrictEndpoint($behind);
        try {
            $code = $this->blocks()[1];
            foreach ([
                '~redis://[\d.:]+~' => "redis://127.0.0.1:$server->port",
                '~redis\+sentinel://[\d.:,]+/mymaster~' => \rtrim($sentinels->dsn(), '?'),
                '~redis\+cluster://[\d.:,]+~' => \rtrim($cluster->dsn(), '?'),
                '~redis\+single://[\w.:]+~' => $single->dsn(),
            ] as $written => $real) {
                $code = (string) \preg_replace($written, $real, $code, -1, $count);
                self::assertSame(1, $count, $written);
            }
            foreach (self::opened($code) as $i => $cache) {
                self::assertInstanceOf(Cache::class, $cache);
                self::assertTrue($cache->set('k', $i));
                $cache->refresh();
                self::assertSame($i, $cache->get('k'));
            }
            self::assertSame([], $single->refused());
        } finally {
            $sentinels->stop();
            $cluster->stop();
        }
    }

    public function testAClosureGivesThePassword(): void
    {
        RedisServer::demand();
        $server = new RedisServer(config: ['requirepass' => 'first']);
        $password = 'first';
        $asked = 0;
        $open = static function () use ($server, &$password, &$asked): Cache {
            return Cache::open(['dsn' => "redis://127.0.0.1:$server->port", 'near' => 'none', 'credentials' => static function () use (&$password, &$asked): array {
                $asked++;

                return [null, $password];
            }]);
        };
        $cache = $open();
        self::assertTrue($cache->set('k', 1));
        self::assertSame(1, $asked);
        // A connection that stands goes on with what it was opened with.
        $server->command('CONFIG', 'SET', 'requirepass', 'hunter-2');
        self::assertSame(1, $cache->get('k'));
        $password = 'hunter-2';
        self::assertSame(1, $open()->get('k'));
        self::assertSame(2, $asked);
        self::assertStringNotContainsString('hunter-2', \print_r($open(), true));
    }

    /** @return list<mixed> what the page's first lines have made */
    private static function shared(string $code): array
    {
        $cache = $price = $lock = null;
        eval($code);

        return [$cache, $price, $lock];
    }

    private static function page(): string
    {
        return (string) \file_get_contents(__DIR__ . '/../../docs/several-servers.md');
    }

    /** @return list<mixed> the caches that the page opens */
    private static function opened(string $code): array
    {
        $one = $watched = $cluster = $single = null;
        eval($code);

        return [$one, $watched, $cluster, $single];
    }

    /** @return list<string> */
    private function blocks(): array
    {
        \preg_match_all('~^```php\n(.*?)^```~ms', self::page(), $found);

        return $found[1];
    }
}
