<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\Options;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\TestCase;

#[CoversClass(Dsn::class)]
#[CoversClass(InvalidConfiguration::class)]
final class DsnTest extends TestCase
{
    /** @return iterable<string, array{string, Dsn, string}> */
    public static function wellFormed(): iterable
    {
        $cases = [
            ['sqlite:///var/cache/app', new Dsn('sqlite', '/var/cache/app'), 'sqlite:///var/cache/app'],
            ['sqlite:///var/cache/app//', new Dsn('sqlite', '/var/cache/app'), 'sqlite:///var/cache/app'],
            ['SQLite:///a', new Dsn('sqlite', '/a'), 'sqlite:///a'],
            ['sqlite://', new Dsn('sqlite'), 'sqlite://'],
            ['file:///a%20b/c%3Fd+e', new Dsn('file', '/a b/c?d+e'), 'file:///a b/c?d+e'],
            ['sqlite:///d?near=apcu&prefix=shop&budget=256M', new Dsn('sqlite', '/d', query: ['near' => 'apcu', 'prefix' => 'shop', 'budget' => '256M']), 'sqlite:///d'],
            ['sqlite:///d?far=redis:///run/r.sock?db=2&', new Dsn('sqlite', '/d', query: ['far' => 'redis:///run/r.sock?db=2']), 'sqlite:///d'],
            ['apcu://', new Dsn('apcu'), 'apcu://'],
            ['memory://', new Dsn('memory'), 'memory://'],
            ['redis://127.0.0.1', new Dsn('redis', '', '127.0.0.1', 6379), 'redis://127.0.0.1:6379/0'],
            ['redis://127.0.0.1/', new Dsn('redis', '', '127.0.0.1', 6379), 'redis://127.0.0.1:6379/0'],
            ['redis://cache.example.org:6380/3', new Dsn('redis', '', 'cache.example.org', 6380, [], 3), 'redis://cache.example.org:6380/3'],
            ['redis://h?db=3', new Dsn('redis', '', 'h', 6379, [], 3), 'redis://h:6379/3'],
            ['redis://[::1]:7000/1', new Dsn('redis', '', '::1', 7000, [], 1), 'redis://[::1]:7000/1'],
            ['redis://[fe80::1%eth0]', new Dsn('redis', '', 'fe80::1%eth0', 6379), 'redis://[fe80::1%eth0]:6379/0'],
            ['redis:///run/redis.sock?db=1', new Dsn('redis', '/run/redis.sock', db: 1), 'redis:///run/redis.sock?db=1'],
            ['redis://:pw@/run/redis.sock', new Dsn('redis', '/run/redis.sock', password: 'pw'), 'redis://:***@/run/redis.sock'],
            ['redis://:p%40%2F%3F#+x@h', new Dsn('redis', '', 'h', 6379, password: 'p@/?#+x'), 'redis://:***@h:6379/0'],
            ['redis://:a@b@h', new Dsn('redis', '', 'h', 6379, password: 'a@b'), 'redis://:***@h:6379/0'],
            ['rediss://user:pass@host', new Dsn('rediss', '', 'host', 6379, [], 0, 'user', 'pass'), 'rediss://user:***@host:6379/0'],
            ['predis://h:1', new Dsn('predis', '', 'h', 1), 'predis://h:1/0'],
            ['predis+tls://h', new Dsn('predis+tls', '', 'h', 6379), 'predis+tls://h:6379/0'],
            ['rediss+single://:pw@cache.example.org:6380', new Dsn('rediss+single', '', 'cache.example.org', 6380, password: 'pw'), 'rediss+single://:***@cache.example.org:6380/0'],
            ['memcached://127.0.0.1:11211,host2:11212', new Dsn('memcached', servers: [['127.0.0.1', 11211], ['host2', 11212]]), 'memcached://127.0.0.1:11211,host2:11212'],
            ['memcached://a,[::1]:5', new Dsn('memcached', servers: [['a', 11211], ['::1', 5]]), 'memcached://a:11211,[::1]:5'],
            ['memcached:///run/mc.sock', new Dsn('memcached', servers: [['/run/mc.sock', 0]]), 'memcached:///run/mc.sock'],
        ];
        foreach ($cases as $case) {
            yield $case[0] => $case;
        }
    }

