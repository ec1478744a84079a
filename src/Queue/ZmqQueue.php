<?php

declare(strict_types=1);

namespace Larder\Queue;

/**
 * One queue in the memory of ZeroMQ's broker. Times are milliseconds of a clock that nobody sets.
 *
 * Each heap may hold what is no longer so: an entry counts if the message is still in the state in which it was put there.
 *
 * @phpstan-import-type New from Transport
 * @phpstan-import-type Claimed from Transport
 * @phpstan-import-type Dead from Transport
 * @phpstan-import-type Stats from Transport
 */
final class ZmqQueue
{
    private const READY = 0;
    private const DELAYED = 1;
    private const CLAIMED = 2;
    private const DEAD = 3;

    /** Entries that the heap of times may hold in vain, besides as many as it needs. */
    private const SLACK = 1_000;

    /** @var array<string, ZmqMessage> by id */
    private array $messages = [];

    /** @var array<string, string> key of what waits to its id */
    private array $keys = [];

    /** @var array<string, true> ids of the dead, the oldest first */
    private array $dead = [];

    /** @var array<int, int> how many messages a state has */
    private array $counts = [self::READY => 0, self::DELAYED => 0, self::CLAIMED => 0, self::DEAD => 0];

    /** @var \SplMinHeap<array{int, int, string}> priority, the greatest first, then order, and id */
    private \SplMinHeap $ready;

    /** @var \SplMinHeap<array{int, string}> due time and id */
    private \SplMinHeap $timed;

    private int $order = 0;
    private bool $isPaused = false;

    public function __construct(private readonly string $name)
    {
        $this->ready = new \SplMinHeap();
        $this->timed = new \SplMinHeap();
    }

    /**
     * @param non-empty-list<New> $messages
     *
     * @return list<string>
     *
     * @throws QueueFull
     */
    public function push(array $messages, int $limit, int $attempts): array
    {
        $this->promote($attempts);
        $waiting = $this->counts[self::READY] + $this->counts[self::DELAYED];
        $new = \count(\array_filter($messages, fn(array $message): bool => $message['key'] === null || !isset($this->keys[$message['key']])));
        if ($new > 0 && $waiting + $new > $limit) {
            throw QueueFull::holding($this->name, $waiting, $limit);
        }
        $ids = [];
        foreach ($messages as $message) {
            $id = $message['key'] === null ? null : $this->keys[$message['key']] ?? null;
            if ($id === null) {
                $id = MessageId::next();
                $this->messages[$id] = $held = new ZmqMessage($id, $message['body'], $message['priority'], ++$this->order, $message['key']);
                $this->enter($held, $message['delay'] > 0 ? self::DELAYED : self::READY, self::now() + $message['delay']);
            }
            $ids[] = $id;
        }

        return $ids;
    }

    /** @return list<Claimed> */
    public function claim(int $most, int $visibility, int $attempts): array
    {
        $claimed = [];
        $this->promote($attempts);
        while (!$this->isPaused && \count($claimed) < $most && !$this->ready->isEmpty()) {
            $message = $this->messages[$this->ready->extract()[2]] ?? null;
            if ($message === null || $message->state !== self::READY) {
                continue;
            }
            $message->attempts++;
            $message->token = $message->id . ':' . \bin2hex(\random_bytes(8));
            $this->enter($message, self::CLAIMED, self::now() + $visibility);
            $claimed[] = ['id' => $message->id, 'token' => $message->token, 'body' => $message->body, 'attempts' => $message->attempts];
        }

        return $claimed;
    }

    public function acknowledge(string $token): bool
    {
        $message = $this->of($token);
        if ($message !== null) {
            $this->remove($message);
        }

        return $message !== null;
    }

    public function release(string $token, int $delay, int $attempts, string $error): bool
    {
        $message = $this->of($token);
        $message === null || $this->giveBack($message, $delay, $attempts, $error, 'It was given back');

        return $message !== null;
    }

    public function extend(string $token, int $visibility): bool
    {
        $message = $this->of($token);
        $message === null || $this->enter($message, self::CLAIMED, self::now() + $visibility);

        return $message !== null;
    }

    public function bury(string $token, string $error): bool
    {
        $message = $this->of($token);
        if ($message !== null) {
            $this->kill($message, $error);
        }

        return $message !== null;
    }

    /** @return Stats */
    public function stats(int $attempts): array
    {
        $this->promote($attempts);
        while (!$this->ready->isEmpty() && ($this->messages[$this->ready->top()[2]] ?? null)?->state !== self::READY) {
            $this->ready->extract();
        }
        $next = $this->ready->isEmpty() ? null : $this->messages[$this->ready->top()[2]];

        return [
            'ready' => $this->counts[self::READY], 'delayed' => $this->counts[self::DELAYED], 'claimed' => $this->counts[self::CLAIMED], 'dead' => $this->counts[self::DEAD],
            'paused' => $this->isPaused, 'late' => $next === null ? null : \max(0, self::now() - $next->due) / 1000,
        ];
    }

    /** @return list<Dead> */
    public function dead(int $limit, int $attempts): array
    {
        $this->promote($attempts);

        return \array_map(function (string $id): array {
            $message = $this->messages[$id];

            return ['id' => $id, 'body' => $message->body, 'attempts' => $message->attempts, 'error' => $message->error, 'at' => $message->died];
        }, \array_slice(\array_keys($this->dead), 0, $limit));
    }

