<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Redis\ErrorReply;
use Larder\Driver\Redis\Eviction;
use Larder\Driver\Redis\RedisConnection;
use Larder\System\Failure;

/**
 * A queue in a Redis (6 or newer) or Valkey server, shared by all servers that reach it. Each call is one script and one
 * round trip; the clock is the server's.
 *
 * What is pushed is as durable as the server's own persistence, which is the owner's choice in redis.conf. With `appendonly
 * yes` and `appendfsync always` a message outlives everything but its disk. With `everysec` a power cut takes the last second
 * or two. With snapshots a restart goes back to the last one, and with neither it begins empty. A replica that takes over may
 * lack the last messages: Redis replicates after it has answered.
 *
 * The server may not evict: with a limited memory and an allkeys policy it refuses the queue.
 *
 * @phpstan-import-type New from Transport
 */
final class RedisTransport implements Transport
{
    /** Messages whose time has come that one claim lets be ready, so that a pile of them does not stop everybody. */
    private const PROMOTED = '200';

    /** Messages that one step of a purge or of a retry takes, for the same reason. */
    private const STEP = 1_000;

    private readonly string $base;

    private readonly RedisConnection $connection;

    /** What follows the queue's name in those of its keys, but for its lists and rates. */
    private const KEYS = [':p', ':r', ':d', ':c', ':x', ':e', ':m', ':k', ':s', ':wake'];

    /** Messages of one push to a single endpoint, which takes 3,999 arguments. */
    private const PUSHED = 990;

    /** @var array<string, string> script to its name for the server */
    private array $hashes = [RedisScript::PUSH => RedisScript::PUSH_HASH];

    /** Milliseconds after which the last claim wants to look again. */
    private int $look = RedisScript::LOOK;

    /**
     * @param \Closure(float, bool): RedisConnection $connect gives one that waits so many seconds for an answer; whether PHP keeps it
     * @param float                             $timeout of a call, in seconds
     * @param bool                              $isSingle whether it is a single endpoint, which wants the keys of scripts declared
     */
    public function __construct(
        private readonly \Closure $connect,
        private readonly float $timeout,
        private readonly string $queue,
        private readonly int $limit,
        private readonly Retry $retry,
        bool $isKept = false,
        private readonly bool $isSingle = false,
    ) {
        $this->connection = $connect($timeout, $isKept);
        $this->base = "larder:queue:{{$queue}}";
    }

    public function push(array $messages): array
    {
        if ($this->isSingle && \count($messages) > self::PUSHED) {
            throw new QueueFailure('A single endpoint takes at most ' . self::PUSHED . ' messages in one step. Push fewer at once; nothing was done.');
        }
        $arguments = [(string) $this->limit, (string) $this->retry->most, self::PROMOTED];
        $script = RedisScript::PUSH;
        foreach ($messages as $message) {
            $script = $message['key'] === null ? $script : RedisScript::PUSH_KEYED;
            \array_push($arguments, ...self::arguments($message));
        }
        $reply = $this->keep($script, $arguments);
        if (\is_int($reply)) {
            throw QueueFull::holding($this->queue, $reply, $this->limit);
        }

        return \array_map($this->outside(...), self::texts($reply));
    }

    public function pushForTime(string $schedule, int $time, int $since, ?array $message, int $latest): bool
    {
        $reply = $this->keep(RedisScript::PUSH_FOR_TIME, [
            (string) $this->limit, (string) $this->retry->most, self::PROMOTED, ...($message === null ? [] : self::arguments($message)), $schedule, (string) $time, (string) $since, (string) $latest,
        ]);
        if (\is_int($reply)) {
            throw QueueFull::holding($this->queue, $reply, $this->limit);
        }

        return $reply !== [];
    }

    public function claim(int $most, int $visibility, array $acknowledged = [], ?Rate $rate = null): array
    {
        $reply = $this->run(RedisScript::CLAIM, [
            (string) $most, (string) $visibility, \bin2hex(\random_bytes(8)), (string) $this->retry->most, self::PROMOTED,
            (string) ($rate->messages ?? 0), (string) ($rate->window ?? 0), ...\array_column($acknowledged, 1),
        ], ':h:' . ($rate->window ?? 0));
        if (!\is_array($reply)) {
            return [];
        }
        $look = \is_int($reply[0] ?? null) ? $reply[0] : RedisScript::LOOK;
        $this->look = $look < 0 ? RedisScript::LOOK : $look;
        $rate === null || $rate->held = \max(0, -$look);
        $claimed = [];
        for ($i = 1; $i + 1 < \count($reply); $i += 2) {
            [$claim, $message] = self::texts([$reply[$i], $reply[$i + 1]]);
            [$id, $body] = self::parts($message);
            $claimed[] = ['id' => $this->outside($id), 'token' => $claim, 'body' => $body, 'attempts' => self::attempts($claim)];
        }

        return $claimed;
    }

