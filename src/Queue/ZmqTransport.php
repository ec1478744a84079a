<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Process;

/**
 * A queue in the memory of a broker, bin/larder queue:serve, which this process asks by ZeroMQ.
 *
 * A push returns when the broker has the message. Nothing outlives the broker: neither what waits, nor what is being handled,
 * nor the dead. While it lives it keeps what every transport does. What it refuses stands in NotSupported.
 */
final class ZmqTransport implements Transport
{
    /** Milliseconds after which a waiting worker looks in any case: the one that was woken may have died. */
    private const LOOK = 1_000;

    /** EINTR */
    private const INTERRUPTED = 4;

    /** ZMQ_IMMEDIATE (zmq.h): nothing is sent before there is a broker */
    private const IMMEDIATE = 39;

    private ?\ZMQSocket $socket = null;
    private int $process = 0;
    private int $requests = 0;

    public function __construct(
        private readonly ZmqAddress $address,
        private readonly float $timeout,
        private readonly string $queue,
        private readonly int $limit,
        private readonly Retry $retry,
    ) {}

    public function push(array $messages): array
    {
        $arguments = [self::number($this->limit), $this->attempts()];
        foreach ($messages as $message) {
            if (\strlen($message['body']) > ZmqBroker::LARGEST) {
                throw NotSupported::large(\strlen($message['body']), ZmqBroker::LARGEST);
            }
            \array_push($arguments, (string) $message['delay'], (string) $message['priority'], $message['key'] ?? '', $message['body']);
        }

        return $this->ask('push', $arguments);
    }

    public function claim(int $most, int $visibility, array $acknowledged = []): array
    {
        return \array_map(
            static fn(array $frames): array => ['id' => $frames[0], 'token' => $frames[1] ?? '', 'attempts' => (int) ($frames[2] ?? ''), 'body' => $frames[3] ?? ''],
            \array_chunk($this->ask('claim', [self::number($most), (string) $visibility, $this->attempts(), ...\array_column($acknowledged, 1)]), 4),
        );
    }

    public function acknowledge(array $claims): array
    {
        return \array_map(static fn(string $done): bool => $done === '1', $this->ask('acknowledge', \array_column($claims, 1)));
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        return $this->ask('release', [$token, (string) $delay, $this->attempts(), \substr($error, 0, 8_000)]) === ['1'];
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        return $this->ask('extend', [$token, (string) $visibility]) === ['1'];
    }

    public function bury(string $id, string $token, string $error): bool
    {
        return $this->ask('bury', [$token, \substr($error, 0, 8_000)]) === ['1'];
    }

    public function size(): int
    {
        $stats = $this->stats();

        return $stats['ready'] + $stats['delayed'];
    }

    public function stats(): array
    {
        [$ready, $delayed, $claimed, $dead, $isPaused, $late] = $this->ask('stats', [$this->attempts()]) + ['0', '0', '0', '0', '0', ''];

        return ['ready' => (int) $ready, 'delayed' => (int) $delayed, 'claimed' => (int) $claimed, 'dead' => (int) $dead, 'paused' => $isPaused === '1', 'late' => $late === '' ? null : (float) $late];
    }

    public function dead(int $limit): array
    {
        return \array_map(
            static fn(array $frames): array => ['id' => $frames[0], 'attempts' => (int) ($frames[1] ?? ''), 'at' => (int) ($frames[2] ?? ''), 'error' => $frames[3] ?? '', 'body' => $frames[4] ?? ''],
            \array_chunk($this->ask('dead', [self::number($limit), $this->attempts()]), 5),
        );
    }

    public function retryDead(array $ids): int
    {
        return (int) ($this->ask('retry', [self::number($this->limit), ...$ids])[0] ?? 0);
    }

    public function removeDead(array $ids, int $age): int
    {
        return (int) ($this->ask('remove', [self::number($age), ...$ids])[0] ?? 0);
    }

    public function purge(): int
    {
        return (int) ($this->ask('purge', [$this->attempts()])[0] ?? 0);
    }

    public function pause(bool $isPaused): void
    {
        $this->ask('pause', [(string) (int) $isPaused]);
    }

    public function wait(int $milliseconds): void
    {
        $milliseconds = \min($milliseconds, self::LOOK);
        $this->ask('wait', [(string) $milliseconds, $this->attempts()], $milliseconds);
    }

    private function attempts(): string
    {
        return self::number($this->retry->most);
    }

    /** The broker's memory has no more messages than that. */
    private static function number(int $count): string
    {
        return (string) \min($count, 1_000_000_000);
    }

