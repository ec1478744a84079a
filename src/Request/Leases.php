<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Record;
use Larder\System\Coroutine;
use Larder\System\ProcessId;

/**
 * Takes and releases leases. A lease is the right to compute a key, until a deadline.
 *
 * A lease is a record of its own in the truth tier: `l<deadline ms> <process> <key waited for>`. A process takes it by
 * compare-and-swap, and it does not enter the journal. It ends when it is released, when its deadline passes, or when
 * another process on the same machine finds its process dead.
 */
final class Leases
{
    /** How far a chain of processes that wait for one another is followed. */
    private const CHAIN = 16;

    private const UNKNOWN = -1;

    /** @var array<string, int> leases held by this process: entry key to the lease record's version; UNKNOWN after an answer was lost */
    private array $held = [];

    /** @var array<string, true> those for which a value is being computed */
    private array $computed = [];

    /** @var array<string, array{\WeakReference<self>, string, bool, ?\WeakReference<object>}> by writer: the objects that hold leases, their process, whether an event loop resumes what computes there, and its coroutine */
    private static array $holders = [];

    public function __construct(
        private readonly Truth $truth,
        /** The versions in $held belong to its epoch. */
        public readonly History $history,
        private string $writer,
    ) {}

    /**
     * Takes the lease of an entry's key if it is free and the entry was not changed since it was read. The caller
     * then need not read the entry again.
     *
     * @param int $position at which the entry was read
     *
     * @return bool false: not taken; call take() to learn why
     */
    public function takeUnchanged(string $key, int $milliseconds, int $position): bool
    {
        $outcome = $this->write($this->change($key, $milliseconds, '', 0, [$key => $position]));
        if ($outcome === null || !$outcome->done) {
            return false;
        }
        $this->note($key, $outcome->position);

        return true;
    }

    /** Takes the lease of an entry's key if it is free. Null: the truth tier does not answer. */
    public function take(string $key, int $milliseconds): ?bool
    {
        $version = 0;
        // Try once for a free lease and once more over a dead holder's. A process that loses both races gives up.
        for ($try = 0; $try < 2; $try++) {
            $outcome = $this->write($this->change($key, $milliseconds, '', $version));
            if ($outcome === null) {
                return null;
            }
            if ($outcome->done) {
                $this->note($key, $outcome->position);

                return true;
            }
            $record = $outcome->record;
            if ($record !== null && $this->stands($record)) {
                return false;
            }
            $version = $record->position ?? \max(0, $outcome->position);
        }

        return false;
    }

    /** A lease that the store may have given, and whose answer was lost, is taken back: no process would release it before its time. */
    private function write(Change $lease): ?ChangeResult
    {
        return $this->truth->write([$lease], $this->truth->down() ? [] : [$lease->key])[0] ?? null;
    }

    private function note(string $key, int $version): void
    {
        $this->held[$key] = $version;
        $coroutine = Coroutine::current();
        self::$holders[$this->writer] = [\WeakReference::create($this), ProcessId::current(), Coroutine::isInLoop(), $coroutine === null ? null : \WeakReference::create($coroutine)];
    }

    /** Whether this process is the one that renews a value whose bounded life has ended: it takes the lease. */
    public function renews(string $key, int $milliseconds): bool
    {
        return isset($this->held[$key]) || $this->take($key, $milliseconds) === true;
    }

    /** A value is being computed for a key whose lease is held: until it is released by that key, or the request ends. */
    public function computes(string $key): void
    {
        $this->computed[$key] = true;
    }

    public function holds(string $key): bool
    {
        return isset($this->held[$key]);
    }

    /** Whether anything is computed, through this object or another, that does not go on while the caller waits. */
    public function holdsAny(): bool
    {
        return self::$holders !== [] && self::here() !== [];
    }

    /** Whether the key is computed in this process by what goes on while the caller waits. */
    public static function goesOn(string $key): bool
    {
        foreach (self::$holders as $writer => [$reference, $process]) {
            if ($process === ProcessId::current() && ($reference->get()?->holds($key) ?? false)) {
                return !isset(self::here()[$writer]);
            }
        }

        return false;
    }

    /**
     * Leases taken before a fork are the parent's. What the event loop runs goes on while another coroutine waits in it, so that is
     * like another process.
     *
     * @return array<string, self> by writer: the objects of this process that hold leases and do nothing while the caller waits
     */
    private static function here(): array
    {
        $here = [];
        $coroutine = Coroutine::current();
        $waits = Coroutine::mayWait();
        foreach (self::$holders as $writer => [$reference, $process, $isInLoop, $of]) {
            $leases = $process === ProcessId::current() ? $reference->get() : null;
            if ($leases === null) {
                unset(self::$holders[$writer]);
            } elseif (!$waits || !$isInLoop || $of?->get() === $coroutine) {
                $here[$writer] = $leases;
            }
        }

        return $here;
    }

