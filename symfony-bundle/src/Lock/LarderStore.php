<?php

declare(strict_types=1);

namespace Larder\SymfonyBundle\Lock;

use Larder\Cache;
use Larder\Lock\Lock;
use Larder\Lock\LockFailure;
use Larder\Lock\Locks;
use Symfony\Component\Lock\BlockingStoreInterface;
use Symfony\Component\Lock\Exception\InvalidTtlException;
use Symfony\Component\Lock\Exception\LockAcquiringException;
use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockExpiredException;
use Symfony\Component\Lock\Exception\LockReleasingException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Store\ExpiringStoreTrait;

/**
 * Larder's locks as a store of Symfony Lock.
 *
 * Over SQLite a lock ends at once with the process that took it. So its key cannot be serialized for another process, unless
 * the store hands each lock over: then it ends at its time only.
 */
final class LarderStore implements BlockingStoreInterface
{
    use ExpiringStoreTrait;

    /** Seconds that a lock may live, and that those wait who have no other end in Symfony. */
    private const LONGEST = 31_536_000.0;

    /** Seconds. */
    private const SHORTEST = 0.001;

    /** @var \WeakMap<Key, Lock> taken by this process */
    private \WeakMap $locks;

    /**
     * @param float $ttl       seconds that a lock lives until Symfony sets its end
     * @param bool  $handsOver whether another process may release or renew a lock by its serialized key
     */
    public function __construct(private readonly Locks $store, private readonly bool $handsOver, private readonly float $ttl = 300.0)
    {
        $this->locks = new \WeakMap();
    }

    public function save(Key $key): void
    {
        $this->take($key, fn(): ?Lock => $this->store->acquire(self::name($key), $this->ttl));
    }

    public function waitAndSave(Key $key): void
    {
        $this->take($key, fn(): ?Lock => $this->store->block(self::name($key), self::LONGEST, $this->ttl));
    }

    /** A life of more than a year is one of a year. */
    public function putOffExpiration(Key $key, float $ttl): void
    {
        $key->reduceLifetime(\is_nan($ttl) ? throw new InvalidTtlException('A lock\'s life is a number of seconds.') : $ttl);
        $this->checkNotExpired($key);
        if (!$this->renew($key, $ttl)) {
            throw new LockConflictedException('The lock has ended, and may be another owner\'s.');
        }
        $this->checkNotExpired($key);
    }

    public function delete(Key $key): void
    {
        try {
            $this->lock($key)?->release();
        } catch (LockFailure $failure) {
            throw new LockReleasingException($failure->getMessage(), 0, $failure);
        }
        unset($this->locks[$key]);
        $key->removeState(self::class);
    }

    public function exists(Key $key): bool
    {
        try {
            return $this->lock($key)?->isOwned() ?? false;
        } catch (LockFailure) {
            return false;
        }
    }

    /**
     * The fencing number of a key's lock, which grows with each grant: pass it along with each write, and let what is written to
     * refuse a smaller number than it has seen.
     *
     * @return ?int null: the key has no lock
     *
     * @throws LockFailure
     */
    public function fence(Key $key): ?int
    {
        return $this->lock($key)?->fence;
    }

    /**
     * @return bool false: the key has no lock, or it has ended
     *
     * @throws LockAcquiringException
     */
    private function renew(Key $key, float $ttl): bool
    {
        try {
            return $this->lock($key)?->refresh(\max(self::SHORTEST, \min(self::LONGEST, $ttl))) === true;
        } catch (LockFailure $failure) {
            throw new LockAcquiringException($failure->getMessage(), 0, $failure);
        }
    }

    /**
     * Takes the lock, or keeps the one that the key has.
     *
     * @param \Closure(): ?Lock $take
     *
     * @throws LockAcquiringException|LockConflictedException|LockExpiredException
     */
    private function take(Key $key, \Closure $take): void
    {
        if (!$this->renew($key, $this->ttl)) {
            $this->keep($key, $take);
        }
        // What was waited for lives from now on.
        $key->reduceLifetime($this->ttl);
        $this->checkNotExpired($key);
    }

    /** @param \Closure(): ?Lock $take */
    private function keep(Key $key, \Closure $take): void
    {
        try {
            $lock = $take();
            if ($this->handsOver && $lock?->handOver() === false) {
                $lock = null;
            }
        } catch (LockFailure $failure) {
            throw new LockAcquiringException($failure->getMessage(), 0, $failure);
        }
        if ($lock === null) {
            throw new LockConflictedException();
        }
        $this->handsOver || $key->markUnserializable();
        $this->locks[$key] = $lock;
        $key->setState(self::class, $lock->owner);
        // What the cache answers from here on is what those left behind who had the lock before.
        Cache::learnAll();
    }

    private function lock(Key $key): ?Lock
    {
        $owner = $key->hasState(self::class) ? $key->getState(self::class) : null;
        if (!\is_string($owner)) {
            return null;
        }
        $lock = $this->locks[$key] ?? $this->store->held(self::name($key), $owner, $this->ttl);
        if ($lock !== null) {
            $this->locks[$key] = $lock;
        }

        return $lock;
    }

    /** Larder's names have an end, and at least one byte. */
    private static function name(Key $key): string
    {
        $name = (string) $key;

        return $name === '' || \strlen($name) > Locks::LONGEST_NAME - 8 ? 'symfony:' . \hash('sha256', $name) : "symfony:$name";
    }
}
