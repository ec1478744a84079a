<?php

declare(strict_types=1);

namespace Larder\Tests\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\Lab\Service\Place;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\Queue\QueueFull;
use Larder\Queue\ZmqAddress;
use Larder\Queue\ZmqBroker;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\Process;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\DataProvider;
use PHPUnit\Framework\Attributes\RequiresPhpExtension;
use PHPUnit\Framework\TestCase;

/** bin/larder queue:serve: what it promises, and strangers at its door. */
#[RequiresPhpExtension('zmq')]
final class ZmqBrokerTest extends TestCase
{
    private TemporaryDirectory $directory;

    protected function setUp(): void
    {
        $this->directory = new TemporaryDirectory('larder-zmq');
    }

    private function ipc(): string
    {
        return "zmq+ipc://{$this->directory->path}/q.sock";
    }

    public function testAPushOutlivesItsProducerAndNotTheBroker(): void
    {
        $broker = new Broker($this->ipc());
        $producer = Process::snippet('Larder\Queue\Queue::open($argv[1], "mail")->push("body"); echo "pushed\n"; sleep(60);', [$this->ipc()]);
        $producer->expect('pushed');
        $producer->kill();
        $queue = Queue::open($this->ipc(), 'mail');
        self::assertSame(1, $queue->size());
        $broker->process->signal(\SIGTERM);
        self::assertSame(1, $broker->process->wait());
        self::assertStringContainsString('1 messages were in memory and are lost', $broker->process->errors());
        $broker = new Broker($this->ipc());
        self::assertSame(0, $queue->size(), 'The same client finds the new broker.');
        $broker->process->signal(\SIGTERM);
        self::assertSame(0, $broker->process->wait(), 'Nothing was lost.');
    }

    /** @return iterable<string, array{string}> */
    public static function ends(): iterable
    {
        $static = 'class App { public static $queue; } App::$queue = $queue; unset($queue); ';
        yield 'in a static property' => [$static];
        yield 'in a container that knows itself' => ['$container = new stdClass(); $container->self = $container; $container->queue = $queue; unset($queue);'];
        yield 'collected as garbage' => ['$container = new stdClass(); $container->self = $container; $container->queue = $queue; unset($queue, $container); gc_collect_cycles();'];
        yield 'after a fatal error' => [$static . 'echo "end\n"; ini_set("display_errors", "0"); str_repeat("x", PHP_INT_MAX >> 1);'];
        yield 'after an exception' => [$static . 'echo "end\n"; ini_set("display_errors", "0"); throw new Exception();'];
        yield 'after exit in a shutdown function' => [$static . 'register_shutdown_function(function () { echo "end\n"; exit(); });'];
        yield 'used by a shutdown function' => [$static . 'register_shutdown_function(function () { App::$queue->push("late"); });'];
        yield 'opened by a destructor' => ['class Late { public $self; public $queue; function __destruct() { $this->queue = Larder\Queue\Queue::open($GLOBALS["argv"][1], "mail"); $this->queue->push("late"); } } unset($queue); $late = new Late(); $late->self = $late;'];
        yield 'in a forked child too' => [$static . '$child = pcntl_fork(); App::$queue->push("both"); if ($child) { pcntl_waitpid($child, $status); }'];
    }

    /** PHP frees what still lives then in an order of its own. */
    #[DataProvider('ends')]
    public function testAProgramWithAQueueEnds(string $code): void
    {
        $broker = new Broker($this->ipc());
        $freed = '$freed = array_map(fn() => new stdClass(), range(1, 200)); unset($freed); ';
        $program = Process::snippet("$freed\$queue = Larder\\Queue\\Queue::open(\$argv[1], 'mail'); \$queue->push('one'); $code echo 'end', PHP_EOL;", [$this->ipc()]);
        $program->expect('end');
        self::assertTrue(Process::ends($program->pid));
        self::assertGreaterThan(0, Queue::open($broker->dsn, 'mail')->size());
    }