    #[DataProvider('wellFormed')]
    public function testReadsAndShowsItself(string $text, Dsn $expected, string $shown): void
    {
        $dsn = Dsn::parse($text);

        self::assertEquals($expected, $dsn);
        self::assertSame($shown, $dsn->toString());
        self::assertSame(\str_replace(['predis+tls:', 'predis:'], ['rediss:', 'redis:'], $shown), $dsn->place());
    }

    /** The usual ones are read in a shorter way, which a scheme in capitals does not take. Seen to fail: a database of six digits, a socket of digits. */
    public function testReadsTheUsualOnesAsAllOthers(): void
    {
        $read = static function (string $text): Dsn|string {
            try {
                return Dsn::parse($text);
            } catch (InvalidConfiguration $wrong) {
                return $wrong->getMessage();
            }
        };
        $parts = ['redis.example.org', '127.0.0.1', 'h', '_', '-', '.', '/', '//', '/run/redis.sock', '/run/5', '/5', '5', '05', '123456', ':', ':1', ':0', ':99999', ':6379', ':070', '?db=1', '?timeout=2', '@', 'u:p@', '[::1]', '%2F', "\n", ' ', ','];
        for ($round = 0; $round < 20_000; $round++) {
            $rest = \implode(\array_map(static fn(int $part): string => $parts[$part], (array) \array_rand($parts, \random_int(1, 4))));
            $long = $read("REDIS://$rest");
            self::assertEquals(\is_string($long) ? \str_replace('REDIS://', 'redis://', $long) : $long, $read("redis://$rest"), $rest);
        }
    }

