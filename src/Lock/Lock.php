<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\System\Fork;

/**
 * A lock that was granted.
 *
 * It is the holder's until its end, and no longer: a holder that works past that end may meet the next one. Where that would do
 * harm, pass $fence along with each write, and let what is written to refuse a smaller number than it has seen.
 *
 * In a forked child its parent's locks are not held: every method says false there and does nothing. A child that is to hold one
 * takes it by Locks::held().
 */
final class Lock
{
    private readonly int $holder;

    /**
     * @param string $owner hand it to another process, which holds the lock by it: Locks::held()
     * @param int    $fence grows with each grant of this name. Over Redis it may repeat where a fail-over lost grants: see `replicas`
     */
    public function __construct(
        private readonly Engine $engine,
        public readonly string $name,
        public readonly string $owner,
        public readonly int $fence,
        private readonly int $life,
        private string $process,
    ) {
        $this->holder = Fork::pid();
    }

    /**
     * Begins the lock's life anew.
     *
     * @param ?float $ttl seconds; null: as many as it was granted
     *
     * @return bool false: it has ended, and may be another owner's
     *
     * @throws LockFailure also where `replicas` were not reached: it may then end when it would have ended before
     */
    public function refresh(?float $ttl = null): bool
    {
        return $this->isHere() && $this->engine->refresh($this->name, $this->owner, $ttl === null ? $this->life : Locks::milliseconds($ttl), $this->process) !== null;
    }

    /**
     * @return bool false: it had ended before
     *
     * @throws LockFailure whether it has ended is not known. It is given back with the next call of this process that reaches the
     *                     locks
     */
    public function release(): bool
    {
        return $this->isHere() && $this->engine->release($this->name, $this->owner, $this->fence);
    }

    /** @throws LockFailure */
    public function isOwned(): bool
    {
        return $this->isHere() && $this->engine->fence($this->name, $this->owner) !== null;
    }

    /**
     * Lets the lock outlive this process, for another one that gets its owner's text. It ends by release() or at its end, and
     * not with the process that takes it over. Its life begins anew.
     *
     * @return bool false: it has ended
     *
     * @throws LockFailure as refresh()
     */
    public function handOver(): bool
    {
        $this->isHere() && $this->process = '';

        return $this->refresh();
    }

    private function isHere(): bool
    {
        return $this->holder === Fork::pid();
    }
}
