<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Clock;

/**
 * A queue in this object's memory, for the tests of a program (FakeQueue): it keeps the same rules as the others, and forgets all
 * with the process. No other process sees it, so nothing here needs a lock.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-type Kept array{id: string, message: New, n: int, due: int, attempts: int, error: string, token: string}
 */
final class MemoryTransport implements Transport
{
    /** @var array<string, Kept> by id; `due` is the time at which it is ready, free again, or died */
    private array $waiting = [];

    /** @var array<string, Kept> */
    private array $claimed = [];

    /** @var array<string, Kept> in the order of their deaths */
    private array $dead = [];

    /** @var array<string, string> key to id, of what waits, and of what is claimed and whose key stays */
    private array $keys = [];

    /** @var list<array{string, New}> what was added, with its id */
    private array $pushed = [];

    /** @var array<string, int> the last time of each schedule */
    private array $scheduled = [];

    /** @var array<int, list<int>> when messages were handed out under a rate, by its milliseconds */
    private array $handed = [];

    private int $last = 0;
    private bool $isPaused = false;

    /** @param \Closure(): int $now milliseconds */
    public function __construct(private readonly string $queue, private readonly int $limit, private readonly Retry $retry, private readonly \Closure $now) {}

    /** @return list<array{string, New}> id and message of all that was added, in order, whatever became of it */
    public function pushed(): array
    {
        return $this->pushed;
    }

    public function push(array $messages): array
    {
        $now = $this->expire();
        $ids = $added = [];
        foreach ($messages as $message) {
            $key = self::bytes($message['key']);
            $id = $key === null ? null : $this->keys[$key] ?? $added[$key][0] ?? null;
            if ($id === null) {
                $id = MessageId::next();
                $added[$key ?? $id] = [$id, $message];
            }
            $ids[] = $id;
        }
        if ($added !== [] && \count($this->waiting) + \count($added) > $this->limit) {
            throw QueueFull::holding($this->queue, \count($this->waiting), $this->limit);
        }
        foreach ($added as [$id, $message]) {
            $this->pushed[] = [$id, $message];
            $this->await(['id' => $id, 'message' => $message, 'n' => ++$this->last, 'due' => $now + $message['delay'], 'attempts' => 0, 'error' => '', 'token' => '']);
        }

        return $ids;
    }

    public function pushForTime(string $schedule, int $time, int $since, ?array $message, int $latest): bool
    {
        $noted = $this->scheduled[$schedule] ?? null;
        $noted = $noted > $latest ? null : $noted;
        if ($noted !== null && $time <= $noted) {
            return false;
        }
        $before = $this->last;
        $message !== null && $time > ($noted ?? $since) && $this->push([$message]);
        $this->scheduled[$schedule] = $time;

        return $this->last > $before;
    }

    public function claim(int $most, int $visibility, array $acknowledged = [], ?Rate $rate = null): array
    {
        $acknowledged === [] || $this->acknowledge($acknowledged);
        $now = $this->expire();
        $ready = $this->isPaused ? [] : \array_filter($this->waiting, static fn(array $kept): bool => $kept['due'] <= $now);
        \uasort($ready, static fn(array $a, array $b): int => self::turn($a, $now) <=> self::turn($b, $now));
        $claims = [];
        $times = [];
        if ($rate !== null) {
            $times = \array_values(\array_filter($this->handed[$rate->window] ?? [], static fn(int $time): bool => $time > $now - $rate->window));
            $over = \count($times) - $rate->messages;
            $rate->held = $over >= 0 && $ready !== [] ? $times[$over] + $rate->window - $now : 0;
            $most = \max(0, \min($most, -$over));
        }
        foreach (\array_slice($ready, 0, $most, true) as $id => $kept) {
            unset($this->waiting[$id]);
            $kept['message']['stays'] || $this->free($kept);
            $this->claimed[$id] = $kept = ['due' => $now + $visibility, 'attempts' => $kept['attempts'] + 1, 'token' => MessageId::next()] + $kept;
            $claims[] = ['id' => $kept['id'], 'token' => $kept['token'], 'body' => $kept['message']['body'], 'attempts' => $kept['attempts']];
            $times[] = $now;
        }
        $rate === null || $this->handed[$rate->window] = $times;

        return $claims;
    }

    public function acknowledge(array $claims): array
    {
        return \array_map(function (array $claim): bool {
            $kept = $this->take(...$claim);
            $kept === null || $this->free($kept);

            return $kept !== null;
        }, $claims);
    }

    public function release(string $id, string $token, int $delay, string $error): bool
    {
        $kept = $this->take($id, $token);
        $kept === null || $this->giveBack($kept, $delay, $error, 'It was given back');

        return $kept !== null;
    }

    public function extend(string $id, string $token, int $visibility): bool
    {
        $kept = $this->take($id, $token);
        if ($kept !== null) {
            $this->claimed[$id] = ['due' => ($this->now)() + $visibility] + $kept;
        }

        return $kept !== null;
    }

    public function bury(string $id, string $token, string $error): bool
    {
        $kept = $this->take($id, $token);
        $kept === null || $this->die($kept, $error === '' ? $kept['error'] : $error);

        return $kept !== null;
    }

    public function size(): int
    {
        $this->expire();

        return \count($this->waiting);
    }

    public function waiting(int $limit, string $id = ''): array
    {
        $now = $this->expire();
        $waiting = $id === '' ? $this->waiting : \array_intersect_key($this->waiting, [$id => true]);
        \uasort($waiting, static fn(array $a, array $b): int => self::turn($a, $now) <=> self::turn($b, $now));

        return \array_map(static fn(array $kept): array => ['id' => $kept['id'], 'body' => $kept['message']['body'], 'attempts' => $kept['attempts']], \array_slice(\array_values($waiting), 0, $limit));
    }

