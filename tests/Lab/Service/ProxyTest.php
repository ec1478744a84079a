<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Network;
use Larder\Lab\Service\Service;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use Larder\Tests\Support\Wait;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;

/** Both ends of every connection are this process's. */
#[Group('slow')]
final class ProxyTest extends TestCase
{
    private TemporaryDirectory $parent;
    private Network $network;
    private string $address;

    /** @var resource */
    private $listener;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-x');
        $listener = \stream_socket_server('tcp://127.0.0.1:0');
        self::assertNotFalse($listener);
        $this->listener = $listener;
        $server = $this->createConfiguredStub(Service::class, [
            'isAlive' => true,
            'address' => ['host' => '127.0.0.1', 'port' => (int) \substr((string) \strrchr((string) \stream_socket_get_name($listener, false), ':'), 1)],
        ]);
        $this->network = new Network(Directory::temporary($this->parent->path), $server);
        $this->network->start();
        $this->address = 'tcp://' . \implode(':', $this->network->address());
    }

    protected function tearDown(): void
    {
        $this->network->stop();
    }

    /** What physics gives; nothing says how much later, for other processes run too. */
    public function testNothingArrivesTooEarly(): void
    {
        for ($i = 0; $i < 30; $i++) {
            $start = \hrtime(true);
            [$client, $server] = $this->connect();
            \fwrite($client, 'a');
            self::assertSame('a', \fread($server, 10));
            // The round trip of TCP's own beginning, and the way there.
            self::assertGreaterThanOrEqual(750_000, \hrtime(true) - $start);
        }
        for ($i = 0; $i < 100; $i++) {
            $start = \hrtime(true);
            \fwrite($client, 'b');
            self::assertSame('b', \fread($server, 10));
            $middle = \hrtime(true);
            \fwrite($server, 'c');
            self::assertSame('c', \fread($client, 10));
            self::assertGreaterThanOrEqual(250_000, $middle - $start);
            self::assertGreaterThanOrEqual(500_000, \hrtime(true) - $start);
        }
    }

    public function testAMegabyteAndAQuarterTakesATenthOfASecond(): void
    {
        [$client, $server] = $this->connect();
        foreach ([[$client, $server], [$server, $client]] as [$from, $to]) {
            $start = \hrtime(true);
            self::move([[$from, $to, \random_bytes(1_250_000)]]);
            self::assertGreaterThanOrEqual(100_000_000, \hrtime(true) - $start);
        }
    }

    public function testConnectionsShareTheLine(): void
    {
        $transfers = [];
        for ($i = 0; $i < 10; $i++) {
            [$client, $server] = $this->connect();
            $transfers[] = [$client, $server, \random_bytes(125_000)];
        }
        $start = \hrtime(true);
        self::move($transfers);
        self::assertGreaterThanOrEqual(100_000_000, \hrtime(true) - $start);
    }

    public function testTenMegabytesArriveAsTheyWereSentBothWays(): void
    {
        $transfers = [];
        for ($i = 0; $i < 4; $i++) {
            [$client, $server] = $this->connect();
            $transfers[] = [$client, $server, \random_bytes(2_500_000)];
            $transfers[] = [$server, $client, \random_bytes(2_500_000)];
        }
        self::move($transfers);
    }

    public function testWhatComesAfterTheEndOfOneDirectionArrives(): void
    {
        [$client, $server] = $this->connect();
        \fwrite($client, 'question');
        \stream_socket_shutdown($client, \STREAM_SHUT_WR);
        self::assertSame('question', \stream_get_contents($server));
        self::assertTrue(\feof($server));
        $answer = \random_bytes(300_000);
        self::move([[$server, $client, $answer]]);
        \fclose($server);
        self::assertSame('', \stream_get_contents($client));
        self::assertTrue(\feof($client));
    }

    public function testASlowReaderStopsItsWriterAndNobodyElse(): void
    {
        [$client, $server] = $this->connect();
        [$other, $far] = $this->connect();
        \stream_set_blocking($server, false);
        // More than the kernel's own buffers can ever hold (tcp(7), tcp_rmem and tcp_wmem).
        $piece = \random_bytes(1 << 16);
        $written = 0;
        for ($still = 0; $still < 50 && $written < 64 << 20;) {
            $length = (int) \fwrite($server, $piece);
            $written += $length;
            $still = $length === 0 ? $still + 1 : 0;
            \usleep(2_000);
            \fwrite($other, 'x');
            self::assertSame('x', \fread($far, 10));
        }
        self::assertLessThan(64 << 20, $written);
        \stream_socket_shutdown($server, \STREAM_SHUT_WR);
        $got = 0;
        while (!\feof($client)) {
            $got += \strlen((string) \fread($client, 1 << 20));
        }
        self::assertSame($written, $got);
    }

    public function testAPeerThatGoesAwayIsMissedByTheOther(): void
    {
        [$client, $server] = $this->connect();
        [$other, $far] = $this->connect();
        // Unread bytes make the end a reset (RFC 2525, section 2.17).
        \fwrite($server, \str_repeat('x', 1000));
        $read = [$client];
        $none = null;
        self::assertSame(1, \stream_select($read, $none, $none, 5));
        \fclose($client);
        self::assertSame('', \stream_get_contents($server));
        \fclose($server);
        \fwrite($other, 'still');
        self::assertSame('still', \fread($far, 10));
        self::assertTrue($this->network->isAlive());
    }

    public function testManyConnectionsOneAfterTheOtherLeaveNothingOpen(): void
    {
        $open = fn(): int => \count(\glob('/proc/' . $this->network->pids()[0] . '/fd/*') ?: []);
        $before = $open();
        for ($i = 0; $i < 100; $i++) {
            [$client, $server] = $this->connect();
            \fclose($client);
            self::assertSame('', \stream_get_contents($server));
            \fclose($server);
        }
        Wait::until(static fn(): bool => $open() === $before, 'the end of all connections');
    }

    public function testEndsWhenItIsClosed(): void
    {
        $pid = $this->network->pids()[0];
        [$client] = $this->connect();
        $this->network->stop();
        self::assertTrue(Process::ends($pid, 0.0));
        self::assertSame('', \stream_get_contents($client));
        self::assertSame([false, ''], [$this->network->isAlive(), $this->network->lastWords()]);
    }

    /** @return array{resource, resource} the client's end and the server's */
    private function connect(): array
    {
        $context = \stream_context_create(['socket' => ['tcp_nodelay' => true]]);
        $client = \stream_socket_client($this->address, $code, $message, 5.0, \STREAM_CLIENT_CONNECT, $context);
        self::assertNotFalse($client);
        $server = \stream_socket_accept($this->listener, 5.0);
        self::assertNotFalse($server);
        foreach ([$client, $server] as $stream) {
            \stream_set_timeout($stream, 10);
        }

        return [$client, $server];
    }

    /**
     * Sends all of them at once, and compares what arrives.
     *
     * @param list<array{resource, resource, string}> $transfers from, to and what
     */
    private static function move(array $transfers): void
    {
        $left = $got = [];
        foreach ($transfers as $i => [$from, $to, $bytes]) {
            \stream_set_blocking($from, false);
            \stream_set_blocking($to, false);
            $left[$i] = $bytes;
            $got[$i] = '';
        }
        for ($deadline = \hrtime(true) + 30_000_000_000; \hrtime(true) < $deadline;) {
            $read = $write = [];
            foreach ($transfers as $i => [$from, $to, $bytes]) {
                $left[$i] === '' || $write[$i] = $from;
                \strlen($got[$i]) === \strlen($bytes) || $read[$i] = $to;
            }
            if ($read === []) {
                break;
            }
            $none = null;
            \stream_select($read, $write, $none, 1);
            foreach ($write as $i => $stream) {
                $left[$i] = \substr($left[$i], (int) \fwrite($stream, \substr($left[$i], 0, 1 << 16)));
            }
            foreach ($read as $i => $stream) {
                $got[$i] .= \fread($stream, 1 << 16);
            }
        }
        foreach ($transfers as $i => [$from, $to, $bytes]) {
            \stream_set_blocking($from, true);
            \stream_set_blocking($to, true);
            self::assertSame(\hash('sha256', $bytes), \hash('sha256', $got[$i]));
        }
    }
}
