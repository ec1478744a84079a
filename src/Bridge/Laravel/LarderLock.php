<?php

declare(strict_types=1);

namespace Larder\Bridge\Laravel;

use Illuminate\Cache\Lock;
use Larder\Cache;
use Larder\Lock\Locks;

/**
 * A lock of Laravel's, in Larder's locks, which are never evicted.
 *
 * Another process may release it, as a worker does that handles a unique job, so it does not end with the process that took it.
 */
final class LarderLock extends Lock
{
    /** Seconds that a lock lives for which none are said: a year. */
    private const LONGEST = 31_536_000;

    /** Its name in Larder's locks. */
    private readonly string $key;

    /**
     * @param string  $prefix  of the application's locks
     * @param string  $name
     * @param int|float|string $seconds 0: until it is released, a year at most
     * @param int|string|null  $owner
     */
    public function __construct(private readonly LockPlace $place, string $prefix, $name, $seconds, $owner = null)
    {
        // Some take a user's id.
        parent::__construct($name, self::whole($seconds), $owner === null ? null : (string) $owner);
        $this->key = \strlen($prefix . $name) <= Locks::LONGEST_NAME ? $prefix . $name : \substr($prefix, 0, 100) . \hash('sha256', $prefix . $name);
    }

    /** What the cache answers from here on is what those left behind who had the lock before. */
    public function acquire(): bool
    {
        $isTaken = $this->place->locks()->acquireAs($this->key, $this->text(), self::life($this->seconds)) !== null;
        $isTaken && Cache::learnAll();

        return $isTaken;
    }

    public function release(): bool
    {
        return $this->place->locks()->held($this->key, $this->text())?->release() ?? false;
    }

    public function forceRelease(): void
    {
        $locks = $this->place->locks();
        $owner = $locks->owner($this->key);
        $owner === null || $locks->held($this->key, $owner)?->release();
    }

    /** @param ?int $seconds from now; null: as many as it was made with */
    public function refresh($seconds = null): bool
    {
        $life = self::life(self::whole($seconds ?? $this->seconds));

        return $this->place->locks()->held($this->key, $this->text(), $life)?->refresh($life) ?? false;
    }

    /** Laravel 13 has it too. */
    public function isLocked(): bool
    {
        return $this->getCurrentOwner() !== null;
    }

    protected function getCurrentOwner(): ?string
    {
        $owner = $this->place->locks()->owner($this->key);

        return $owner === null ? null : \rawurldecode($owner);
    }

    private function text(): string
    {
        return \rawurlencode($this->owner);
    }

    /** As Laravel's other stores take them: from a configuration they come as text. */
    private static function whole(mixed $seconds): int
    {
        return \is_numeric($seconds) ? (int) \ceil((float) $seconds) : 0;
    }

    private static function life(int $seconds): float
    {
        return $seconds > 0 ? \min($seconds, self::LONGEST) : self::LONGEST;
    }
}