    public function testARequestOfAWebServerEnds(): void
    {
        if (!FpmServer::isAvailable()) {
            self::markTestSkipped('No php-fpm: bin/setup installs it.');
        }
        $broker = new Broker($this->ipc());
        $fpm = new FpmServer(1);
        $script = $fpm->script('push.php', '$freed = array_map(fn() => new stdClass(), range(1, 200)); unset($freed);'
            . 'class App { public static $queue; } App::$queue = Larder\Queue\Queue::open($_GET["dsn"], "mail"); App::$queue->push("one"); echo App::$queue->size();');
        self::assertSame(['1', '2', '3'], \array_map(static fn(): string => $fpm->request($script, dsn: $broker->dsn)->body, \range(1, 3)));
    }

    public function testTellsWhatIsKnownWhereNobodyAnswers(): void
    {
        $queue = Queue::open($this->ipc() . '?timeout=1', 'mail');
        self::assertStringContainsString('nothing was done', self::failure($queue));
        $broker = new Broker($this->ipc());
        $queue->push('one');
        \posix_kill($broker->process->pid, \SIGSTOP);
        self::assertStringContainsString('may have done it or not', self::failure($queue));
        \posix_kill($broker->process->pid, \SIGCONT);
        self::assertContains($queue->size(), [1, 2]);
    }

    private static function failure(Queue $queue): string
    {
        try {
            $queue->push('body');
        } catch (QueueFailure $failure) {
            return $failure->getMessage();
        }
        self::fail('It was accepted.');
    }

    public function testASocketIsItsUsersAlone(): void
    {
        $broker = new Broker($this->ipc());
        self::assertSame(0o600, (int) \fileperms("{$this->directory->path}/q.sock") & 0o777);
        self::assertTrue($broker->process->isRunning());
    }

    public function testASecondBrokerDoesNotTakeThePlaceOfTheFirst(): void
    {
        $broker = new Broker($this->ipc());
        $queue = Queue::open($this->ipc(), 'mail');
        $queue->push('body');
        try {
            new Broker($this->ipc());
            self::fail('There are two.');
        } catch (\RuntimeException $failure) {
            self::assertStringContainsString('is served by another process', $failure->getMessage());
        }
        self::assertSame('body', Queue::open($this->ipc(), 'mail')->pop()?->body);
        self::assertTrue($broker->process->isRunning());
    }

    /** @return iterable<string, array{string, bool}> */
    public static function hosts(): iterable
    {
        yield 'all' => ['0.0.0.0', false];
        yield 'all of IPv6' => ['[::]', false];
        yield 'a name' => ['example.org', false];
        yield 'a look-alike' => ['127.0.0.1.example.org', false];
        yield 'loopback' => ['127.0.0.1', true];
        yield 'another loopback' => ['127.8.9.10', true];
        yield 'localhost' => ['localhost', true];
        yield 'loopback of IPv6' => ['[::1]', true];
    }

    #[DataProvider('hosts')]
    public function testTcpIsForThisMachine(string $host, bool $isLocal): void
    {
        $address = ZmqAddress::parse("zmq+tcp://$host:5555");
        self::assertSame($isLocal, $address->isLocal());
        if (!$isLocal) {
            $this->expectException(InvalidConfiguration::class);
            new ZmqBroker($address, 1 << 20);
        }
    }

    public function testTcp(): void
    {
        $dsn = 'zmq+tcp://127.0.0.1:' . Place::freePort();
        $broker = new Broker($dsn);
        $queue = Queue::open($dsn, 'mail');
        $queue->push('body');
        self::assertSame('body', $queue->pop()?->body);
        self::assertTrue($broker->process->isRunning());
    }

    public function testAFullBrokerSaysSoAndGoesOn(): void
    {
        $broker = new Broker($this->ipc(), '--memory=16');
        $queue = Queue::open($this->ipc(), 'mail');
        $accepted = 0;
        try {
            while ($accepted < 1_000) {
                $queue->push(\str_repeat('x', 100_000));
                $accepted++;
            }
            self::fail('It takes everything.');
        } catch (QueueFull $full) {
            self::assertStringContainsString('--memory', $full->getMessage());
        }
        self::assertSame($accepted, $queue->size());
        self::assertGreaterThan(10, $accepted);
        for ($i = 0; $i < 20; $i++) {
            self::assertTrue($queue->pop()?->ack());
        }
        $queue->push('There is room again.');
        self::assertTrue($broker->process->isRunning());
    }

