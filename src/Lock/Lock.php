<?php

declare(strict_types=1);

namespace Larder\Lock;

/**
 * A lock that was granted.
 *
 * It is the holder's until its end, and no longer: whoever works past that end may meet the next holder. Where that would do
 * harm, pass $fence along with each write, and let what is written to refuse a smaller number than it has seen.
 */
final class Lock
{
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
    ) {}

    /**
     * Begins the lock's life anew.
     *
     * @param ?float $ttl seconds; null: as many as it was granted
     *
     * @return bool false: it has ended, and may be somebody else's
     *
     * @throws LockFailure also where `replicas` were not reached: it may then end when it would have ended before
     */
    public function refresh(?float $ttl = null): bool
    {
        return $this->engine->refresh($this->name, $this->owner, $ttl === null ? $this->life : Locks::milliseconds($ttl), $this->process) !== null;
    }

    /**
     * @return bool false: it had ended before
     *
     * @throws LockFailure
     */
    public function release(): bool
    {
        return $this->engine->release($this->name, $this->owner);
    }

    /** @throws LockFailure */
    public function isOwned(): bool
    {
        return $this->engine->fence($this->name, $this->owner) !== null;
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
        $this->process = '';

        return $this->refresh();
    }
}
