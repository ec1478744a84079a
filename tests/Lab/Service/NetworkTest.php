<?php

declare(strict_types=1);

namespace Larder\Tests\Lab\Service;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Link;
use Larder\Lab\Service\NamespaceLink;
use Larder\Lab\Service\Network;
use Larder\Lab\Service\Place;
use Larder\Lab\Service\ProxyLink;
use Larder\Lab\Service\RedisServer;
use Larder\Lab\Service\Server;
use Larder\Lab\Service\ServiceFailure;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\TestCase;

#[CoversNothing]
final class NetworkTest extends TestCase
{
    /** What every kernel with namespaces has, where it may have no netem: it shapes, and delays nothing. */
    private const TBF = ['tbf', 'rate', '100mbit', 'burst', '64kb', 'latency', '50ms'];

    private const PING = 'for ($i = 0; $i < 20; $i++) {
            if ($i === 0) { $s = stream_socket_client("tcp://$argv[1]:$argv[2]"); }
            $start = hrtime(true); fwrite($s, "PING\r\n"); $answer = fgets($s); $times[] = hrtime(true) - $start;
        }
        echo trim($answer), " ", min($times);';

    private TemporaryDirectory $parent;
    private Directory $directory;
    private ?Network $network = null;

    protected function setUp(): void
    {
        $this->parent = new TemporaryDirectory('larder-n');
        $this->directory = Directory::temporary($this->parent->path);
    }

    protected function tearDown(): void
    {
        $this->network?->stop();
    }

    public function testTheBestLinkThatCanBeHadIsTakenAndTheReportIsTold(): void
    {
        $closed = 0;
        $network = $this->network($this->refusing('the kernel knows no netem', $closed), new ProxyLink($this->directory));
        self::assertSame('Network 0.5 ms round trip, 100 Mbit/s', $network->version());
        $network->start();
        self::assertSame('Network 0.5 ms round trip, 100 Mbit/s, by a delaying proxy on the loopback (not by namespaces: the kernel knows no netem)', $network->version());
        self::assertGreaterThan(0, $closed);
        self::assertSame(['host', 'port'], \array_keys($network->address()));
        self::assertNotSame($network->server()?->address()['port'], $network->address()['port']);
        self::assertSame([], $network->prefix());
        [$pong, $least] = self::ping($network);
        self::assertSame('+PONG', $pong);
        self::assertGreaterThanOrEqual(500_000, $least);
    }

    public function testTheDeathOfTheServerBehindItIsNoticed(): void
    {
        $network = $this->network(new ProxyLink($this->directory));
        $network->start();
        $pid = (int) $network->server()?->pid();
        \posix_kill($pid, \SIGKILL);
        Process::ends($pid);
        self::assertFalse($network->isAlive());
        self::assertStringStartsWith(' (signal 9', $network->lastWords());
        $network->start();
        self::assertTrue($network->isAlive());
        self::assertSame('', $network->lastWords());
        self::assertSame('+PONG', self::ping($network)[0]);
    }

    public function testNamespacesReachOneAnotherAndNothingElse(): void
    {
        $this->needNamespaces();
        $network = $this->network(new NamespaceLink(self::TBF));
        $own = \file_get_contents('/proc/net/fib_trie') . \file_get_contents('/proc/net/dev_mcast');
        $network->start();
        self::assertTrue($network->isAlive());
        self::assertSame('Network 0.5 ms round trip, 100 Mbit/s, by two network namespaces with tc tbf', $network->version());
        self::assertSame('192.0.2.1', $network->address()['host']);
        self::assertSame(['ip', 'netns', 'exec'], \array_slice($network->prefix(), 0, 3));
        self::assertSame('+PONG', self::ping($network)[0]);
        self::assertCount(2, self::namespaces((int) \getmypid()));
        self::assertSame($own, \file_get_contents('/proc/net/fib_trie') . \file_get_contents('/proc/net/dev_mcast'), 'addresses and devices of this machine');
        $pid = (int) $network->server()?->pid();
        self::assertNotSame(\readlink('/proc/self/ns/net'), \readlink("/proc/$pid/ns/net"));
        $network->stop();
        self::assertTrue(Process::ends($pid, 0.0));
        self::assertSame([], self::namespaces((int) \getmypid()));
        self::assertSame([], \glob($this->directory->file('*')));
    }

    public function testAKernelWithoutTheDisciplineIsNamedAndNothingIsLeft(): void
    {
        $this->needNamespaces();
        $link = new NamespaceLink(['nosuch']);
        try {
            $link->open();
            self::fail('There is no such discipline.');
        } catch (ServiceFailure $failure) {
            self::assertSame('the kernel knows no nosuch', $failure->getMessage());
        }
        self::assertSame([], self::namespaces((int) \getmypid()));
        self::assertFalse($link->isOpen());
    }

    public function testNetemDelaysWhereTheKernelHasIt(): void
    {
        $link = new NamespaceLink();
        $network = $this->network($link);
        try {
            $network->start();
        } catch (ServiceFailure $failure) {
            self::assertMatchesRegularExpression('/^(they take root|they are not permitted|the kernel knows no (netem|veth)|there is no (ip|tc): apt-get install iproute2)$/', $failure->getMessage());

            return;
        }
        [$pong, $least] = self::ping($network);
        self::assertSame('+PONG', $pong);
        self::assertGreaterThanOrEqual(500_000, $least);
        self::assertSame('Network 0.5 ms round trip, 100 Mbit/s, by two network namespaces with tc netem', $network->version());
    }

    public function testAKilledLabsNamespacesGoWithTheNextOne(): void
    {
        $this->needNamespaces();
        $lab = Process::snippet(
            'use Larder\Lab\Service\{Directory, NamespaceLink, Network, Place, RedisServer};'
            . '$directory = Directory::temporary($argv[1]); $network = new Network([new NamespaceLink(array_slice($argv, 2))], fn(Place $place) => new RedisServer($directory, place: $place));'
            . '$network->start(); echo $network->server()->pid(), "\n"; if (pcntl_fork() === 0) { $network->stop(); unset($network); exit; } pcntl_wait($status); echo "forked\n"; sleep(60);',
            [$this->parent->path, ...self::TBF],
        );
        $pid = (int) $lab->line();
        self::assertGreaterThan(0, $pid, $lab->errors());
        $lab->expect('forked');
        NamespaceLink::sweep();
        self::assertCount(2, self::namespaces($lab->pid));
        $lab->kill();
        self::assertTrue(Process::ends($pid));
        self::assertCount(2, self::namespaces($lab->pid));
        NamespaceLink::sweep();
        self::assertSame([], self::namespaces($lab->pid));
    }

    private function network(Link ...$links): Network
    {
        \assert($links !== []);

        return $this->network = new Network(\array_values($links), fn(Place $place): Server => new RedisServer($this->directory, place: $place));
    }

    private function refusing(string $why, int &$closed = 0): Link
    {
        $link = $this->createStub(Link::class);
        $link->method('open')->willThrowException(new ServiceFailure($why));
        $link->method('close')->willReturnCallback(static function () use (&$closed): void {
            $closed++;
        });

        return $link;
    }

    private function needNamespaces(): void
    {
        $link = new NamespaceLink(self::TBF);
        try {
            $link->open();
            $link->close();
        } catch (ServiceFailure $failure) {
            self::markTestSkipped($failure->getMessage());
        }
    }

    /** @return array{string, int} the answer, and the shortest round trip (ns) */
    private static function ping(Network $network): array
    {
        $child = new Process([...$network->prefix(), \PHP_BINARY, '-r', self::PING, '--', ...\array_map('strval', \array_values($network->address()))]);
        $words = \explode(' ', $child->output());

        return [$words[0], (int) ($words[1] ?? 0)];
    }

    /** @return list<string> */
    private static function namespaces(int $pid): array
    {
        return \glob("/run/netns/larder-lab-$pid-*") ?: [];
    }
}
