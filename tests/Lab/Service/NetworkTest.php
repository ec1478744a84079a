<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Network;
use Larder\Lab\Service\RedisServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\TestCase;

final class NetworkTest extends TestCase
{
    private TemporaryDirectory $parent;
    private Network $network;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-n');
        $directory = Directory::temporary($this->parent->path);
        $this->network = new Network($directory, new RedisServer($directory));
    }

    protected function tearDown(): void
    {
        $this->network->stop();
    }

    public function testAnAnswerTakesARoundTripAndTheReportIsTold(): void
    {
        $this->network->start();
        self::assertSame('Network 0.5 ms round trip, 100 Mbit/s, by a delaying proxy on the loopback', $this->network->version());
        self::assertSame(['host', 'port'], \array_keys($this->network->address()));
        self::assertNotSame($this->network->server->address()['port'], $this->network->address()['port']);
        self::assertCount(2, $this->network->pids());
        $socket = $this->connect();
        for ($i = 0; $i < 20; $i++) {
            $start = \hrtime(true);
            \fwrite($socket, "PING\r\n");
            self::assertSame("+PONG\r\n", \fgets($socket));
            self::assertGreaterThanOrEqual(500_000, \hrtime(true) - $start);
        }
    }

    public function testTheDeathOfTheServerBehindItIsNoticed(): void
    {
        $this->network->start();
        [$pid] = $this->network->server->pids();
        \posix_kill($pid, \SIGKILL);
        Process::ends($pid);
        self::assertFalse($this->network->isAlive());
        self::assertStringStartsWith(' (signal 9', $this->network->lastWords());
        $this->network->start();
        self::assertTrue($this->network->isAlive());
        self::assertSame('', $this->network->lastWords());
        \fwrite($socket = $this->connect(), "PING\r\n");
        self::assertSame("+PONG\r\n", \fgets($socket));
    }

    /** @return resource */
    private function connect()
    {
        $socket = \stream_socket_client('tcp://' . \implode(':', $this->network->address()));
        self::assertNotFalse($socket);

        return $socket;
    }
}