    public function testNoFrameOfAStrangerHurtsIt(): void
    {
        $dsn = 'zmq+tcp://127.0.0.1:' . ($port = Place::freePort());
        $broker = new Broker($dsn);
        $queue = Queue::open($dsn, 'mail');
        $queue->push('kept');
        $stranger = new \ZMQSocket(new \ZMQContext(1, false), \ZMQ::SOCKET_DEALER);
        $stranger->setSockOpt(\ZMQ::SOCKOPT_LINGER, 0);
        $stranger->setSockOpt(\ZMQ::SOCKOPT_RCVTIMEO, 10_000);
        $stranger->setSockOpt(\ZMQ::SOCKOPT_SNDTIMEO, 10_000);
        $stranger->connect("tcp://127.0.0.1:$port");
        // What a request is made of, and worse.
        $parts = [
            '', '0', '1', '-1', '9', '1e9', \str_repeat('9', 30), 'mail', '../mail', ZmqBroker::MARK, "\x00", "\xff\xfe", 'O:8:"stdClass":0:{}', \str_repeat('x', 10_000),
            'push', 'claim', 'acknowledge', 'release', 'extend', 'bury', 'stats', 'dead', 'retry', 'purge ', 'pause ', 'wait', ':', 'a:b',
        ];
        \mt_srand(1);
        $pick = static fn(): string => $parts[\mt_rand(0, \count($parts) - 1)];
        for ($i = 0; $i < 3_000; $i++) {
            $frames = \array_map($pick, \range(0, \mt_rand(0, 9)));
            if ($i % 3 > 0) {
                $frames = [ZmqBroker::MARK, "$i", $i % 3 > 1 ? 'other' : $pick(), ...$frames];
            }
            self::assertNotFalse($stranger->sendMulti($frames), 'It takes what is sent.');
        }
        // What is not ZeroMQ's protocol at all.
        foreach (['', "GET / HTTP/1.0\r\n\r\n", \random_bytes(5_000), "\xff" . \str_repeat("\x00", 8) . "\x01\x7f"] as $bytes) {
            $plain = \fsockopen('127.0.0.1', $port);
            \assert(\is_resource($plain));
            \fwrite($plain, $bytes);
            \fclose($plain);
        }
        $stranger->sendMulti([ZmqBroker::MARK, 'last', 'other', 'stats', '5']);
        do {
            $answer = $stranger->recvMulti();
            self::assertIsArray($answer, 'It answers.');
        } while ($answer[0] !== 'last');
        self::assertTrue($broker->process->isRunning(), $broker->process->errors());
        self::assertSame('kept', $queue->pop()?->body);
        self::assertStringNotContainsString('PHP', $broker->process->errors());
    }

    public function testABodyIsNotDecodedByTheBroker(): void
    {
        $broker = new Broker($this->ipc());
        $file = $this->directory->file('woken');
        $queue = Queue::open($this->ipc(), 'mail');
        $queue->push(new Waking($file));
        $queue->push(new Waking($file));
        self::assertTrue($queue->pop()?->bury());
        self::assertCount(1, $queue->dead());
        self::assertNotNull($queue->pop());
        // Each decoding here leaves this process's id, and any other another's.
        self::assertSame([(string) \posix_getpid()], \array_unique(\explode("\n", \trim((string) \file_get_contents($file)))));
        self::assertTrue($broker->process->isRunning());
    }

    public function testWithoutTheExtensionItSaysWhatToInstall(): void
    {
        $php = Process::snippet('try { Larder\Queue\Queue::open("zmq+ipc:///run/q.sock"); } catch (Larder\Config\InvalidConfiguration $e) { echo $e->getMessage(), "\n"; }', environment: ['PHP_INI_SCAN_DIR' => '/nonexistent']);
        $line = (string) $php->line();
        self::assertStringContainsString('needs the PHP extension zmq', $line);
        self::assertStringContainsString('apt install php-zmq', $line);
    }
}
