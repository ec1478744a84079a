<?php

declare(strict_types=1);

namespace Larder\Tests\Driver;

use Larder\Cache;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\RedisServer;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\TestWith;
use PHPUnit\Framework\TestCase;

/** PHP destroys what a script still holds in the order in which it was made: connections before what was made later. */
#[CoversNothing]
final class EndOfScriptTest extends TestCase
{
    // Seen to fail: Predis's destructor had closed the connection.
    #[TestWith(['redis'])]
    #[TestWith(['predis'])]
    public function testADestructorStillWrites(string $scheme): void
    {
        if (RedisServer::program() === null || ($scheme === 'redis' && !\extension_loaded('redis'))) {
            self::markTestSkipped('There is no Redis, or no phpredis.');
        }
        $server = new RedisServer();
        $dsn = "$scheme://$server->socket?timeout=5";
        $process = new Process([\PHP_BINARY, '-r', \sprintf(
            'require %s; $cache = Larder\Cache::open(%s); $cache->get("key");'
            . ' $late = new class ($cache) { public function __construct(private $cache) {} public function __destruct() { var_dump($this->cache->set("key", "value")); } };'
            . ' $keep = [$cache, $late];',
            \var_export(\dirname(__DIR__, 2) . '/vendor/autoload.php', true),
            \var_export($dsn, true),
        )]);

        self::assertSame(0, $process->wait());
        self::assertSame(['', "bool(true)\n"], [$process->errors(), $process->output()]);
        self::assertSame('value', Cache::open($dsn)->get('key'));
    }
}