    /**
     * @param list<string> $arguments
     * @param int          $longer    milliseconds that the broker may take besides
     *
     * @return list<string>
     */
    private function ask(string $verb, array $arguments, int $longer = 0): array
    {
        $end = \hrtime(true) + (int) ($this->timeout * 1e9) + $longer * 1_000_000;
        // The process's, so that no answer to another one is taken for this.
        $request = Process::id() . '-' . ++$this->requests;
        $socket = $this->socket();
        $signals = ZmqSignals::hold();
        try {
            $this->send($socket, [ZmqBroker::MARK, $request, $this->queue, $verb, ...$arguments], $end);
            do {
                $answer = $this->receive($socket, $end);
                if ($answer === [] && $longer > 0) {
                    return [];
                }
            } while (($answer[0] ?? '') !== $request);
        } catch (\Throwable $thrown) {
            // What is under way goes with the socket.
            $this->socket = null;
            throw $thrown;
        } finally {
            $signals->release();
        }

        return match ($answer[1] ?? '') {
            'ok' => \array_slice($answer, 2),
            'full' => throw new QueueFull($answer[2] ?? ''),
            default => throw new QueueFailure("{$this->address->toString()} refused: " . ($answer[2] ?? '')),
        };
    }

    private function socket(): \ZMQSocket
    {
        if ($this->socket !== null && $this->process === Process::id()) {
            return $this->socket;
        }
        $path = $this->address->path;
        if ($path !== '' && \function_exists('posix_geteuid') && \file_exists($path) && \fileowner($path) !== \posix_geteuid() && \posix_geteuid() !== 0) {
            throw new QueueFailure("$path belongs to another user: who serves it would read what is pushed. Run bin/larder queue:serve as this user.");
        }
        // A parent's socket, which goes here, is left alone by the extension (php-zmq, zmq.c, php_zmq_socket_destroy).
        $this->process = Process::id();
        $socket = self::open();
        $socket->setSockOpt(\ZMQ::SOCKOPT_LINGER, 0);
        $socket->setSockOpt(self::IMMEDIATE, 1);
        $socket->setSockOpt(\ZMQ::SOCKOPT_RECONNECT_IVL, 20);
        $socket->setSockOpt(\ZMQ::SOCKOPT_RECONNECT_IVL_MAX, 500);
        $socket->setSockOpt(\ZMQ::SOCKOPT_IPV6, 1);
        try {
            $socket->connect($this->address->endpoint());
        } catch (\ZMQException $error) {
            throw new QueueFailure("{$this->address->toString()}: {$error->getMessage()}; nothing was done.", 0, $error);
        }

        return $this->socket = $socket;
    }

    /**
     * A context that is freed before its socket waits for that for ever (zmq_ctx_term(3)). What lives when PHP ends is freed
     * from the last handle to the first (Zend/zend_objects_API.c, zend_objects_store_free_object_storage), and a new object
     * takes the handle that was given back last. So the context takes the lesser one of two.
     */
    private static function open(): \ZMQSocket
    {
        $one = new \stdClass();
        $other = new \stdClass();
        [$lesser, $greater] = \spl_object_id($one) < \spl_object_id($other) ? [$one, $other] : [$other, $one];
        unset($one, $other, $greater, $lesser);
        $context = new \ZMQContext(1, false);

        return new \ZMQSocket($context, \ZMQ::SOCKET_DEALER);
    }

    /** @param list<string> $frames */
    private function send(\ZMQSocket $socket, array $frames, int $end): void
    {
        do {
            try {
                $socket->setSockOpt(\ZMQ::SOCKOPT_SNDTIMEO, self::left($end));
                /** @var \ZMQSocket|false $isSent false: there is no broker in that time */
                $isSent = $socket->sendMulti($frames);
                if ($isSent !== false) {
                    return;
                }
                $why = 'nobody serves it';
            } catch (\ZMQException $error) {
                $why = $error->getMessage();
                $isSent = $error->getCode() === self::INTERRUPTED ? null : false;
            }
        } while ($isSent === null);
        throw new QueueFailure("{$this->address->toString()}: $why; nothing was done. Start bin/larder queue:serve {$this->address->toString()}.");
    }

    /** @return list<string> none: a signal arrived */
    private function receive(\ZMQSocket $socket, int $end): array
    {
        try {
            $socket->setSockOpt(\ZMQ::SOCKOPT_RCVTIMEO, self::left($end));
            $frames = self::frames($socket);
            if ($frames !== null) {
                return $frames;
            }
            $why = 'no answer in time';
        } catch (\ZMQException $error) {
            if ($error->getCode() === self::INTERRUPTED) {
                return [];
            }
            $why = $error->getMessage();
        }
        throw new QueueFailure("{$this->address->toString()}: $why; the broker may have done it or not.");
    }

    /**
     * @return ?non-empty-list<string> null: there is none in time
     *
     * @throws \ZMQSocketException
     */
    public static function frames(\ZMQSocket $socket, int $mode = 0): ?array
    {
        /** @var list<string>|false $frames */
        $frames = $socket->recvMulti($mode);

        return $frames === false || $frames === [] ? null : $frames;
    }

    /** Milliseconds until then. */
    private static function left(int $end): int
    {
        return \max(0, \intdiv($end - (int) \hrtime(true), 1_000_000));
    }
}
