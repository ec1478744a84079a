<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Messenger;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Queue\Queue;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Transport\TransportFactoryInterface;
use Symfony\Component\Messenger\Transport\TransportInterface;

/**
 * Makes Messenger's transports of DSNs that begin with "larder+": larder+sqlite:///var/lib/app/queue, larder+redis://….
 *
 * Options, in the DSN's query or in the transport's configuration: `queue` ("messages"), `visibility` (seconds that a message
 * is one worker's; 60), and those of Queue::open().
 *
 * @implements TransportFactoryInterface<LarderTransport>
 */
final class LarderTransportFactory implements TransportFactoryInterface
{
    private const SCHEME = 'larder+';

    /** @param array<string, mixed> $options */
    public function createTransport(#[\SensitiveParameter] string $dsn, #[\SensitiveParameter] array $options, SerializerInterface $serializer): TransportInterface
    {
        try {
            [$place, $given] = Dsn::split(\substr($dsn, \strlen(self::SCHEME)));
            // Symfony's own.
            unset($options['transport_name']);
            $name = $options['queue'] ?? $given['queue'] ?? 'messages';
            $visibility = \filter_var($options['visibility'] ?? $given['visibility'] ?? 60, \FILTER_VALIDATE_INT, ['options' => ['min_range' => 1]]);
            unset($options['queue'], $options['visibility'], $given['queue'], $given['visibility']);
            if (!\is_string($name) || !\is_int($visibility)) {
                throw new InvalidArgumentException('The option "queue" is a name, and "visibility" a whole number of seconds: larder+sqlite:///var/lib/app/queue?queue=mail&visibility=60.');
            }

            return new LarderTransport(Queue::open(['dsn' => Dsn::with($place, $given), ...$options], $name), $serializer, $visibility);
        } catch (InvalidConfiguration $wrong) {
            throw new InvalidArgumentException($wrong->getMessage(), 0, $wrong);
        }
    }

    /** @param array<array-key, mixed> $options */
    public function supports(#[\SensitiveParameter] string $dsn, #[\SensitiveParameter] array $options): bool
    {
        return \str_starts_with($dsn, self::SCHEME);
    }
}