    /**
     * @param list<string> $ids
     *
     * @throws QueueFull
     */
    public function retryDead(array $ids, int $limit): int
    {
        $dead = \array_filter($ids === [] ? $this->dead : \array_intersect_key($this->dead, \array_flip($ids)), fn(string $id): bool => !$this->isKeyTaken($this->messages[$id]), \ARRAY_FILTER_USE_KEY);
        $waiting = $this->counts[self::READY] + $this->counts[self::DELAYED];
        if ($dead !== [] && $waiting + \count($dead) > $limit) {
            throw QueueFull::retrying($this->name, \count($dead), $waiting, $limit);
        }
        $count = 0;
        foreach (\array_keys($dead) as $id) {
            $message = $this->messages[$id];
            if (!$this->isKeyTaken($message)) {
                $message->attempts = 0;
                $message->error = '';
                $this->enter($message, self::READY, self::now());
                $count++;
            }
        }

        return $count;
    }

    /** @param list<string> $ids */
    public function removeDead(array $ids, int $age): int
    {
        $before = self::now() - $age;
        $dead = \array_filter($ids === [] ? $this->dead : \array_intersect_key($this->dead, \array_flip($ids)), fn(string $id): bool => $this->messages[$id]->due <= $before, \ARRAY_FILTER_USE_KEY);
        foreach (\array_keys($dead) as $id) {
            $this->remove($this->messages[$id]);
        }

        return \count($dead);
    }

    private function isKeyTaken(ZmqMessage $message): bool
    {
        return $message->key !== null && isset($this->keys[$message->key]);
    }

    public function purge(int $attempts): int
    {
        $this->promote($attempts);
        $waiting = \array_filter($this->messages, static fn(ZmqMessage $message): bool => $message->state === self::READY || $message->state === self::DELAYED);
        \array_map($this->remove(...), $waiting);

        return \count($waiting);
    }

    public function pause(bool $isPaused): bool
    {
        return $this->isPaused = $isPaused;
    }

    /** How many messages a worker could have now. */
    public function available(int $attempts): int
    {
        $this->promote($attempts);

        return $this->isPaused ? 0 : $this->counts[self::READY];
    }

    /** Whether it needs no room. */
    public function isIdle(): bool
    {
        return $this->messages === [] && !$this->isPaused;
    }

    public function count(): int
    {
        return \count($this->messages);
    }

    /** The time at which a message may be due; null: none will be by itself. */
    public function due(): ?int
    {
        while (!$this->timed->isEmpty() && !$this->isTimed($this->timed->top())) {
            $this->timed->extract();
        }

        return $this->timed->isEmpty() ? null : $this->timed->top()[0];
    }

    public static function now(): int
    {
        return \intdiv((int) \hrtime(true), 1_000_000);
    }

    private function promote(int $attempts): void
    {
        while (($due = $this->due()) !== null && $due <= self::now()) {
            $message = $this->messages[$this->timed->extract()[1]];
            $message->state === self::DELAYED
                ? $this->enter($message, self::READY, $due)
                : $this->giveBack($message, 0, $attempts, '', 'Nobody acknowledged it in time');
        }
    }

    private function giveBack(ZmqMessage $message, int $delay, int $attempts, string $error, string $instead): void
    {
        $message->error = $error === '' ? $message->error : $error;
        if ($message->attempts >= $attempts) {
            $this->kill($message, $message->error === '' ? "$instead, after $message->attempts of $attempts attempts." : '');
        } elseif ($message->key !== null && isset($this->keys[$message->key])) {
            // The newer one with its key does what it would.
            $this->remove($message);
        } else {
            $this->enter($message, $delay > 0 ? self::DELAYED : self::READY, self::now() + $delay);
        }
    }

    private function kill(ZmqMessage $message, string $error): void
    {
        $message->error = $error === '' ? $message->error : $error;
        $message->died = (int) (\microtime(true) * 1000);
        $this->enter($message, self::DEAD, self::now());
    }

    private function enter(ZmqMessage $message, int $state, int $due): void
    {
        $this->leave($message);
        $this->counts[$state]++;
        $message->state = $state;
        $message->due = $due;
        $message->token = $state === self::CLAIMED ? $message->token : '';
        if ($state === self::DEAD) {
            $this->dead[$message->id] = true;

            return;
        }
        if ($message->key !== null && $state !== self::CLAIMED) {
            $this->keys[$message->key] = $message->id;
        }
        $state === self::READY
            ? $this->ready->insert([-$message->priority, $message->order, $message->id])
            : $this->timed->insert([$due, $message->id]);
        if ($this->timed->count() > 2 * ($this->counts[self::DELAYED] + $this->counts[self::CLAIMED]) + self::SLACK) {
            $this->clean();
        }
    }

    /** Drops the entries of what was acknowledged meanwhile. */
    private function clean(): void
    {
        /** @var \SplMinHeap<array{int, string}> $timed */
        $timed = new \SplMinHeap();
        foreach ($this->timed as $entry) {
            !$this->isTimed($entry) || $timed->insert($entry);
        }
        $this->timed = $timed;
    }

    private function leave(ZmqMessage $message): void
    {
        if ($message->state !== null) {
            $this->counts[$message->state]--;
        }
        unset($this->dead[$message->id]);
        if ($message->key !== null && ($this->keys[$message->key] ?? '') === $message->id) {
            unset($this->keys[$message->key]);
        }
    }

    private function remove(ZmqMessage $message): void
    {
        $this->leave($message);
        unset($this->messages[$message->id]);
    }

    /** The message that is claimed with this token. */
    private function of(string $token): ?ZmqMessage
    {
        $message = $this->messages[\strstr($token, ':', true)] ?? null;

        return $message?->token === $token ? $message : null;
    }

    /** @param array{int, string} $entry */
    private function isTimed(array $entry): bool
    {
        $message = $this->messages[$entry[1]] ?? null;

        return $message !== null && ($message->state === self::DELAYED || $message->state === self::CLAIMED) && $message->due === $entry[0];
    }
}
