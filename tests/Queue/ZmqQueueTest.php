<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Queue\NotSupported;
use Larder\Queue\Queue;
use Larder\Queue\ZmqAddress;
use Larder\Queue\ZmqBroker;
use Larder\Tests\Contract\QueueContract;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;

/** The contract over ZeroMQ's broker, and all that it refuses. */
#[RequiresPhpExtension('zmq')]
final class ZmqQueueTest extends QueueContract
{
    private TemporaryDirectory $directory;
    private int $broker = 0;

    protected function setUp(): void
    {
        parent::setUp();
        $this->directory = new TemporaryDirectory('larder-zmq');
        $this->broker = \pcntl_fork();
        if ($this->broker === 0) {
            // It ends by itself if nobody ends it.
            \pcntl_alarm(300);
            (new ZmqBroker(ZmqAddress::parse($this->dsn()), 256 << 20))->serve();
        }
        while (!\file_exists("{$this->directory->path}/q.sock")) {
            \usleep(500);
        }
    }

    protected function tearDown(): void
    {
        \posix_kill($this->broker, \SIGKILL);
        \pcntl_waitpid($this->broker, $status);
        parent::tearDown();
    }

    private function dsn(): string
    {
        return "zmq+ipc://{$this->directory->path}/q.sock";
    }

    protected function queue(string $name = 'mail', array $options = []): Queue
    {
        return Queue::open(['dsn' => $this->dsn()] + $options, $name);
    }

    /** @return iterable<string, array{\Closure(string): mixed}> */
    public static function refused(): iterable
    {
        yield 'to be durable' => [static fn(string $dsn) => Queue::open("$dsn?synchronous=full", 'mail')];
        yield 'to be durable by half' => [static fn(string $dsn) => Queue::open("$dsn?synchronous=normal", 'mail')];
        yield 'a body of more than 64 MiB' => [static fn(string $dsn) => Queue::open($dsn, 'mail')->push(\str_repeat('x', 67_108_865))];
    }

    /** @param \Closure(string): mixed $call */
    #[DataProvider('refused')]
    public function testRefuses(\Closure $call): void
    {
        try {
            $call($this->dsn());
            self::fail('It was accepted.');
        } catch (NotSupported $refused) {
            self::assertMatchesRegularExpression('/Use sqlite|keep the bytes elsewhere/', $refused->getMessage());
        }
        self::assertSame(0, $this->queue()->size());
    }
}
