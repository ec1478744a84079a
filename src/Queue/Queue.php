<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Codec\Codec;
use Larder\Codec\NotStorable;
use Larder\Codec\Undecodable;
use Larder\Config\InvalidConfiguration;
use Larder\Config\PlainDsn;
use Larder\System\Clock;
use Larder\System\WrongUser;

/**
 * Work for later: each message is handed to a worker at least once, the greatest priority first, then the oldest.
 *
 * A message that was not acknowledged when its visibility time ends is handed out again; after its last attempt it is
 * dead, and stays where dead() and retryDead() find it. A worker may therefore see a message twice: after a crash, or if it
 * takes longer than it said.
 *
 * This folder holds the queue. It has transports of its own over Driver/, and none over Store/: a cache may forget.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-import-type Claimed from Transport
 * @phpstan-import-type Stats from Transport
 */
final class Queue
{
    /** What a queue may be called. */
    public const NAME = '/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/D';

    /** Nanoseconds between two looks for dead messages that have stayed long enough. */
    private const LOOK = 60_000_000_000;

    private ?Transport $transport = null;

    private ?Rate $rate = null;

    /** hrtime() of the next look. */
    private int $kept = 0;

    /**
     * @param ?PushLog $log where most messages go, so that what else is here need not be loaded for a push
     */
    private function __construct(private readonly string $name, private ?QueueOptions $options, private readonly ?PushLog $log, private readonly string $dsn) {}

