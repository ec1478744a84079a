<?php

declare(strict_types=1);

namespace Larder\Tests\Docs;

use Larder\Cache;
use Larder\Tests\Support\RedisCluster;
use Larder\Tests\Support\RedisSentinels;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\StrictEndpoint;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** The examples of docs/several-servers.md, with servers of one's own in the place of the page's. */
#[CoversNothing]
#[Group('slow')]
final class SeveralServersTest extends TestCase
{
    public function testTheFirstLinesWork(): void
    {
        RedisServer::demand();
        $server = new RedisServer();
        $sentinels = new RedisSentinels();
        $cluster = new RedisCluster();
        $behind = StrictEndpoint::server();
        $single = new StrictEndpoint($behind);
        try {
            $code = $this->blocks()[0];
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
        \preg_match_all('~^```php\n(.*?)^```~ms', (string) \file_get_contents(__DIR__ . '/../../docs/several-servers.md'), $found);

        return $found[1];
    }
}
