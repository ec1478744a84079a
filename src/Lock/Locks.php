<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Config\InvalidConfiguration;
use Larder\System\Clock;
use Larder\System\ProcessId;
use Larder\System\Signals;
use Larder\System\WrongUser;

/**
 * Locks between processes and servers: at most one holds a name at a time.
 *
 * They are no cache entries and are never evicted. Over SQLite all processes of one machine share them, they outlive the
 * process, and a holder's death is noticed at once. Over Redis or Valkey all servers share them, they are as durable as that
 * server (its `appendonly`), and a dead holder's lock stays until its end.
 */
final class Locks
{
    /** Milliseconds. */
    private const LONGEST = 31_536_000_000;

    /** Microseconds between two tries of retry(). */
    private const PAUSE = 5_000;
    private const LONGEST_PAUSE = 100_000;

    /** Bytes of a name. */
    public const LONGEST_NAME = 200;

    private function __construct(private readonly Engine $engine) {}

    /**
     * @param string|array<string, mixed> $source a DSN (sqlite:///directory, redis://…, redis+sentinel://…, redis+cluster://…, redis+single://…,
     *                                            predis://…), or an array with "dsn" and options: `timeout` (seconds that a call
     *                                            waits for other processes or for the server; 5), `replicas` (Redis: so many must
     *                                            have a grant before it counts; 0), `credentials` (of redis://: a closure, see docs/several-servers.md)
     *
     * @throws InvalidConfiguration
     * @throws WrongUser   the directory belongs to another user
     * @throws LockFailure the directory cannot be had now
     */
    public static function open(#[\SensitiveParameter] string|array $source): self
    {
        return new self(Engines::make($source));
    }

    /**
     * Takes the lock if it is free.
     *
     * @param float $ttl seconds until it ends by itself, at least 0.001
     *
     * @return ?Lock null: another owner holds it, or `replicas` were not reached, or it took longer than $ttl
     *
     * @throws LockFailure what the call may have taken is given back with the next one of this object that reaches the locks
     * @throws \InvalidArgumentException the name is empty or too long, or $ttl is not above zero
     */
    public function acquire(string $name, float $ttl = 30.0): ?Lock
    {
        return $this->grant($name, \bin2hex(\random_bytes(16)), self::milliseconds($ttl), ProcessId::current());
    }

    /**
     * Takes the lock, and waits for it while another owner holds it.
     *
     * @param float $seconds to wait at most
     *
     * @return ?Lock null: the time is over
     *
     * @throws LockFailure
     */
    public function block(string $name, float $seconds, float $ttl = 30.0): ?Lock
    {
        return self::retry(fn(): ?Lock => $this->acquire($name, $ttl), $seconds);
    }

    /**
     * Tries again and again until there is a result or the time is over.
     *
     * @internal
     *
     * @template T of Lock|array
     *
     * @param \Closure(): ?T $try
     *
     * @return ?T
     */
    public static function retry(\Closure $try, float $seconds): Lock|array|null
    {
        $end = \hrtime(true) + $seconds * 1e9;
        for ($pause = self::PAUSE; ; $pause = \min(2 * $pause, self::LONGEST_PAUSE)) {
            $result = $try();
            $left = (int) (($end - \hrtime(true)) / 1000);
            if ($result !== null || $left <= 0) {
                return $result;
            }
            Clock::pause(\min($left, \random_int($pause >> 1, $pause)));
        }
    }

    /**
     * The lock that another process has taken, by its owner's text.
     *
     * Let that one hand it over first (Lock::handOver()). Otherwise the lock ends with that process, as long as this one has not
     * called refresh().
     *
     * @param float $ttl seconds that refresh() gives it
     *
     * @return ?Lock null: it has ended
     *
     * @throws LockFailure
     */
    public function held(string $name, string $owner, float $ttl = 30.0): ?Lock
    {
        $fence = $this->engine->fence(self::name($name), $owner);

        return $fence === null ? null : new Lock($this->engine, $name, $owner, $fence, self::milliseconds($ttl), '');
    }

    /**
     * Takes the lock under an owner's text that the caller has chosen, for any process that knows it: see held(). It ends by
     * release() or at its end, and not with this process.
     *
     * @param string $owner letters, digits and the characters "-", "_", ".", "~" and "%"
     *
     * @return ?Lock null: an owner holds it, perhaps this one, or `replicas` were not reached, or it took longer than $ttl
     *
     * @throws LockFailure
     * @throws \InvalidArgumentException
     */
    public function acquireAs(string $name, string $owner, float $ttl): ?Lock
    {
        if (\preg_match('/^[\w.~%-]*$/D', $owner) !== 1) {
            throw new \InvalidArgumentException('An owner\'s text has letters, digits, "-", "_", ".", "~" and "%" only. Encode what it may have besides by rawurlencode().');
        }

        return $this->grant($name, $owner, self::milliseconds($ttl), '');
    }

    /**
     * @return ?string the text of the owner who holds the lock now; null: it is free
     *
     * @throws LockFailure
     */
    public function owner(string $name): ?string
    {
        return $this->engine->owner(self::name($name));
    }

    /**
     * Releases every lock whose name begins so, also those of other owners.
     *
     * @throws LockFailure
     */
    public function clear(string $prefix = ''): void
    {
        $this->engine->clear($prefix);
    }

    /** @internal */
    public static function milliseconds(float $seconds): int
    {
        $milliseconds = $seconds * 1000;

        return $milliseconds >= 1.0 && $milliseconds <= self::LONGEST ? (int) $milliseconds
            : throw new \InvalidArgumentException('A lock lives for a thousandth of a second to a year. Write its life in seconds, for example 30.');
    }

    private function grant(string $name, string $owner, int $life, string $process): ?Lock
    {
        $held = Signals::hold();
        $start = \hrtime(true);
        $fence = $this->engine->acquire(self::name($name), $owner, $life, $process);
        $lock = $fence === null ? null : new Lock($this->engine, $name, $owner, $fence, $life, $process);

        // Or it took longer than the lock lives.
        $lock = $lock === null || \hrtime(true) - $start < $life * 1_000_000 || $lock->isOwned() ? $lock : null;
        try {
            unset($held);

            return $lock;
        } catch (\Throwable $thrown) { // @phpstan-ignore catch.neverThrown (by $held's destructor)
            // By the handler of a signal that had to wait: the caller does not get the lock.
            $lock?->release();

            throw $thrown;
        }
    }

    private static function name(string $name): string
    {
        return $name !== '' && \strlen($name) <= self::LONGEST_NAME ? $name
            : throw new \InvalidArgumentException('A lock\'s name has 1 to ' . self::LONGEST_NAME . ' bytes. Write for example import, or a hash of what is longer.');
    }
}
