<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Cache;
use Larder\SymfonyBundle\Cache\LarderAdapter;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\RedisServer;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversClass;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\Cache\Adapter\AdapterInterface;
use Symfony\Component\Cache\Adapter\FilesystemAdapter;
use Symfony\Component\Cache\Adapter\PdoAdapter;
use Symfony\Component\Cache\Adapter\TagAwareAdapter;

/** Larder's adapter answers as Symfony's own do. */
#[CoversClass(LarderAdapter::class)]
#[Group('bridge')]
final class SideBySideTest extends TestCase
{
    private TemporaryDirectory $root;
    private static ?RedisServer $server = null;

    protected function setUp(): void
    {
        Frameworks::prefer();
        $this->root = new TemporaryDirectory();
    }

    public static function tearDownAfterClass(): void
    {
        self::$server?->stop();
        self::$server = null;
    }

    #[DataProvider('scenes')]
    public function testItAnswersAsSymfonysAdapters(string $scene, string $engine, string $other): void
    {
        \assert(\method_exists(PoolScenes::class, $scene));
        $answers = fn(string $adapter): array => \iterator_to_array(PoolScenes::$scene(fn(int $lifetime): AdapterInterface => $this->$adapter($lifetime)), false);
        self::assertSame($answers($other), $answers($engine));
    }

    /** @return iterable<string, array{string, string, string}> */
    public static function scenes(): iterable
    {
        foreach (['items', 'lists', 'refusals', 'lifetimes', 'deferred', 'prefixes', 'namespaces', 'computations', 'tags'] as $scene) {
            foreach (['sqlite', 'redis'] as $engine) {
                foreach ($scene === 'tags' ? ['wrappedFiles', 'wrappedPdo'] : ['files', 'pdo'] as $other) {
                    yield "$scene over $engine, as $other" => [$scene, $engine, $other];
                }
            }
        }
    }

    private function sqlite(int $lifetime): LarderAdapter
    {
        return new LarderAdapter(Cache::open(['dsn' => 'sqlite://' . $this->root->file('cache'), 'near' => 'none']), 'pool', $lifetime);
    }

    private function redis(int $lifetime): LarderAdapter
    {
        RedisServer::demand();
        self::$server ??= new RedisServer();

        return new LarderAdapter(Cache::open(['dsn' => 'redis://' . self::$server->socket, 'near' => 'none', 'prefix' => \basename($this->root->path)]), 'pool', $lifetime);
    }

    private function files(int $lifetime): FilesystemAdapter
    {
        return new FilesystemAdapter('pool', $lifetime, $this->root->file('files'));
    }

    private function pdo(int $lifetime): PdoAdapter
    {
        return new PdoAdapter('sqlite:' . $this->root->file('pdo'), 'pool', $lifetime);
    }

    private function wrappedFiles(int $lifetime): TagAwareAdapter
    {
        return new TagAwareAdapter($this->files($lifetime), null, 0.0);
    }

    private function wrappedPdo(int $lifetime): TagAwareAdapter
    {
        return new TagAwareAdapter($this->pdo($lifetime), null, 0.0);
    }
}
