<?php

declare(strict_types=1);

namespace Larder\Tests\SymfonyBundle;

use Larder\Queue\Queue;
use Larder\SymfonyBundle\Lock\LarderStores;
use Larder\SymfonyBundle\Messenger\LarderTransport;
use Larder\SymfonyBundle\Messenger\LarderTransportFactory;
use Larder\Tests\Bridge\Frameworks;
use Larder\Tests\Support\TemporaryDirectory;
use PHPUnit\Framework\Attributes\CoversNothing;
use PHPUnit\Framework\Attributes\Group;
use PHPUnit\Framework\TestCase;
use Symfony\Component\DependencyInjection\Container;
use Symfony\Component\EventDispatcher\EventDispatcher;
use Symfony\Component\Lock\Exception\LockAcquiringException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\EventListener\SendFailedMessageForRetryListener;
use Symfony\Component\Messenger\EventListener\StopWorkerOnMessageLimitListener;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Handler\HandlersLocator;
use Symfony\Component\Messenger\MessageBus;
use Symfony\Component\Messenger\Middleware\HandleMessageMiddleware;
use Symfony\Component\Messenger\Retry\MultiplierRetryStrategy;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Stamp\TransportMessageIdStamp;
use Symfony\Component\Messenger\Transport\Serialization\PhpSerializer;
use Symfony\Component\Messenger\Worker;

/** The transport, under Messenger's own worker, bus and listeners. */
#[CoversNothing]
#[Group('bridge')]
final class MessengerTest extends TestCase
{
    private TemporaryDirectory $root;

    protected function setUp(): void
    {
        Frameworks::prefer();
        $this->root = new TemporaryDirectory();
    }

    public function testMessengersWorkerHandlesWhatWasSent(): void
    {
        $transport = $this->transport();
        $sent = $transport->send(new Envelope(new Note('one')));
        $transport->send(new Envelope(new Note('two')));
        self::assertSame(2, $transport->getMessageCount());
        self::assertIsString($sent->last(TransportMessageIdStamp::class)?->getId());

        $texts = [];
        $this->handle($transport, 2, static function (Note $note) use (&$texts): void {
            $texts[] = $note->text;
        });
        self::assertSame(['one', 'two'], $texts);
        self::assertSame(['ready' => 0, 'delayed' => 0, 'claimed' => 0, 'dead' => 0], \array_slice($this->queue()->stats(), 0, 4));
    }

    public function testWhatFailedIsSentAnewByMessengersOwnRetry(): void
    {
        $transport = $this->transport();
        $transport->send(new Envelope(new Note('one')));
        $tries = 0;
        $this->handle($transport, 2, static function () use (&$tries): void {
            if (++$tries === 1) {
                throw new \LogicException('not yet');
            }
        });

        self::assertSame(2, $tries);
        self::assertSame(0, $transport->getMessageCount());
    }

    public function testADelayIsKept(): void
    {
        $transport = $this->transport();
        $transport->send(new Envelope(new Note('later'), [new DelayStamp(300)]));
        self::assertSame([], $transport->get());
        self::assertSame(1, $transport->getMessageCount());
        \usleep(350_000);
        self::assertCount(1, $transport->get());
    }

    public function testATimeThatHasPassedIsNoDelay(): void
    {
        $transport = $this->transport();
        $transport->send(new Envelope(new Note('late'), [DelayStamp::delayUntil(new \DateTimeImmutable('-1 hour'))]));
        self::assertCount(1, $transport->get());
    }

    public function testKeepaliveKeepsTheMessageFromOthers(): void
    {
        $transport = $this->transport('?visibility=1');
        $other = $this->transport('?visibility=1');
        $transport->send(new Envelope(new Note('long')));
        $this->handle($transport, 1, static function () use ($other, &$worker): void {
            \assert($worker instanceof Worker);
            for ($i = 0; $i < 6; ++$i) {
                $worker->keepalive(1);
                \usleep(300_000);
                self::assertSame([], [...$other->get()]);
            }
        }, $worker);
        self::assertSame(0, $this->queue()->stats()['claimed']);
        self::assertSame([], [...$other->get()]);
    }

    public function testAnEnvelopeWithoutItsClassIsADeadLetter(): void
    {
        $this->queue()->push(['body' => \addslashes(\serialize(new Envelope(new Note('x')))), 'headers' => []]);
        $this->queue()->push(\str_replace('SymfonyBundle\\\\Note', 'SymfonyBundle\\\\Nope', ['body' => \addslashes(\serialize(new Envelope(new Note('x'))))]));
        $this->queue()->push('not an envelope');
        $transport = $this->transport();
        self::assertCount(1, $transport->get());
        self::assertSame([[], []], [$transport->get(), $transport->get()]);
        self::assertSame(2, \count($this->queue()->dead()));
        self::assertStringContainsString('MessageDecodingFailedException: ', $this->queue()->dead()[0]['error']);
    }