    /** @return iterable<string, array{string, string}> text, part of what the message must say */
    public static function wrong(): iterable
    {
        $cases = [
            ['', 'empty'],
            ['/var/cache', 'Write sqlite:///var/cache'],
            ['C:\\cache', 'Windows path'],
            ['C:/cache', 'Windows path'],
            ['sqlite:///C:/cache', 'Windows path'],
            ['file://D:\\x', 'Windows path'],
            ['\\\\server\\share', 'Windows path'],
            ['redis', 'Write redis://127.0.0.1:6379/0'],
            ['memcached', 'Write memcached://127.0.0.1:11211'],
            ['apcu', 'Write apcu://'],
            ['sqlite', 'Write sqlite:///var/cache/app'],
            ['nonsense', 'it may be a password, so it is not shown'],
            ['redsi', 'Did you mean "redis"?'],
            ['redis:/run/x.sock', 'Write redis:///run/x.sock'],
            ['redis:localhost', 'Write redis://localhost'],
            ['sqlite:/dir', 'Write sqlite:///dir'],
            ['sqlite:dir', 'Write sqlite:///dir'],
            ['memory:', 'Write memory://'],
            ['http:/x', 'lacks the "://"'],
            ['hunter2:12345', '"…" lacks the "://"'],
            ['://x', 'is not a DSN'],
            ['rediz://h', 'Did you mean "redis://"?'],
            ['sqlit:///d', 'Did you mean "sqlite://"?'],
            ['valkey://h', 'Did you mean redis://?'],
            ['tcp://h', 'Did you mean redis://?'],
            ['tls://h', 'Did you mean rediss://?'],
            ['memcache://h', 'Did you mean memcached://?'],
            ['array://', 'Did you mean memory://?'],
            ['https://h', 'Known schemes: sqlite, file, redis'],
            ['segmnt://', 'Did you mean "segment://"?'],
            ['shm://', 'Did you mean segment://?'],
            ['segment://dev/shm/l', 'write three slashes'],
            ['segment:///dev/shm/larder/', 'a segment is a file'],
            ['segment:///segment', 'a segment is a file'],
            ['segment:///dev/shm/larder/segment?bytes=', 'must be a whole number of bytes'],
            ['redis-cluster://a', 'Redis Cluster'],
            ['rediscluster://a,b', 'Redis Cluster'],
            ['redis+sentinel://a', 'which master Sentinel watches'],
            ['redis+sentinel://a/b/c', 'which master Sentinel watches'],
            ['redis+sentinel://', 'it names no server'],
            ['redis+sentinel://a,,b/m', 'a comma too many'],
            ['redis+sentinel://a:x/m', 'its port is not a number'],
            ['redis+cluster://a/1', 'one database, 0'],
            ['redis+single://a,b', 'redis+cluster://'],
            ['rediss+single:///run/redis.sock', 'write redis+single:///run/redis.sock'],
            ['redis+single://', 'it names no server'],
            ['redis+cluster://a?db=2', 'one database, 0'],
            ['redis+cluster:///run/redis.sock', 'it names no server'],
            ['redis-sentinel://a', 'Sentinel'],
            ['redis://a:1,b:2', 'several Redis servers'],
            ['predis://a,b', 'several Redis servers'],
            ['sqlite://dir', 'sqlite:///dir'],
            ['sqlite:///', 'root directory'],
            ['sqlite:////', 'root directory'],
            ['sqlite:///a%00b', 'NUL'],
            ["sqlite:///a\nb", 'control character'],
            ['sqlite:///d?prefix', 'name=value'],
            ['sqlite:///d?=1', 'name=value'],
            ['sqlite:///d?prefix=a&prefix=b', 'twice'],
            ['apcu://host', 'write apcu://'],
            ['memory:///dir', 'write memory://'],
            ['redis://', 'names no server'],
            ['redis:///', 'names no server'],
            ['redis:///0', 'redis://127.0.0.1:6379/0'],
            ['redis://run/redis.sock', 'redis:///run/redis.sock'],
            ['redis://h/x', 'number of a database'],
            ['redis://h/-1', 'number of a database'],
            ['redis://h?db=x', 'not a number'],
            ['redis://h?db=-1', 'not a number'],
            ['redis://h/1?db=1', 'database twice'],
            ['redis://h:0', '1 to 65535'],
            ['redis://h:65536', '1 to 65535'],
            ['redis://h:', '1 to 65535'],
            ['redis://h:6379x', '1 to 65535'],
            ['redis://::1', 'in brackets'],
            ['redis://[::1', 'IPv6'],
            ['redis://[zz]', 'IPv6'],
            ['redis://[::1]x', '1 to 65535'],
            ['redis://h h', 'host name'],
            ['redis://pw@h', 'redis://:password@host'],
            ['redis://user:@h', 'password is empty'],
            ['redis://:a/b@h', '%2F'],
            ['rediss:///run/redis.sock', 'no TLS over a socket'],
            ['redis://h?cafile=/ca.pem', 'write rediss:// or leave them out'],
            ['redis+cluster://h?peer_name=n', 'write rediss+cluster:// or leave them out'],
            ['predis://h?peer_name=n', 'write predis+tls:// or leave them out'],
            ['rediss://h?cafile=ca.pem', 'no absolute path'],
            ['memcached://', 'names no server'],
            ['memcached://a,,b', 'names no server'],
            ['memcached://a,a:11211', 'twice'],
            ['memcached://a/1', 'no databases'],
            ['memcached://u:p@a', 'does not log in'],
        ];
        foreach ($cases as $case) {
            yield \addcslashes($case[0], "\n") => $case;
        }
    }

    #[DataProvider('wrong')]
    public function testSaysWhatIsWrongAndWhatToWriteInstead(string $text, string $says): void
    {
        $this->expectException(InvalidConfiguration::class);
        $this->expectExceptionMessage($says);

        Dsn::parse($text);
    }

    #[DataProvider('withPassword')]
    public function testNoMessageTellsAPassword(string $text): void
    {
        try {
            Dsn::parse($text);
            self::fail('accepted: ' . $text);
        } catch (InvalidConfiguration $e) {
            self::assertStringNotContainsString('hunter2', $e->getMessage());
            foreach ($e->getTrace() as $frame) {
                if (\str_starts_with($frame['class'] ?? '', 'Larder\Config\\')) {
                    self::assertStringNotContainsString('hunter2', \print_r($frame['args'] ?? [], true), $frame['function']);
                }
            }
        }
    }

