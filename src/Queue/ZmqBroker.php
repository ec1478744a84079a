<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Config\InvalidConfiguration;
use Larder\System\Quiet;

/**
 * Receives messages and hands them out: the process behind zmq+ipc:// and zmq+tcp://. Messages live in its memory and end with
 * it.
 *
 * It takes requests from whoever reaches its address. So a socket is its user's alone, TCP is for this machine unless the
 * owner says otherwise, each request is checked before anything is done, and no body is ever decoded here.
 *
 * A request is the frames MARK, a number that the answer repeats, the queue's name, a verb and its arguments; numbers are
 * decimal. An answer is that number, "ok", "full" or "refused", and what follows.
 */
final class ZmqBroker
{
    public const MARK = 'larder1';

    /** Bytes of the largest frame. */
    public const LARGEST = 67_108_864;

    public const NAME = '/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/D';

    /** Milliseconds, more than ten years. */
    private const LONGEST = 400_000_000_000;

    /** Requests that it answers before it looks for waiting workers. */
    private const AT_ONCE = 100;

    /** Milliseconds that it may sleep. */
    private const PAUSE = 500;

    /** Queues at the most; empty ones do not count. */
    private const QUEUES = 1_000;

    private readonly \ZMQSocket $socket;

    /**
     * @var ?resource held while it serves a socket
     * @phpstan-ignore property.onlyWritten
     */
    private readonly mixed $lock;

    /** @var array<string, ZmqQueue> by name */
    private array $queues = [];

    /** @var array<string, array<string, array{string, int, int}>> queue to waiting connections: request, end and attempts at the most */
    private array $waiting = [];

    private bool $hasEnded = false;

    /**
     * @param int  $memory bytes that this process may use; it takes no further message then
     * @param bool $public true: other machines may reach it
     *
     * @throws InvalidConfiguration|QueueFailure
     */
    public function __construct(private readonly ZmqAddress $address, private readonly int $memory, bool $public = false)
    {
        if (!$public && !$address->isLocal()) {
            throw new InvalidConfiguration("{$address->toString()} is reached from other machines, and whoever reaches it may read and write every queue. Write 127.0.0.1, or give --public if a firewall keeps strangers away.");
        }
        $this->socket = new \ZMQSocket(new \ZMQContext(), \ZMQ::SOCKET_ROUTER);
        $this->socket->setSockOpt(\ZMQ::SOCKOPT_LINGER, 0);
        $this->socket->setSockOpt(\ZMQ::SOCKOPT_MAXMSGSIZE, self::LARGEST);
        $this->socket->setSockOpt(\ZMQ::SOCKOPT_IPV6, 1);
        $this->lock = $address->path === '' ? null : $this->lock();
        $old = \function_exists('umask') ? \umask(0o177) : null;
        try {
            $this->socket->bind($address->endpoint());
        } catch (\ZMQException $error) {
            throw new QueueFailure("{$address->toString()}: {$error->getMessage()}.", 0, $error);
        } finally {
            $old === null || \umask($old);
        }
    }

    /** Answers until end() is called. */
    public function serve(): void
    {
        $poll = new \ZMQPoll();
        $poll->add($this->socket, \ZMQ::POLL_IN);
        $signals = ZmqSignals::hold();
        while (!$this->hasEnded) {
            $readable = $writable = [];
            try {
                if ($poll->poll($readable, $writable, $this->pause()) > 0) {
                    $this->receive();
                }
            } catch (\ZMQPollException) {
                // A signal arrived.
            }
            $signals->handle();
            $this->wake();
        }
        $signals->release();
    }

    /** Lets serve() return. */
    public function end(): void
    {
        $this->hasEnded = true;
    }

    /** Messages that end with it. */
    public function count(): int
    {
        return \array_sum(\array_map(static fn(ZmqQueue $queue): int => $queue->count(), $this->queues));
    }

    /**
     * ZeroMQ takes a socket's path away from another broker without a word, so a lock tells of that.
     *
     * @return resource
     */
    private function lock(): mixed
    {
        $file = $this->address->path . '.lock';
        $old = \function_exists('umask') ? \umask(0o177) : null;
        $lock = Quiet::call(static fn() => \fopen($file, 'ce'));
        $old === null || \umask($old);
        if ($lock === false) {
            throw new QueueFailure("{$this->address->toString()}: $file cannot be opened: " . Quiet::$reason . '.');
        }
        if (!\flock($lock, \LOCK_EX | \LOCK_NB)) {
            throw new QueueFailure("{$this->address->toString()} is served by another process.");
        }

        return $lock;
    }

    private function receive(): void
    {
        for ($i = 0; $i < self::AT_ONCE; $i++) {
            try {
                $frames = ZmqTransport::frames($this->socket, \ZMQ::MODE_DONTWAIT);
            } catch (\ZMQSocketException) {
                return;
            }
            // No more now.
            if ($frames === null) {
                return;
            }
            [$from, $mark, $request] = $frames + ['', '', ''];
            if ($mark !== self::MARK) {
                continue;
            }
            try {
                $answer = $this->answer($from, $request, $frames[3] ?? '', $frames[4] ?? '', \array_slice($frames, 5));
            } catch (QueueFull $full) {
                $answer = ['full', $full->getMessage()];
            } catch (\UnexpectedValueException $wrong) {
                $answer = ['refused', $wrong->getMessage()];
            }
            $answer === null || $this->send($from, $request, ...$answer);
        }
    }