    public function testWhatWaitsIsListedAndRemoved(): void
    {
        $transport = $this->transport();
        foreach (['one', 'two', 'three'] as $text) {
            $transport->send(new Envelope(new Note($text)));
        }
        $transport->send(new Envelope(new Note('later'), [new DelayStamp(3_600_000)]));
        $this->queue()->push('not an envelope');
        $texts = static fn(iterable $envelopes): array => \array_map(static fn(Envelope $envelope): string => $envelope->getMessage()->text, [...$envelopes]);
        self::assertSame(['one', 'two', 'three', 'later'], $texts($transport->all()));
        self::assertSame(['one', 'two'], $texts($transport->all(2)));
        self::assertSame(5, $transport->getMessageCount(), 'To be listed takes nothing.');

        [, $second, , $later] = \array_map(static fn(Envelope $envelope): mixed => $envelope->last(TransportMessageIdStamp::class)?->getId(), [...$transport->all()]);
        self::assertSame(['two'], $texts([$transport->find($second)]));
        self::assertNull($transport->find('unknown'));
        self::assertNull($transport->find(null));
        $transport->reject($transport->find($second));
        $transport->ack($transport->find($later));
        self::assertNull($transport->find($second));
        self::assertSame(['one', 'three'], $texts($transport->all()));

        // A worker has it now.
        $first = [...$transport->all(1)][0];
        [$claimed] = $transport->get();
        $transport->reject($first);
        self::assertSame(1, $this->queue()->stats()['claimed']);
        $transport->ack($claimed);
        self::assertSame(['three'], $texts($transport->all()));
    }

    public function testTheFactoryTakesItsDsnsAndSaysWhatIsWrong(): void
    {
        $factory = new LarderTransportFactory();
        self::assertTrue($factory->supports('larder+sqlite:///var/lib/app/queue', []));
        self::assertFalse($factory->supports('sqlite:///var/lib/app/queue', []));
        self::assertFalse($factory->supports('redis://127.0.0.1', []));
        // As the framework's bundle calls it.
        self::assertInstanceOf(LarderTransport::class, $factory->createTransport($this->dsn(), ['transport_name' => 'async', 'queue' => 'mail', 'limit' => 10], new PhpSerializer()));
        // What the DSN says of the server stays in it: the certificate is found missing when it is used.
        $this->tells('is its certificate valid for redis.internal?', fn() => $factory->createTransport('larder+rediss://127.0.0.1:1?queue=a&timeout=1&peer_name=redis.internal', [], new PhpSerializer())->send(new Envelope(new Note('one'))));
        $this->tells('is its certificate valid for redis.internal? There is no /not/there.pem.', static fn() => (new LarderStores('sqlite:///unused'))->create('larder+rediss://127.0.0.1:1?handover=1&timeout=1&peer_name=redis.internal&cafile=/not/there.pem')->save(new Key('a')));
        $this->expectException(InvalidArgumentException::class);
        $factory->createTransport($this->dsn() . '?visibilty=1', [], new PhpSerializer());
    }

    public function testAFullQueueIsATransportException(): void
    {
        $transport = $this->transport('?limit=1');
        $transport->send(new Envelope(new Note('one')));
        $this->expectException(TransportException::class);
        $transport->send(new Envelope(new Note('two')));
    }

    public function testADelayThatIsTooLongIsATransportException(): void
    {
        $this->expectException(TransportException::class);
        $this->expectExceptionMessage('ten years');
        $this->transport()->send(new Envelope(new Note('one'), [new DelayStamp(86_400_000 * 4_000)]));
    }

    /** @param-out Worker $worker */
    private function handle(LarderTransport $transport, int $messages, \Closure $handler, ?Worker &$worker = null): void
    {
        $senders = new Container();
        $senders->set('async', $transport);
        $strategies = new Container();
        $strategies->set('async', new MultiplierRetryStrategy(3, 10, 1));
        $dispatcher = new EventDispatcher();
        $dispatcher->addSubscriber(new SendFailedMessageForRetryListener($senders, $strategies));
        $dispatcher->addSubscriber(new StopWorkerOnMessageLimitListener($messages));
        $bus = new MessageBus([new HandleMessageMiddleware(new HandlersLocator([Note::class => [$handler]]))]);
        $worker = new Worker(['async' => $transport], $bus, $dispatcher);
        $worker->run(['sleep' => 10_000]);
    }

    private function tells(string $what, \Closure $call): void
    {
        try {
            $call();
            self::fail('Nothing was wrong.');
        } catch (TransportException|LockAcquiringException $failure) {
            self::assertStringContainsString($what, $failure->getMessage());
        }
    }

    private function transport(string $query = ''): LarderTransport
    {
        return (new LarderTransportFactory())->createTransport($this->dsn() . $query, [], new PhpSerializer());
    }

    private function dsn(): string
    {
        return "larder+sqlite://{$this->root->path}/queue";
    }

    private function queue(): Queue
    {
        return Queue::open("sqlite://{$this->root->path}/queue", 'messages');
    }
}
