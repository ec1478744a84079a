<?php

declare(strict_types=1);

namespace Larder\Queue;

/**
 * Where a queue's messages lie: one engine behind a narrow interface. Times are milliseconds by the engine's clock, which all
 * its users share; bodies are bytes. If a message's key "stays", that is also while it is claimed, until it is acknowledged or dead.
 *
 * Everything here is atomic across processes. What a method has done when it returns stays, as durable as the engine is.
 *
 * @phpstan-type New array{body: string, delay: int, priority: int, key: ?string, stays: bool}
 * @phpstan-type Claimed array{id: string, token: string, body: string, attempts: int}
 * @phpstan-type Waiting array{id: string, body: string, attempts: int}
 * @phpstan-type Dead array{id: string, body: string, attempts: int, error: string, at: int}
 * @phpstan-type Stats array{ready: int, delayed: int, claimed: int, dead: int, paused: bool, late: ?float}
 */
interface Transport
{
    /**
     * Adds messages in their order.
     *
     * @param non-empty-list<New> $messages
     *
     * @return list<string> their ids, in order; of a key that a message has already the id of that one
     *
     * @throws QueueFull      nothing was added
     * @throws QueueFailure   nothing is known of what was added
     */
    public function push(array $messages): array;

    /**
     * Adds a message for a time of a schedule, unless this or a later one was noted for the schedule, and notes it: in one step.
     *
     * @param string $schedule its name
     * @param int    $time     Unix time
     * @param int    $since    what counts as noted where nothing is
     * @param ?New   $message  null: the time is only noted
     * @param int    $latest   a noted time after this one counts as none: a clock that was ahead and was set back has noted it
     *
     * @return bool whether this call has added it: not with a key that a message has already
     *
     * @throws QueueFull      nothing was added or noted
     * @throws QueueFailure   nothing is known
     */
    public function pushForTime(string $schedule, int $time, int $since, ?array $message, int $latest): bool;

    /**
     * Hands out messages that are due: the greatest priority first, then the oldest. Each is hidden from others for a time.
     * What was handed out before and whose time has passed is due again, or dead after its last attempt.
     *
     * @param list<array{string, string}> $acknowledged ids and tokens that are removed in the same step
     * @param ?Rate                       $rate         what may be handed out; its `held` is set
     *
     * @return list<Claimed>
     */
    public function claim(int $most, int $visibility, array $acknowledged = [], ?Rate $rate = null): array;

    /**
     * Removes messages that are still those of their tokens.
     *
     * @param non-empty-list<array{string, string}> $claims ids and tokens
     *
     * @return list<bool> false: its time has passed, and it may be another worker's
     */
    public function acknowledge(array $claims): array;

    /** Makes a message due again after a delay; false as above. */
    public function release(string $id, string $token, int $delay, string $error): bool;

    /** Hides a message for so long from now on; false as above. */
    public function extend(string $id, string $token, int $visibility): bool;

    /** Puts a message among the dead; false as above. */
    public function bury(string $id, string $token, string $error): bool;

    /** Messages that wait: due or delayed. */
    public function size(): int;

    /**
     * Messages that wait, without handing them out: those that are due in the order in which they would be, then the delayed ones.
     *
     * @param string $id only this one; '': any
     *
     * @return list<Waiting>
     */
    public function waiting(int $limit, string $id = ''): array;

    /**
     * Removes messages that wait; none that is claimed or dead.
     *
     * @param list<string> $ids
     *
     * @return int how many
     */
    public function remove(array $ids): int;

    /** @return Stats late: seconds that the next message has been due; null: none is */
    public function stats(): array;

    /** @return list<Dead> the oldest first */
    public function dead(int $limit): array;

    /**
     * @param list<string> $ids none: all
     *
     * @return int how many wait again
     *
     * @throws QueueFull none does
     */
    public function retryDead(array $ids): int;

    /**
     * Removes dead messages for good.
     *
     * @param list<string> $ids none: all
     * @param int          $age milliseconds since they died, at least
     *
     * @return int how many
     */
    public function removeDead(array $ids, int $age): int;

    /** Removes all that waits. @return int how many */
    public function purge(): int;

    /** From now on nothing is handed out, or it is again. */
    public function pause(bool $isPaused): void;

    /**
     * Waits until something may be due, at the most so many milliseconds. It may return early for no reason.
     */
    public function wait(int $milliseconds): void;
}
