<?php

declare(strict_types=1);

// What src/Bridge/Symfony uses of Symfony Messenger, with its signatures, for PHPStan. The tests use the real one.

namespace Symfony\Component\Messenger\Stamp {
    interface StampInterface {}
    interface NonSendableStampInterface extends StampInterface {}
    final class DelayStamp implements StampInterface
    {
        public function getDelay(): int {}
    }
    final class TransportMessageIdStamp implements StampInterface
    {
        public function __construct(mixed $id) {}
    }
}

namespace Symfony\Component\Messenger {
    use Symfony\Component\Messenger\Stamp\StampInterface;

    final class Envelope
    {
        public function with(StampInterface ...$stamps): static {}

        /**
         * @template T of StampInterface
         *
         * @param class-string<T> $stampFqcn
         *
         * @return ?T
         */
        public function last(string $stampFqcn): ?StampInterface {}
    }
}

namespace Symfony\Component\Messenger\Exception {
    class InvalidArgumentException extends \InvalidArgumentException {}
    class TransportException extends \RuntimeException {}
    class MessageDecodingFailedException extends \InvalidArgumentException {}
}

namespace Symfony\Component\Messenger\Transport\Serialization {
    use Symfony\Component\Messenger\Envelope;

    interface SerializerInterface
    {
        /** @param array<array-key, mixed> $encodedEnvelope */
        public function decode(array $encodedEnvelope): Envelope;

        /** @return array<array-key, mixed> */
        public function encode(Envelope $envelope): array;
    }
}

namespace Symfony\Component\Messenger\Transport\Sender {
    use Symfony\Component\Messenger\Envelope;

    interface SenderInterface
    {
        public function send(Envelope $envelope): Envelope;
    }
}

namespace Symfony\Component\Messenger\Transport\Receiver {
    use Symfony\Component\Messenger\Envelope;

    interface ReceiverInterface
    {
        /** @return iterable<Envelope> */
        public function get(): iterable;

        public function ack(Envelope $envelope): void;

        public function reject(Envelope $envelope): void;
    }
    interface KeepaliveReceiverInterface extends ReceiverInterface
    {
        public function keepalive(Envelope $envelope, ?int $seconds = null): void;
    }
    interface MessageCountAwareInterface
    {
        public function getMessageCount(): int;
    }
}

namespace Symfony\Component\Messenger\Transport {
    use Symfony\Component\Messenger\Transport\Receiver\ReceiverInterface;
    use Symfony\Component\Messenger\Transport\Sender\SenderInterface;
    use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;

    interface TransportInterface extends ReceiverInterface, SenderInterface {}

    /** @template-covariant TTransport of TransportInterface */
    interface TransportFactoryInterface
    {
        /** @param array<array-key, mixed> $options */
        public function createTransport(string $dsn, array $options, SerializerInterface $serializer): TransportInterface;

        /** @param array<array-key, mixed> $options */
        public function supports(string $dsn, array $options): bool;
    }
}