    public function remove(array $ids): int
    {
        $this->expire();
        $removed = \array_intersect_key($this->waiting, \array_flip($ids));
        \array_map($this->free(...), $removed);
        $this->waiting = \array_diff_key($this->waiting, $removed);

        return \count($removed);
    }

    public function stats(): array
    {
        $now = $this->expire();
        $dues = \array_column($this->waiting, 'due');
        $ready = \count(\array_filter($dues, static fn(int $due): bool => $due <= $now));

        return [
            'ready' => $ready, 'delayed' => \count($dues) - $ready, 'claimed' => \count($this->claimed), 'dead' => \count($this->dead),
            'paused' => $this->isPaused, 'late' => $ready > 0 ? ($now - \min($now, ...$dues)) / 1000 : null,
        ];
    }

    public function dead(int $limit): array
    {
        $this->expire();

        return \array_map(static fn(array $kept): array => ['id' => $kept['id'], 'body' => $kept['message']['body'], 'attempts' => $kept['attempts'], 'error' => $kept['error'], 'at' => $kept['due']], \array_slice(\array_values($this->dead), 0, $limit));
    }

    public function retryDead(array $ids): int
    {
        $now = $this->expire();
        $again = $keys = [];
        foreach ($ids === [] ? $this->dead : \array_intersect_key($this->dead, \array_flip($ids)) as $id => $kept) {
            $key = self::bytes($kept['message']['key']) ?? $id;
            if (!isset($this->keys[$key]) && !isset($keys[$key])) {
                $keys[$key] = true;
                $again[$id] = $kept;
            }
        }
        if ($again !== [] && \count($this->waiting) + \count($again) > $this->limit) {
            throw QueueFull::retrying($this->queue, \count($again), \count($this->waiting), $this->limit);
        }
        foreach ($again as $id => $kept) {
            unset($this->dead[$id]);
            $this->await(['due' => $now, 'attempts' => 0] + $kept);
        }

        return \count($again);
    }

    public function removeDead(array $ids, int $age): int
    {
        $before = $this->expire() - $age;
        $old = \array_filter($this->dead, static fn(array $kept): bool => $kept['due'] <= $before && ($ids === [] || \in_array($kept['id'], $ids, true)));
        $this->dead = \array_diff_key($this->dead, $old);

        return \count($old);
    }

    public function purge(): int
    {
        $this->expire();
        $count = \count($this->waiting);
        \array_map($this->free(...), $this->waiting);
        $this->waiting = [];

        return $count;
    }

    public function pause(bool $isPaused): void
    {
        $this->isPaused = $isPaused;
    }

    public function wait(int $milliseconds): void
    {
        $now = ($this->now)();
        $next = \min([...\array_column($this->waiting, 'due'), ...\array_column($this->claimed, 'due'), $now + $milliseconds]);
        // While it is paused, what is due stays so.
        Clock::pause(($this->isPaused ? $milliseconds : \max(1, $next - $now)) * 1_000);
    }

    /**
     * @param Kept $kept
     *
     * @return array{int, int, int} by which messages that wait are ordered
     */
    private static function turn(array $kept, int $now): array
    {
        return $kept['due'] <= $now ? [0, ~$kept['message']['priority'], $kept['n']] : [1, $kept['due'], $kept['n']];
    }

    /** Takes back what was not acknowledged in time. @return int the time */
    private function expire(): int
    {
        $now = ($this->now)();
        foreach ($this->claimed as $id => $kept) {
            if ($kept['due'] <= $now) {
                unset($this->claimed[$id]);
                $this->giveBack($kept, 0, '', 'No worker acknowledged it in time');
            }
        }

        // What was given back just now is due.
        return ($this->now)();
    }

    /** @return ?Kept what this token's owner has claimed, which is claimed no more */
    private function take(string $id, string $token): ?array
    {
        $kept = $this->claimed[$id] ?? null;
        if ($kept === null || $kept['token'] !== $token) {
            return null;
        }
        unset($this->claimed[$id]);

        return $kept;
    }

    /** @param Kept $kept */
    private function giveBack(array $kept, int $delay, string $error, string $instead): void
    {
        $kept['error'] = $error === '' ? $kept['error'] : $error;
        if ($kept['attempts'] >= $this->retry->most) {
            $this->die($kept, $kept['error'] === '' ? "$instead, after $kept[attempts] of {$this->retry->most} attempts." : $kept['error']);

            return;
        }
        $key = self::bytes($kept['message']['key']);
        // If another one has its key, that one is handled.
        if ($key === null || ($this->keys[$key] ?? $kept['id']) === $kept['id']) {
            $this->await(['due' => ($this->now)() + $delay] + $kept);
        }
    }

    /** @param Kept $kept */
    private function await(array $kept): void
    {
        $this->waiting[$kept['id']] = $kept;
        $key = self::bytes($kept['message']['key']);
        $key === null || $this->keys[$key] = $kept['id'];
    }

    /** @param Kept $kept */
    private function die(array $kept, string $error): void
    {
        $this->dead[$kept['id']] = ['due' => ($this->now)(), 'error' => \substr($error, 0, 8_000)] + $kept;
        $this->free($kept);
    }

    /** @param Kept $kept */
    private function free(array $kept): void
    {
        $key = self::bytes($kept['message']['key']);
        if ($key !== null && ($this->keys[$key] ?? null) === $kept['id']) {
            unset($this->keys[$key]);
        }
    }

    /** A key as the index of an array, which would make a number of some. */
    private static function bytes(?string $key): ?string
    {
        return $key === null ? null : "key $key";
    }
}