    /**
     * @param list<string> $arguments
     *
     * @return ?list<string> null: later
     */
    private function answer(string $from, string $request, string $name, string $verb, array $arguments): ?array
    {
        if (\preg_match(self::NAME, $name) !== 1) {
            throw new \UnexpectedValueException('This is not the name of a queue.');
        }
        $queue = $this->queues[$name] ??= \count($this->queues) < self::QUEUES ? new ZmqQueue($name) : throw new \UnexpectedValueException('There are too many queues.');
        $number = static fn(int $at, int $least = 0): int => self::number($arguments[$at] ?? '', $least);
        $token = $arguments[0] ?? '';
        try {
            return match ($verb) {
                'push' => ['ok', ...$this->push($queue, $number(0, 1), $number(1, 1), \array_slice($arguments, 2))],
                'claim' => ['ok', ...self::claimed($queue, $number(0, 1), $number(1, 1), $number(2, 1), \array_slice($arguments, 3))],
                'acknowledge' => ['ok', ...\array_map(static fn(string $token): string => (string) (int) $queue->acknowledge($token), $arguments)],
                'release' => ['ok', (string) (int) $queue->release($token, $number(1), $number(2, 1), $arguments[3] ?? '')],
                'extend' => ['ok', (string) (int) $queue->extend($token, $number(1, 1))],
                'bury' => ['ok', (string) (int) $queue->bury($token, $arguments[1] ?? '')],
                'stats' => ['ok', ...\array_map(static fn(int|bool|float|null $value): string => $value === null ? '' : (string) (\is_bool($value) ? (int) $value : $value), \array_values($queue->stats($number(0, 1))))],
                'dead' => ['ok', ...\array_merge(...\array_map(static fn(array $dead): array => [$dead['id'], (string) $dead['attempts'], (string) $dead['at'], $dead['error'], $dead['body']], $queue->dead($number(0), $number(1, 1))))],
                'retry' => ['ok', (string) $queue->retryDead(\array_slice($arguments, 1), $number(0, 1))],
                'remove' => ['ok', (string) $queue->removeDead(\array_slice($arguments, 1), $number(0))],
                'purge' => ['ok', (string) $queue->purge($number(0, 1))],
                'pause' => ['ok', (string) (int) $queue->pause($number(0) === 1)],
                'wait' => $this->wait($queue, $name, $from, $request, $number(0), $number(1, 1)),
                default => throw new \UnexpectedValueException('This is not a request.'),
            };
        } finally {
            if ($queue->isIdle()) {
                unset($this->queues[$name]);
            }
        }
    }

    /**
     * @param list<string> $arguments
     *
     * @return list<string>
     */
    private function push(ZmqQueue $queue, int $limit, int $attempts, array $arguments): array
    {
        $messages = [];
        foreach (\array_chunk($arguments, 4) as $chunk) {
            [$delay, $priority, $key, $body] = \count($chunk) === 4 ? $chunk : throw new \UnexpectedValueException('A message lacks something.');
            $messages[] = ['delay' => self::number($delay), 'priority' => self::number($priority, -self::LONGEST), 'key' => $key === '' ? null : $key, 'body' => $body];
        }
        if ($messages === []) {
            throw new \UnexpectedValueException('There is no message.');
        }
        if (\memory_get_usage() > $this->memory) {
            throw new QueueFull("The broker's memory is full: it may use $this->memory bytes (queue:serve --memory). Start more workers, or give it more.");
        }

        return $queue->push($messages, $limit, $attempts);
    }

    /**
     * @param list<string> $acknowledged
     *
     * @return list<string>
     */
    private static function claimed(ZmqQueue $queue, int $most, int $visibility, int $attempts, array $acknowledged): array
    {
        \array_map($queue->acknowledge(...), $acknowledged);

        return \array_merge(...\array_map(
            static fn(array $claimed): array => [$claimed['id'], $claimed['token'], (string) $claimed['attempts'], $claimed['body']],
            $queue->claim($most, $visibility, $attempts),
        ));
    }

    /** @return ?list<string> */
    private function wait(ZmqQueue $queue, string $name, string $from, string $request, int $milliseconds, int $attempts): ?array
    {
        if ($queue->available($attempts) > 0) {
            return ['ok'];
        }
        $this->waiting[$name][$from] = [$request, ZmqQueue::now() + $milliseconds, $attempts];

        return null;
    }

    /** Tells as many waiting workers as there are messages, and those whose time is over. */
    private function wake(): void
    {
        $now = ZmqQueue::now();
        foreach ($this->waiting as $name => $connections) {
            $available = null;
            foreach ($connections as $from => [$request, $end, $attempts]) {
                $available ??= isset($this->queues[$name]) ? $this->queues[$name]->available($attempts) : 0;
                if ($available-- > 0 || $end <= $now) {
                    unset($this->waiting[$name][$from]);
                    $this->send((string) $from, $request, 'ok');
                }
            }
            if ($this->waiting[$name] === []) {
                unset($this->waiting[$name]);
            }
        }
    }

    /** Milliseconds until something may be to do. */
    private function pause(): int
    {
        $next = ZmqQueue::now() + self::PAUSE;
        foreach ($this->waiting as $name => $connections) {
            $due = ($this->queues[$name] ?? null)?->due();
            $next = \min($next, $due ?? $next, ...\array_column($connections, 1));
        }

        return \max(0, $next - ZmqQueue::now());
    }

    private function send(string $to, string ...$frames): void
    {
        try {
            // A connection that has gone, or takes nothing, loses its answer and nobody else's.
            $this->socket->sendMulti([$to, ...$frames], \ZMQ::MODE_DONTWAIT);
        } catch (\ZMQSocketException) {
        }
    }

    private static function number(string $digits, int $least = 0): int
    {
        $number = \filter_var($digits, \FILTER_VALIDATE_INT, ['options' => ['min_range' => $least, 'max_range' => self::LONGEST]]);

        return \is_int($number) ? $number : throw new \UnexpectedValueException('A number is missing, or too large or too small.');
    }
}
