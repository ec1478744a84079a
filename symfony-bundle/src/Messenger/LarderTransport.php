<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Messenger;

use Larder\Queue\Message;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Symfony\Component\Messenger\Envelope;
use Symfony\Component\Messenger\Exception\MessageDecodingFailedException;
use Symfony\Component\Messenger\Exception\TransportException;
use Symfony\Component\Messenger\Stamp\DelayStamp;
use Symfony\Component\Messenger\Stamp\TransportMessageIdStamp;
use Symfony\Component\Messenger\Transport\Receiver\KeepaliveReceiverInterface;
use Symfony\Component\Messenger\Transport\Receiver\ListableReceiverInterface;
use Symfony\Component\Messenger\Transport\Receiver\MessageCountAwareInterface;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Transport\TransportInterface;

/**
 * A queue as a transport of Symfony Messenger.
 *
 * Messenger sees to retries by itself: it sends a message that failed anew, and rejects the old one. The queue's own attempts
 * count what Messenger does not see: workers that died of the message.
 *
 * What all() and find() give is still waiting, and a worker may get it meanwhile. ack() and reject() remove it then, if it waits.
 */
final readonly class LarderTransport implements TransportInterface, KeepaliveReceiverInterface, ListableReceiverInterface, MessageCountAwareInterface
{
    /** Messages that all() gives without a limit. */
    private const MOST = 10_000;

    public function __construct(private Queue $queue, private SerializerInterface $serializer, private int $visibility) {}

    public function send(Envelope $envelope): Envelope
    {
        // DelayStamp::delayUntil() gives less than nothing for a time that has passed.
        $delay = \max(0, $envelope->last(DelayStamp::class)?->getDelay() ?? 0);
        $encoded = $this->serializer->encode($envelope);
        $id = self::told(fn(): string => $this->queue->push($encoded, $delay / 1000));

        return $envelope->with(new TransportMessageIdStamp($id));
    }

    /** @return list<Envelope> */
    public function get(): array
    {
        $message = self::told(fn(): ?Message => $this->queue->pop($this->visibility));
        if ($message === null) {
            return [];
        }
        try {
            $envelope = $this->decoded($message->body);
        } catch (MessageDecodingFailedException $failure) {
            // Among the dead it is found again, when its class is there.
            self::told(static fn(): bool => $message->bury($failure::class . ': ' . $failure->getMessage()));

            return [];
        }

        return [$envelope->with(new TransportMessageIdStamp($message->id), new LarderStamp($message))];
    }

    public function ack(Envelope $envelope): void
    {
        $id = $envelope->last(TransportMessageIdStamp::class)?->getId();
        if ($envelope->last(LarderStamp::class) === null && \is_string($id)) {
            self::told(fn(): int => $this->queue->remove($id));

            return;
        }
        self::told(static fn(): bool => self::message($envelope)->ack());
    }

    public function reject(Envelope $envelope): void
    {
        // By now it is sent anew, or to the failure transport, if there is one.
        $this->ack($envelope);
    }

    public function keepalive(Envelope $envelope, ?int $seconds = null): void
    {
        // Twice: until the next call it must last in any case.
        self::told(fn(): bool => self::message($envelope)->extend(\max($this->visibility, 2 * ($seconds ?? 0))));
    }

    /** @return \Generator<int, Envelope> those that are due first; 10,000 at the most */
    public function all(?int $limit = null): iterable
    {
        foreach (self::told(fn(): array => $this->queue->waiting($limit ?? self::MOST)) as $waiting) {
            try {
                yield $this->listed($waiting);
            } catch (MessageDecodingFailedException) {
                // The next worker finds it, and buries it.
            }
        }
    }

    public function find(mixed $id): ?Envelope
    {
        $waiting = self::told(fn(): array => $this->queue->waiting(1, \is_scalar($id) ? (string) $id : ''));

        return $waiting === [] ? null : $this->listed($waiting[0]);
    }

    public function getMessageCount(): int
    {
        return self::told($this->queue->size(...));
    }

    private static function message(Envelope $envelope): Message
    {
        return $envelope->last(LarderStamp::class)->message ?? throw new TransportException('This envelope was not received from this transport.');
    }

    /**
     * @param array{id: string, body: mixed, attempts: int, error: string} $waiting
     *
     * @throws MessageDecodingFailedException
     */
    private function listed(array $waiting): Envelope
    {
        return $this->decoded($waiting['body'])->with(new TransportMessageIdStamp($waiting['id']));
    }

    /** @throws MessageDecodingFailedException */
    private function decoded(mixed $body): Envelope
    {
        if (!\is_array($body) || !\is_string($body['body'] ?? null)) {
            throw new MessageDecodingFailedException('It is none of Messenger.');
        }

        /** @var array{body: string, headers?: array<string, string>} $body */
        return $this->serializer->decode($body);
    }

    /**
     * @template T
     *
     * @param \Closure(): T $do
     *
     * @return T
     */
    private static function told(\Closure $do): mixed
    {
        try {
            return $do();
        } catch (QueueFailure|\InvalidArgumentException $failure) {
            throw new TransportException($failure->getMessage(), 0, $failure);
        }
    }
}