    /** @return iterable<array{string}> */
    public static function withPassword(): iterable
    {
        yield ['redis://user:hunter2@h:0'];
        yield ['redis://hunter2@h'];
        yield ['redis://:hunter2/x@h'];
        yield ['redis://:hunter2?x@h'];
        yield ['redis://:hunter2@a,b'];
        yield ['redis:user:hunter2@h'];
        yield ['redsi://user:hunter2@h'];
        yield ['redis-cluster://user:hunter2@h'];
        yield ['memcached://user:hunter2@h'];
        yield ['user:hunter2@h'];
        yield ["redis://user:hunter2@h\n"];
        yield ['sqlite://x?secret=hunter2'];
        yield ['sqlite://x?far=redis://:hunter2@h'];
        yield ['sqlite://x?far=redis%3A%2F%2F%3Ahunter2%40h'];
        yield ['redis://h/x?secret=hunter2'];
        yield ['redis://:hunter2@h/x'];
        yield ['redis://:hunter2@h?db=x'];
        yield ['sqlite:///d?secret=hunter2&oops'];
        yield ['sqlite:///d?secret=hunter2&secret=hunter2'];
    }

    /**
     * However a password breaks the DSN, no part of it is in what is said.
     *
     * @param string $shape where the password stands for a *
     */
    #[DataProvider('shapes')]
    public function testNoMessageTellsAPartOfAPassword(string $shape): void
    {
        foreach (['', '/', '?', '@', ':', '#', '%', '&', '=', '?a=', '/0?a=', '@/', '@?', '&x=', ',', '\\', ' ', '%40', '://', "\n", '[', ']', '@h:6379/0?db=1&'] as $between) {
            $text = \str_replace('*', 'hunter' . $between . 'seventwo', $shape);
            if ($between === '://' && $shape[0] === '*') {
                // Then it is a scheme.
                continue;
            }
            foreach ([$text, ['dsn' => $text], ['far' => $text], ['disk' => 'sqlite:///d', 'far' => $text]] as $source) {
                try {
                    Options::from($source);
                } catch (InvalidConfiguration $e) {
                    self::assertStringNotContainsString('hunter', $e->getMessage(), $text);
                    self::assertStringNotContainsString('seventwo', $e->getMessage(), $text);
                    self::assertStringNotContainsString('hunter', \print_r($e->getTrace(), true));
                }
            }
        }
        $this->addToAssertionCount(1);
    }

    /** @return iterable<string, array{string}> */
    public static function shapes(): iterable
    {
        foreach ([
            '*', 'redis://user:*@h:6379/0', 'redis://user:*=1@h', 'redis://:*@h', 'redis://*@h', 'redis://:*', 'redis://user:*', 'redis://h:*', 'redis://user:*@', 'redis://:*@/run/redis.sock',
            'redis://user:*@h:x', 'redis://user:*@h/x', 'redis://user:*@h?oops', 'redis://user:*@a,b', 'redis://user:*@h:1:2', 'redis://user:*@[::1', 'redis://user:*@h h',
            'rediss://user:*@/run/x', 'redis:user:*@h', 'redis:*@h', 'redis:/:*@h', 'redis//:*@h', 'redis:://:*@h', '//user:*@h', '/user:*@h', 'user:*@h', ':*@h', '*@h', '*@redis://h', 'user:*@redis://h', 'user:*',
            'redsi://user:*@h', 'redis-cluster://:*@a', 'redis+sentinel://:*@a', 'memcached://user:*@h', 'memcached://:*', 'memcached://h,user:*', 'sqlite://user:*@h', 'sqlite://user:*', 'file://*@h', 'apcu://:*@h',
            'segment://user:*@h', 'http://user:*@h/', 'C:\\:*@h', 'sqlite:///d?secret=*', 'sqlite:///d?secret=*&secret=*', 'sqlite:///d?far=redis://:*@h', 'sqlite:///d?far=redis://:*', 'sqlite:///d?far=redis%3A%2F%2F%3A*%40h', 'sqlite:///d?secert=*',
            'redis://h?password=*', 'redis://h?auth=*', 'redis://h?db=*', 'redis://h/0?secret=*&oops', 'redis://:*@h?db=x&secret=*',
        ] as $shape) {
            yield $shape => [$shape];
        }
    }

    public function testWhatIsPrintedOfADsnHasNoPassword(): void
    {
        $options = Options::from(['far' => 'redis://user:hunter2@h', 'secret' => 'hunter3']);
        foreach ([\print_r($options, true), \print_r($options->far, true)] as $text) {
            self::assertStringNotContainsString('hunter', $text);
            self::assertStringContainsString('user', $text);
        }
    }
}