    /**
     * @param string|array<string, mixed> $source a DSN (sqlite:///directory, redis://…, predis://…), or an array with "dsn"
     *                                            and options: `limit` (waiting messages; 1,000,000), `attempts` (5), `keep` (seconds that the dead stay), `secret`
     * @param string                      $name   of the queue
     *
     * @throws InvalidConfiguration
     * @throws WrongUser            the directory belongs to another user
     * @throws QueueFailure         the directory cannot be had now; NotSupported where the transport lacks an option
     */
    public static function open(#[\SensitiveParameter] string|array $source, string $name = 'default'): self
    {
        \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../../classes/queue.php') && require __DIR__ . '/../../classes/queue.php';
        $directory = \preg_match(self::NAME, $name) === 1 ? PlainDsn::directory($source) : null;
        if ($directory !== null && \is_string($source)) {
            // A long process may run out of files, and then cannot load what it is to throw.
            \PHP_SAPI === 'cli' && \class_exists(QueueFailure::class);

            return new self($name, null, new PushLog($directory, $name), $source);
        }
        \PHP_SAPI === 'cli' || \is_file(__DIR__ . '/../../classes/queue-redis.php') && require __DIR__ . '/../../classes/queue-redis.php';
        $queue = new self($name, QueueOptions::from($source, $name), null, '');
        $queue->transport();

        return $queue;
    }

    /** @internal for FakeQueue */
    public static function over(Transport $transport, QueueOptions $options, string $name): self
    {
        $queue = new self($name, $options, null, '');
        $queue->transport = $transport;

        return $queue;
    }

    /**
     * The same queue at a rate: what is taken from it so is at most so many messages within any so many seconds, in all processes
     * and servers that take from it at this rate together. A message beyond it stays where it is.
     *
     * Exact by the transport's clock, and decided in the step that hands a message out. Let all workers of a queue have the same
     * rate: who takes without one is neither counted nor held back, and other seconds count by themselves.
     *
     * @param int       $messages 1 to 10,000: the time of each is kept
     * @param int|float $seconds  0.001 to ten years
     *
     * @throws QueueFailure|\InvalidArgumentException
     */
    public function atMost(int $messages, int|float $seconds): self
    {
        $rate = new Rate($messages, $seconds);
        $this->transport();
        $queue = clone $this;
        $queue->rate = $rate;

        return $queue;
    }

    /** @internal for Worker: whether the last pop() gave nothing because of the rate, and something is ready */
    public function isHeldBack(): bool
    {
        return $this->rate !== null && $this->rate->held > 0;
    }

    /**
     * Adds a message.
     *
     * @param int|float $delay    seconds before which no worker gets it; at most ten years
     * @param int       $priority the greater number first; of 32 bits
     * @param ?string   $key      of at most one waiting message (due or delayed): if one waits with this key, nothing is
     *                            added. Once that one is handed out the key is free. If it comes back while a newer one
     *                            waits with its key, it is dropped: give one key to what needs doing once
     * @param bool      $untilHandled whether this message has its key also while it is handled, until it is acknowledged or
     *                                dead. What counts is how the message was pushed that has the key, not this call
     *
     * @return string the message's id, or that of the one that has the key
     *
     * @throws NotStorable|QueueFull|QueueFailure|\InvalidArgumentException
     */
    public function push(mixed $body, int|float $delay = 0, int $priority = 0, ?string $key = null, bool $untilHandled = false): string
    {
        if ($this->log !== null && $delay === 0 && $key === null && $priority === 0 && !$untilHandled) {
            // A string as Codec encodes it, which need not be loaded for that.
            $id = $this->log->push(0, \is_string($body) ? "\x00" . $body : $this->options()->codec->encode($body));
            if ($id !== null) {
                return $id;
            }
        }

        return $this->transport()->push([$this->message($body, $delay, $priority, $key, $untilHandled)])[0];
    }

    /**
     * Adds messages in one step: all or none.
     *
     * @param iterable<mixed> $bodies
     *
     * @return list<string> their ids, in order
     *
     * @throws NotStorable|QueueFull|QueueFailure
     */
    public function pushMany(iterable $bodies, int|float $delay = 0, int $priority = 0): array
    {
        // All but the body is checked once.
        $message = $this->message(null, $delay, $priority, null, false);
        $messages = [];
        $options = $this->options();
        foreach ($bodies as $body) {
            // As Codec encodes a string.
            $message['body'] = \is_string($body) && $options->signer === null ? Codec::STRING . $body : $this->encode($options, $body);
            $messages[] = $message;
        }

        return $messages === [] ? [] : $this->transport()->push($messages);
    }

    /**
     * The next message, if one is due.
     *
     * @param int   $visibility seconds for which no other worker gets it; 1 to ten years
     * @param float $wait       seconds to wait for one
     *
     * @throws QueueFailure|\InvalidArgumentException
     */
    public function pop(int $visibility = 60, float $wait = 0): ?Message
    {
        return $this->popMany(1, $visibility, $wait)[0] ?? null;
    }

    /** @return list<Message> as many as are due, $max at the most; waits only while there is none */
    public function popMany(int $max, int $visibility = 60, float $wait = 0): array
    {
        return $this->next($max, $visibility, $wait, null);
    }

    /** Acknowledges messages in one step; those of another queue each by itself. @return int how many were still this process's */
    public function ackMany(Message ...$messages): int
    {
        $transport = $this->transport();
        $own = [];
        $count = 0;
        foreach ($messages as $message) {
            if ($message->isOf($transport)) {
                $own[] = $message;
            } else {
                $count += (int) $message->ack();
            }
        }
        if ($own === []) {
            return $count;
        }
        $count += \count(\array_filter($transport->acknowledge(\array_map(static fn(Message $message): array => $message->claim(), $own))));
        foreach ($own as $message) {
            $message->end();
        }

        return $count;
    }

    /** Acknowledges a message and takes the next one, in one step if it is of this queue. */
    public function ackAndPop(Message $message, int $visibility = 60, float $wait = 0): ?Message
    {
        return $this->next(1, $visibility, $wait, $message)[0] ?? null;
    }

    /** Messages that wait, due or delayed: neither those being handled nor the dead. */
    public function size(): int
    {
        return $this->transport()->size();
    }

    /** @return Stats figures for people */
    public function stats(): array
    {
        $this->forgetDead();

        return $this->transport()->stats();
    }

    /**
     * @internal a message that another process handles, so that this one can extend or release it; its body is not known here
     */
    public function held(string $id, string $token, int $attempts): Message
    {
        return new Message($this->transport(), $token, $id, null, $attempts, $this->options()->retry);
    }

    /**
     * Messages that wait, without handing them out: those that are due in the order in which they would be, then the delayed ones.
     *
     * @param ?string $id only this one
     *
     * @return list<array{id: string, body: mixed, attempts: int, error: string}> error: why the body cannot be told; ''
     */
    public function waiting(int $limit = 100, ?string $id = null): array
    {
        return \array_map(function (array $waiting): array {
            $error = null;
            $body = $this->decode($this->options(), $waiting['body'], $error);

            return ['id' => $waiting['id'], 'body' => $error === null ? $body : null, 'attempts' => $waiting['attempts'], 'error' => $error ?? ''];
        }, $id === '' ? [] : $this->transport()->waiting($limit >= 0 ? $limit : throw new \InvalidArgumentException("waiting() was asked for $limit messages; ask for 0 or more."), $id ?? ''));
    }

    /**
     * Removes messages that wait, by their ids; none that a worker has now, and none of the dead.
     *
     * @return int how many
     */
    public function remove(string ...$ids): int
    {
        return $this->transport()->remove(\array_values($ids));
    }

    /** @return list<array{id: string, body: mixed, attempts: int, error: string, at: int}> the oldest first; `at` is a Unix time */
    public function dead(int $limit = 100): array
    {
        $this->forgetDead();

        return \array_map(function (array $dead): array {
            $error = null;
            $body = $this->decode($this->options(), $dead['body'], $error);

            return ['id' => $dead['id'], 'body' => $error === null ? $body : null, 'attempts' => $dead['attempts'], 'error' => $dead['error'] === '' ? $error ?? '' : $dead['error'], 'at' => \intdiv($dead['at'], 1000)];
        }, $this->transport()->dead($limit >= 0 ? $limit : throw new \InvalidArgumentException("dead() was asked for $limit messages; ask for 0 or more.")));
    }

    /**
     * Lets dead messages wait again; without ids, all of them.
     *
     * @return int how many; one whose key another message has stays dead
     *
     * @throws QueueFull they are more than may wait, and all stay dead. Over Redis, of several thousand some may wait if
     *                   others push meanwhile
     */
    public function retryDead(string ...$ids): int
    {
        return $this->transport()->retryDead(\array_values($ids));
    }

    /**
     * Removes dead messages for good.
     *
     * @param int|float $age seconds since they died, at least
     * @param string    $ids without any, all of that age
     *
     * @return int how many
     */
    public function removeDead(int|float $age = 0, string ...$ids): int
    {
        return $this->transport()->removeDead(\array_values($ids), Seconds::milliseconds('age', $age));
    }

    /** Removes the dead that have stayed as long as the option "keep" says. Looks once a minute. */
    private function forgetDead(): void
    {
        $keep = $this->options()->keep;
        if ($keep > 0 && ($now = \hrtime(true)) >= $this->kept) {
            $this->kept = $now + self::LOOK;
            $this->transport()->removeDead([], $keep);
        }
    }

    /** Removes all messages that wait. @return int how many */
    public function purge(): int
    {
        return $this->transport()->purge();
    }

    /** Hands out nothing until resume(), to any worker. Messages may still be pushed. */
    public function pause(): void
    {
        $this->transport()->pause(true);
    }

    public function resume(): void
    {
        $this->transport()->pause(false);
    }

    /**
     * @param ?Message $handled to be acknowledged in the same step
     *
     * @return list<Message>
     */
    private function next(int $max, int $visibility, float $wait, ?Message $handled): array
    {
        if ($max < 1) {
            throw new \InvalidArgumentException("$max messages were asked for; ask for 1 or more.");
        }
        $visibility = Seconds::milliseconds('visibility', $visibility, 1);
        $wait = $wait === 0.0 ? 0 : Seconds::milliseconds('wait', $wait);
        $end = $wait === 0 ? 0 : \hrtime(true) + $wait * 1_000_000;
        $transport = $this->transport ?? $this->transport();
        $acknowledged = [];
        if ($handled?->isOf($transport) === true) {
            $acknowledged[] = $handled->claim();
        } else {
            $handled?->ack();
        }
        $options = $this->options ?? $this->options();
        while (true) {
            $messages = [];
            $claims = $transport->claim($max, $visibility, $acknowledged, $this->rate);
            $handled?->end();
            foreach ($claims as $claim) {
                $error = null;
                $body = $claim['body'];
                // A string, most often, is decoded without a call.
                $body = $options->signer === null && $body !== '' && $body[0] === Codec::STRING ? \substr($body, 1) : $this->decode($options, $body, $error);
                if ($error === null) {
                    $messages[] = new Message($transport, $claim['token'], $claim['id'], $body, $claim['attempts'], $options->retry);
                } else {
                    $transport->bury($claim['id'], $claim['token'], $error);
                }
            }
            if ($messages !== []) {
                return $messages;
            }
            $acknowledged = [];
            // If all were dead letters, others may be due behind them.
            if ($claims === []) {
                $this->forgetDead();
                $left = $wait === 0 ? 0 : \intdiv($end - \hrtime(true), 1_000_000);
                if ($left <= 0) {
                    return [];
                }
                // What holds a message back is its time, and not a push.
                $this->isHeldBack() ? Clock::pause(\min($left, (int) $this->rate?->held) * 1_000) : $transport->wait($left);
            }
        }
    }

    /**
     * @internal for Schedule: Transport::pushForTime()
     *
     * @param ?New $message
     */
    public function pushForTime(string $schedule, int $time, int $since, ?array $message, int $latest): bool
    {
        return $this->transport()->pushForTime($schedule, $time, $since, $message, $latest);
    }

    /** @internal for FakeQueue: a body as a worker gets it; null: it cannot be had here */
    public function body(string $bytes): mixed
    {
        return $this->decode($this->options(), $bytes, $error);
    }

    private function options(): QueueOptions
    {
        return $this->options ??= QueueOptions::from($this->dsn, $this->name);
    }

    private function transport(): Transport
    {
        return $this->transport ??= $this->options()->transport($this->name);
    }

    /**
     * @internal a message as a transport wants it
     *
     * @return New
     *
     * @throws NotStorable|\InvalidArgumentException
     */
    public function message(mixed $body, int|float $delay, int $priority, ?string $key, bool $stays): array
    {
        if ($priority < -2_147_483_648 || $priority > 2_147_483_647) {
            throw new \InvalidArgumentException("The priority $priority is not within 32 bits.");
        }
        if ($key === '' || ($key !== null && \strlen($key) > 1_000)) {
            throw new \InvalidArgumentException('The key of a message has 1 to 1,000 bytes.');
        }
        if ($stays && $key === null) {
            throw new \InvalidArgumentException('Only a message with a key can have it until it was handled (untilHandled): give it a key.');
        }

        return [
            'body' => $this->encode($this->options(), $body),
            'delay' => Seconds::milliseconds('delay', $delay),
            'priority' => $priority,
            'key' => $key,
            'stays' => $stays,
        ];
    }

    private function encode(QueueOptions $options, mixed $body): string
    {
        $bytes = $options->codec->encode($body);

        return $options->signer === null ? $bytes : $options->signer->sign("queue $this->name", $bytes);
    }

    /** @param ?string $error set if the body cannot be had here: it has the wrong signature, or a class is not there */
    private function decode(QueueOptions $options, string $bytes, ?string &$error): mixed
    {
        if ($options->signer !== null) {
            $bytes = $options->signer->open("queue $this->name", $bytes);
            if ($bytes === null) {
                $error = 'It is not signed with this secret.';

                return null;
            }
        }
        try {
            return $options->codec->decode($bytes);
        } catch (Undecodable $undecodable) {
            $error = $undecodable->getMessage();

            return null;
        }
    }
}