    /** The change that releases a lease, to be written together with the value; null: this process does not hold it. */
    public function release(string $key): ?Change
    {
        if (!isset($this->held[$key])) {
            return null;
        }
        $version = $this->version($key);
        unset($this->held[$key], $this->computed[$key]);
        if ($this->held === []) {
            unset(self::$holders[$this->writer]);
        }

        return new Change(Space::lease($key), null, $this->writer, $version, logged: false, strict: true, epoch: $this->history->epoch);
    }

    /**
     * The keys to keep until the store is back if this release fails: otherwise everybody waits until the lease's deadline.
     * The right to make a marker is not among them: it ends soon by itself.
     *
     * @return list<string>
     */
    public static function kept(Change $release): array
    {
        return \str_starts_with($release->key, 'l:') ? [$release->key] : [];
    }

    /** Releases a lease in a write of its own, when there is no value to write with it. */
    public function giveBack(string $key): void
    {
        $change = $this->release($key);
        if ($change !== null) {
            $this->truth->write([$change], self::kept($change));
        }
    }

    /**
     * @param bool $computed also those for which a value is being computed
     *
     * @return list<Change>
     */
    public function releaseAll(bool $computed): array
    {
        $changes = [];
        foreach (\array_keys($computed ? $this->held : \array_diff_key($this->held, $this->computed)) as $key) {
            $change = $this->release($key);
            if ($change !== null) {
                $changes[] = $change;
            }
        }

        return $changes;
    }

    /** Forgets all leases: a new epoch of the store has none. */
    public function forget(): void
    {
        $this->held = $this->computed = [];
        unset(self::$holders[$this->writer]);
    }

    /** In a forked child, the leases are its parent's. Its own have another name, or one of its siblings' would pass for its own. */
    public function leaveParent(string $writer): void
    {
        $this->forget();
        $this->writer = $writer;
    }

    public function stands(Record $record): bool
    {
        $parts = \explode(' ', \substr($record->body, 1), 3);

        return \count($parts) === 3 && (int) $parts[0] > $this->truth->now() && !ProcessId::isKnownDead($parts[1]);
    }

    /**
     * Writes into the caller's leases that it waits for $key ('': for none any more), so that processes that wait for each
     * other can notice it.
     */
    public function waitFor(string $key, int $milliseconds): void
    {
        foreach (self::here() as $leases) {
            $leases->say($key, $milliseconds);
        }
    }

    private function say(string $key, int $milliseconds): void
    {
        foreach (\array_keys($this->held) as $mine) {
            $outcomes = $this->truth->write([$this->change($mine, $milliseconds, $key, $this->version($mine))]);
            // Another fiber may have released it meanwhile.
            if ($this->holds($mine) && ($outcomes === null || $outcomes[0]->done)) {
                $this->held[$mine] = $outcomes[0]->position ?? self::UNKNOWN;
            }
        }
    }

    /** The version of a lease that this process holds; 0: it has lost it meanwhile. */
    private function version(string $key): int
    {
        if (($this->held[$key] ?? 0) === self::UNKNOWN) {
            $lease = Space::lease($key);
            $snapshot = $this->truth->read([$lease]);
            $record = $snapshot?->records[$lease] ?? null;
            if ($snapshot !== null && $this->holds($key)) {
                $this->held[$key] = $record?->writer === $this->writer ? $record->position : 0;
            }
        }

        return \max(0, $this->held[$key] ?? 0);
    }

    /**
     * Whether waiting for $key would close a circle: its computer waits, directly or through others, for a key that this
     * process computes, through this object or another.
     */
    public function wouldDeadlock(string $key): bool
    {
        $here = self::here();
        for ($i = 0; $i < self::CHAIN && $key !== ''; $i++) {
            if (isset($this->held[$key])) {
                return true;
            }
            $lease = Space::lease($key);
            $record = $this->truth->read([$lease])?->records[$lease] ?? null;
            [, $process, $key] = \explode(' ', $record->body ?? '', 3) + ['', '', ''];
            // A lease of this process: not of another thread in it, nor of its parent.
            if ($record !== null && isset($here[$record->writer]) && $process === ProcessId::current()) {
                return true;
            }
        }

        return false;
    }

    /** @param array<string, int> $guards */
    private function change(string $key, int $milliseconds, string $waits, int $version, array $guards = []): Change
    {
        $deadline = $this->truth->now() + $milliseconds;

        return new Change(
            Space::lease($key),
            'l' . $deadline . ' ' . ProcessId::current() . ' ' . $waits,
            $this->writer,
            $version,
            $deadline,
            $guards,
            logged: false,
            strict: true,
            epoch: $this->history->epoch,
        );
    }
}
