<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\MemcachedServer;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\ServiceFailure;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

#[Group('slow')]
final class ServerTest extends TestCase
{
    private TemporaryDirectory $parent;
    private Directory $directory;

    /** @var list<Server> */
    private array $servers = [];

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-v');
        $this->directory = Directory::temporary($this->parent->path);
    }

    protected function tearDown(): void
    {
        foreach ($this->servers as $server) {
            $server->stop();
        }
    }

    /** @return iterable<string, array{'redis'|'memcached'}> */
    public static function kinds(): iterable
    {
        yield 'Redis' => ['redis'];
        yield 'Memcached' => ['memcached'];
    }

    /** @param 'redis'|'memcached' $kind */
    #[DataProvider('kinds')]
    public function testAPortThatIsTakenIsLeftToItsOwner(string $kind): void
    {
        // One that answers in the same protocol, so that an answer alone tells nothing.
        $owner = $this->server($kind);
        $owner->start();
        $taken = (int) $owner->address()['port'];
        $tried = [];
        $server = $this->server($kind, static function () use (&$tried, $taken): int {
            $tried[] = \count($tried) < 2 ? $taken : Place::freePort();

            return \end($tried);
        });
        $server->start();
        self::assertGreaterThanOrEqual(3, \count($tried));
        self::assertSame(\end($tried), $server->address()['port']);
        self::assertNotSame($taken, $server->address()['port']);
        self::assertTrue($owner->isAlive() && $server->isAlive());
        self::assertNotSame($owner->pid(), $server->pid());
    }

    /** @param 'redis'|'memcached' $kind */
    #[DataProvider('kinds')]
    public function testWithoutAnyFreePortItSaysSo(string $kind): void
    {
        $listener = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertNotFalse($listener);
        $taken = (int) \substr((string) \strrchr((string) \stream_socket_get_name($listener, false), ':'), 1);
        $tries = 0;
        $server = $this->server($kind, static function () use (&$tries, $taken): int {
            $tries++;

            return $taken;
        });
        try {
            $server->start();
            self::fail('It cannot listen.');
        } catch (ServiceFailure $failure) {
            self::assertMatchesRegularExpression('/^\S+ does not start: .*in use/s', $failure->getMessage());
        }
        self::assertSame(5, $tries);
        self::assertFalse($server->isAlive());
        self::assertSame([], \glob($this->directory->file('*')));
    }

    /** @param 'redis'|'memcached' $kind */
    #[DataProvider('kinds')]
    public function testStartsAndStopsAsOftenAsToldAndOnceAtATime(string $kind): void
    {
        $server = $this->server($kind);
        self::assertSame([\ucfirst($kind), 0, false, ''], [$server->version(), $server->pid(), $server->isAlive(), $server->lastWords()]);
        $server->stop();
        $server->start();
        $pid = $server->pid();
        $server->start();
        self::assertSame($pid, $server->pid());
        self::assertMatchesRegularExpression('/^' . \ucfirst($kind) . ' \d+\.\d+\.\d+/', $server->version());
        $server->stop();
        self::assertTrue(Process::ends($pid, 0.0));
        self::assertSame([], \glob($this->directory->file('*')));
        self::assertSame('', $server->lastWords());
        $server->start();
        self::assertNotSame($pid, $server->pid());
    }

    /** @param ?\Closure(): int $ports */
    private function server(string $kind, ?\Closure $ports = null): Server
    {
        return $this->servers[] = $kind === 'redis'
            ? new RedisServer($this->directory, ports: $ports)
            : new MemcachedServer($this->directory, false, ports: $ports);
    }
}
