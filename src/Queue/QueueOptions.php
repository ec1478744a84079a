<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Codec\Codec;
use Larder\Codec\Signer;
use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Config\Options;
use Larder\Driver\Redis\RedisConnection;
use Larder\System\Failure;

/** The options of a queue, checked; every default stands here. */
final readonly class QueueOptions
{
    private const KNOWN = ['limit', 'attempts', 'keep', 'secret', 'synchronous', 'persistent'];

    /** Messages that may wait. */
    private const LIMIT = 1_000_000;

    /** After which a message is dead. */
    private const ATTEMPTS = 5;

    /** @param array<array-key, mixed> $options */
    private function __construct(private Dsn $dsn, public int $limit, private bool $isFull, private float $timeout, public Codec $codec, public ?Signer $signer, public Retry $retry, private bool $isKept, public int $keep, private array $options) {}

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration
     */
    public static function from(#[\SensitiveParameter] string|array $source, string $name): self
    {
        if (\preg_match(Queue::NAME, $name) !== 1) {
            throw new InvalidConfiguration('A queue\'s name has 1 to 64 letters, digits and any of "_ . -", and begins with a letter or a digit. Write for example mail.');
        }
        [$dsn, $options] = KeepingDsn::read($source, self::KNOWN, 'sqlite:///var/lib/app/queue');
        if (isset($dsn->query['secret'])) {
            throw InvalidConfiguration::onlyInArray('secret');
        }
        $secret = isset($options['secret']) ? Options::secrets($options['secret']) : null;
        $isFull = isset($options['synchronous']) && Options::choice('synchronous', $options['synchronous'], ['normal' => '', 'full' => '']) === 'full';
        if (isset($options['synchronous']) && $dsn->scheme !== 'sqlite') {
            throw new NotSupported('Redis has no option "synchronous": how durable a message is says redis.conf (appendonly, appendfsync). Leave the option out.');
        }

        $limit = isset($options['limit']) ? Options::number('limit', $options['limit'], 1, '100000') : self::LIMIT;
        $attempts = isset($options['attempts']) ? Options::number('attempts', $options['attempts'], 1, '5') : self::ATTEMPTS;

        return new self($dsn, $limit, $isFull, KeepingDsn::timeout($options), Codec::create(null, null), $secret === null ? null : new Signer($secret), new Retry($attempts), isset($options['persistent']) && Options::persistent($dsn, $options['persistent']), isset($options['keep']) ? (int) \ceil(Options::seconds('keep', $options['keep'], '604800') * 1000) : 0, \array_diff_key($options, ['dsn' => true, 'secret' => true]));
    }

    public function transport(string $name): Transport
    {
        // A long process may run out of files, and then cannot load classes either.
        \PHP_SAPI === 'cli' && \array_map(\class_exists(...), [QueueFull::class, Failure::class, Seconds::class, Message::class, MessageTables::class]);
        $dsn = $this->dsn;
        if ($dsn->scheme === 'sqlite') {
            $dsn->needs();

            return new SqliteTransport(KeepingDsn::directory($dsn, QueueFailure::class), $name, $this->limit, $this->retry, $this->isFull, $this->timeout);
        }
        if (\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            $dsn->needs();

            $options = $this->options;

            return new RedisTransport(static fn(float $timeout, bool $isKept): RedisConnection => KeepingDsn::redis($dsn, $options, $timeout, $name, $isKept), $this->timeout, $name, $this->limit, $this->retry, $this->isKept, $dsn->isSingle());
        }

        throw new InvalidConfiguration('"' . $dsn->toString() . '" cannot hold a queue. Write sqlite:///directory, redis://host or predis://host; tests use Larder\Queue\FakeQueue.');
    }
}