    public function acknowledge(array $claims): array
    {
        return \array_map(static fn(mixed $done): bool => $done === 1, self::list($this->run(RedisScript::ACKNOWLEDGE, \array_column($claims, 1))));
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        return $this->run(RedisScript::RELEASE, [$token, (string) $delay, (string) $this->retry->most, self::error($error)]) === 1;
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        return $this->run(RedisScript::EXTEND, [$token, (string) $visibility]) === 1;
    }

    public function bury(string $id, string $token, string $error): bool
    {
        return $this->run(RedisScript::BURY, [$token, self::error($error)]) === 1;
    }

    public function size(): int
    {
        $stats = $this->stats();

        return $stats['ready'] + $stats['delayed'];
    }

    public function waiting(int $limit, string $id = ''): array
    {
        if ($limit < 1) {
            return [];
        }
        $waiting = [];
        foreach (self::list($this->run(RedisScript::WAITING, [(string) $limit, $id === '' ? '' : $this->inside([$id])[0] . ' ', (string) $this->retry->most, self::PROMOTED])) as $row) {
            [$attempts, $message] = self::texts($row);
            [$id, $body] = self::parts($message);
            $waiting[] = ['id' => $this->outside($id), 'body' => $body, 'attempts' => (int) $attempts];
        }

        return $waiting;
    }

    public function remove(array $ids): int
    {
        $count = 0;
        foreach ($this->inside($ids) as $id) {
            $count += self::number($this->run(RedisScript::REMOVE, ['1', "$id ", (string) $this->retry->most, self::PROMOTED]));
        }

        return $count;
    }

    public function stats(): array
    {
        do {
            [$look, $waiting, $delayed, $claimed, $dead, $isPaused, $late] = \array_map(self::number(...), self::list($this->run(RedisScript::STATS, [(string) $this->retry->most, self::PROMOTED]))) + \array_fill(0, 7, 1);
        } while ($look === 0);

        return ['ready' => $waiting - $delayed, 'delayed' => $delayed, 'claimed' => $claimed, 'dead' => $dead, 'paused' => $isPaused === 1, 'late' => $late < 0 ? null : (float) $late];
    }

    public function dead(int $limit): array
    {
        $dead = [];
        foreach ($limit < 1 ? [] : self::list($this->run(RedisScript::DEAD, [(string) ($limit - 1), (string) $this->retry->most, self::PROMOTED])) as $row) {
            // A proxy may garble what it passes on.
            [$id, $at, $message, $why] = self::texts($row) + ['', '', '', ''];
            [$member, $error] = \explode(' ', $why, 2) + ['', ''];
            $dead[] = ['id' => $this->outside($id), 'body' => self::parts($message)[1], 'attempts' => self::attempts($member), 'error' => $error, 'at' => (int) $at];
        }

        return $dead;
    }

    public function retryDead(array $ids): int
    {
        $ids = $ids === []
            ? self::texts($this->send(['ZRANGE', "$this->base:x", '0', '-1']))
            : $this->inside($ids);

        $count = 0;
        for ($i = 0; $i < \count($ids); $i += self::STEP) {
            [$more, $waiting] = self::list($this->run(RedisScript::RETRY, [(string) $this->limit, (string) \max(0, \count($ids) - $i - self::STEP), ...\array_slice($ids, $i, self::STEP)])) + [0, 0];
            if (self::number($more) < 0) {
                throw QueueFull::retrying($this->queue, -self::number($more), self::number($waiting), $this->limit);
            }
            $count += self::number($more);
        }

        return $count;
    }

    public function removeDead(array $ids, int $age): int
    {
        $count = 0;
        if ($ids === []) {
            do {
                $some = self::number($this->run(RedisScript::REMOVE_DEAD, [(string) $age, (string) self::STEP]));
                $count += $some;
            } while ($some === self::STEP);

            return $count;
        }
        foreach (\array_chunk($this->inside($ids), self::STEP) as $some) {
            $count += self::number($this->run(RedisScript::REMOVE_DEAD, [(string) $age, '0', ...$some]));
        }

        return $count;
    }

    /**
     * @param list<string> $ids as users know them
     *
     * @return list<string> those of this queue, as the scripts know them; '' for others
     */
    private function inside(array $ids): array
    {
        return \array_map(fn(string $id): string => \str_starts_with($id, "$this->queue-") ? \substr($id, \strlen($this->queue) + 1) : '', $ids);
    }

