<?php

declare(strict_types=1);

namespace Larder\Tests\Config;

use Larder\Config\Directory;
use Larder\Config\Dsn;
use Larder\Config\Options;
use Larder\Config\StoreFactory;
use Larder\Driver\Redis\Endpoint;
use Larder\Driver\Redis\PhpRedisConnection;
use Larder\Driver\Redis\PredisConnection;
use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\Memcached\MemcachedStore;
use Larder\Store\MemoryStore;
use Larder\Store\Redis\RedisStore;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

#[CoversClass(StoreFactory::class)]
final class StoreFactoryTest extends TestCase
{
    private TemporaryDirectory $root;

    protected function setUp(): void
    {
        $this->root = new TemporaryDirectory();
    }

    /** @return iterable<string, array{string, class-string}> */
    public static function engines(): iterable
    {
        yield 'sqlite' => ['sqlite://%s/d', SqliteStore::class];
        yield 'file' => ['file://%s/d', FileStore::class];
        yield 'memory' => ['memory://', MemoryStore::class];
        yield 'redis' => ['redis://127.0.0.1:1/2', RedisStore::class];
        yield 'predis' => ['predis://127.0.0.1:1', RedisStore::class];
        yield 'memcached' => ['memcached:///nonexistent.sock', MemcachedStore::class];
    }

    /** @param class-string $class */
    #[DataProvider('engines')]
    public function testEachSchemeHasItsEngineAndNoServerIsSpokenToYet(string $dsn, string $class): void
    {
        $options = Options::from(\sprintf($dsn, $this->root->path));

        self::assertInstanceOf($class, StoreFactory::make($options->truth, $options));
    }

    public function testRedisIsReachedAsTheDsnSays(): void
    {
        self::assertEquals(
            [PhpRedisConnection::class, new Endpoint('h', 7, null, 3, 'u', 'p', true, 0.5)],
            $this->endpoint('rediss://u:p@h:7/3?timeout=0.5'),
        );
        self::assertEquals(
            [PredisConnection::class, new Endpoint('h', 6379, null, 0, null, null, true, 0.25)],
            $this->endpoint('predis+tls://h'),
        );
        [$class, $endpoint] = $this->endpoint('redis://:p@/run/redis.sock?db=1');
        self::assertSame(PhpRedisConnection::class, $class);
        self::assertSame(['/run/redis.sock', 1, 'p', false], [$endpoint->socket, $endpoint->db, $endpoint->password?->getValue(), $endpoint->tls]);
    }

    /** @return array{class-string, Endpoint} */
    private function endpoint(string $dsn): array
    {
        $options = Options::from($dsn);
        $store = StoreFactory::make($options->truth, $options);
        $connection = (new \ReflectionProperty($store, 'connection'))->getValue($store);
        self::assertIsObject($connection);
        foreach ((new \ReflectionObject($connection))->getProperties() as $property) {
            $value = $property->getValue($connection);
            if ($value instanceof Endpoint) {
                return [$connection::class, $value];
            }
        }
        self::fail('no endpoint in ' . $connection::class);
    }

    public function testADiskTierWritesPrivateFilesInItsDirectory(): void
    {
        foreach (['sqlite', 'file'] as $scheme) {
            $options = Options::from($scheme . '://' . $this->root->path . '/' . $scheme);
            $store = StoreFactory::make($options->truth, $options);
            self::assertTrue($store->write([new Change('e::k', 'v', '0123456789ab')])[0]->done);

            $files = new \RecursiveIteratorIterator(
                new \RecursiveDirectoryIterator($this->root->path . '/' . $scheme, \FilesystemIterator::SKIP_DOTS),
                \RecursiveIteratorIterator::SELF_FIRST,
            );
            $seen = 0;
            foreach ($files as $file) {
                self::assertInstanceOf(\SplFileInfo::class, $file);
                self::assertSame(0, $file->getPerms() & 0o077, $file->getPathname() . ' is for its owner only');
                $seen++;
            }
            self::assertGreaterThan(1, $seen);
        }
    }

    #[DataProvider('disks')]
    public function testPrefixesDoNotShareKeys(string $scheme): void
    {
        $shop = Options::from($scheme . '://' . $this->root->path . '/d?prefix=shop');
        $blog = Options::from($scheme . '://' . $this->root->path . '/d?prefix=blog');
        $none = Options::from($scheme . '://' . $this->root->path . '/d');
        StoreFactory::make($shop->truth, $shop)->write([new Change('e::k', 'v', '0123456789ab')]);

        self::assertArrayHasKey('e::k', StoreFactory::make($shop->truth, $shop)->read(['e::k'])->records);
        self::assertSame([], StoreFactory::make($blog->truth, $blog)->read(['e::k'])->records);
        self::assertSame([], StoreFactory::make($none->truth, $none)->read(['e::k'])->records);
        self::assertSame($this->root->path . '/d/prefix-shop', StoreFactory::directory($shop->truth, $shop));
        self::assertSame($this->root->path . '/d', StoreFactory::directory($none->truth, $none));
    }

    /** @return iterable<array{string}> */
    public static function disks(): iterable
    {
        yield ['sqlite'];
        yield ['file'];
    }

    public function testADirectoryThatCannotBeMadeIsAFailedPart(): void
    {
        $options = Options::from('file:///proc/larder/cache');

        $this->expectException(Failure::class);
        StoreFactory::make($options->truth, $options);
    }

    public function testWithoutADirectoryItIsTheUsersOwn(): void
    {
        $options = Options::from(['disk' => 'sqlite']);

        self::assertSame(Directory::default(), StoreFactory::directory($options->truth, $options));
        self::assertSame(Directory::default(), StoreFactory::directory(new Dsn('file'), $options));
    }

    public function testLockFilesLieWithTheDiskTier(): void
    {
        $options = Options::from('redis://h?near=sqlite://' . $this->root->path . '/d');

        self::assertSame($this->root->path . '/d', StoreFactory::runtime($options));
        self::assertDirectoryExists($this->root->path . '/d');
    }

    #[RequiresPhpExtension('apcu')]
    public function testTwoTruthsShareNothingInOneApcu(): void
    {
        $mark = static fn(string $dsn): string => StoreFactory::mark(Options::from($dsn));

        self::assertNotSame($mark('file:///a?near=none'), $mark('file:///b?near=none'));
        self::assertNotSame($mark('redis://h/0?near=none'), $mark('redis://h/1?near=none'));
        self::assertNotSame($mark('file:///a?prefix=x'), $mark('file:///a?prefix=y'));
        self::assertNotSame($mark('redis://h?prefix=x'), $mark('redis://h?prefix=y'));
        self::assertSame($mark('file:///a?near=none'), $mark('file:///a'));
    }
}