    public function purge(): int
    {
        $count = 0;
        do {
            [$removed, $left] = self::list($this->run(RedisScript::PURGE, [(string) self::STEP, (string) $this->retry->most, self::PROMOTED])) + [0, 0];
            $count += self::number($removed);
        } while (self::number($left) > 0);

        return $count;
    }

    public function pause(bool $isPaused): void
    {
        $this->run(RedisScript::PAUSE, [(string) (int) $isPaused]);
    }

    public function wait(int $milliseconds): void
    {
        // At most half of what the connection waits for an answer.
        $most = \min(RedisScript::LOOK, (int) ($this->timeout * 500));
        $milliseconds = \min($milliseconds, $this->look);
        $command = ['BLPOP', "$this->base:wake", \sprintf('%.3F', $most / 1000)];
        if ($milliseconds >= $most) {
            // Nil, after that time, is not an error.
            $this->send($command, 1);

            return;
        }
        // An idle server looks for the end of a client's time only ten times a second (hz in redis.conf). So this wait has a
        // connection of its own, and closes it when the time is over.
        $connection = ($this->connect)(\max(1, $milliseconds) / 1000, false);
        try {
            $connection->ready();
            $connection->run([$command], 1);
        } catch (Failure) {
            // Its time is over, or the server is gone: the next claim tells.
        } finally {
            $connection->close();
        }
    }

    /** @param list<string> $arguments */
    private function keep(string $script, array $arguments): mixed
    {
        if ($this->isSingle) {
            try {
                $this->connection->look(Eviction::OF_LASTING);
            } catch (Failure $failure) {
                throw new QueueFailure($failure->getMessage() . '; nothing was done.', 0, $failure);
            }
        }

        return $this->run($script, $arguments);
    }

    /**
     * @param list<string> $arguments
     * @param string       ...$more   as KEYS
     */
    private function run(string $script, array $arguments, string ...$more): mixed
    {
        $rest = $this->isSingle
            ? [(string) (1 + \count(self::KEYS) + \count($more)), $this->base, ...\array_map(fn(string $key): string => $this->base . $key, [...self::KEYS, ...\array_values($more)]), ...$arguments]
            : ['1', $this->base, ...$arguments];

        return $this->send(['EVALSHA', $this->hashes[$script] ??= \sha1($script), ...$rest])
            ?? $this->send(['EVAL', $script, ...$rest]);
    }

    /**
     * @param non-empty-list<string> $command
     * @param int                    $attempts 1: a refusal counts as no reply
     *
     * @return mixed null: the server does not know the script, or has no reply
     */
    private function send(#[\SensitiveParameter] array $command, int $attempts = 0): mixed
    {
        try {
            $this->connection->ready();
        } catch (Failure $failure) {
            throw new QueueFailure($failure->getMessage() . '; nothing was done.', 0, $failure);
        }
        try {
            return $this->connection->call([$command], $attempts)[0];
        } catch (ErrorReply $refusal) {
            throw new QueueFailure($refusal->getMessage() . '; nothing was done.', 0, $refusal);
        } catch (Failure $failure) {
            throw new QueueFailure($failure->getMessage() . '; the server may have done it or not.', 0, $failure);
        }
    }

    /**
     * @param New $message
     *
     * @return array{string, string, string, string} as the scripts that push want it
     */
    private static function arguments(array $message): array
    {
        return [($message['stays'] ? '+' : '') . $message['delay'], self::priority($message['priority']), $message['key'] ?? '', $message['body']];
    }

    /** 16 hexadecimal digits, the first for the greatest number. */
    private static function priority(int $priority): string
    {
        return \sprintf('%016x', ~($priority ^ \PHP_INT_MIN));
    }

    private static function attempts(string $member): int
    {
        return (int) \substr($member, 33);
    }

    private function outside(string $id): string
    {
        return "$this->queue-$id";
    }

    /** @return array{string, string} id and body of "<id> <time> <length of its key> <key><body>" */
    private static function parts(string $message): array
    {
        [$id, $time, $length] = \explode(' ', $message, 4) + ['', '', '0'];

        return [$id, \substr($message, \strlen("$id $time $length ") + (int) $length)];
    }

    private static function error(string $error): string
    {
        return \substr($error, 0, 8_000);
    }

    private static function number(mixed $reply): int
    {
        return \is_int($reply) ? $reply : 0;
    }

    /** @return list<mixed> */
    private static function list(mixed $reply): array
    {
        return \is_array($reply) ? \array_values($reply) : [];
    }

    /** @return list<string> */
    private static function texts(mixed $reply): array
    {
        return \array_map(static fn(mixed $text): string => \is_scalar($text) ? (string) $text : '', self::list($reply));
    }
}
