<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Store\Change;
use Larder\Store\Record;
use Larder\System\ProcessId;

/**
 * The right to compute a key, with an end.
 *
 * This folder holds who computes and for how long; what is done with the result is Tier/'s. A lease is a record of
 * its own in the truth tier, taken by compare-and-swap and not logged: `l<deadline ms> <process> <key waited for>`.
 * It ends when it is released, when its deadline passes, or, on the same machine, when its process is dead.
 */
final class Leases
{
    /** How far a chain of processes that wait for one another is followed. */
    private const CHAIN = 16;

    /** @var array<string, int> leases held by this process: entry key to the lease record's version */
    private array $held = [];

    /** @var array<string, array{\WeakReference<self>, string}> by writer: the objects that hold any, and their process */
    private static array $holders = [];

    public function __construct(
        private readonly Truth $truth,
        /** Whose epoch the versions of the leases held are of. */
        public readonly RequestHistory $history,
        private readonly string $writer,
    ) {}

    /**
     * Takes the lease of an entry's key if nobody has it, and nobody has changed the entry since it was read: then it need not
     * be read again.
     *
     * @param int $position at which the entry was read
     *
     * @return bool false: not taken; take() tells why
     */
    public function takeUnchanged(string $key, int $milliseconds, int $position): bool
    {
        $outcome = $this->truth->write([$this->change($key, $milliseconds, '', 0, [$key => $position])])[0] ?? null;
        if ($outcome === null || !$outcome->done) {
            return false;
        }
        $this->note($key, $outcome->position);

        return true;
    }

    /** Takes the lease of an entry's key if nobody has it. Null: the truth tier cannot be asked. */
    public function take(string $key, int $milliseconds): ?bool
    {
        $version = 0;
        // Once for a free lease, once more over a dead one; who loses both races has lost.
        for ($try = 0; $try < 2; $try++) {
            $outcomes = $this->truth->write([$this->change($key, $milliseconds, '', $version)]);
            if ($outcomes === null) {
                return null;
            }
            if ($outcomes[0]->done) {
                $this->note($key, $outcomes[0]->position);

                return true;
            }
            $record = $outcomes[0]->record;
            if ($record !== null && $this->stands($record)) {
                return false;
            }
            $version = $record->position ?? \max(0, $outcomes[0]->position);
        }

        return false;
    }

    private function note(string $key, int $version): void
    {
        $this->held[$key] = $version;
        self::$holders[$this->writer] = [\WeakReference::create($this), ProcessId::current()];
    }

    /** The one reader that is sent to renew a value whose bounded life is over. */
    public function renews(string $key, int $milliseconds): bool
    {
        return isset($this->held[$key]) || $this->take($key, $milliseconds) === true;
    }

    public function holds(string $key): bool
    {
        return isset($this->held[$key]);
    }

    /** Whether this process computes anything, also what it was asked for through another object. */
    public function holdsAny(): bool
    {
        return self::$holders !== [] && self::here() !== [];
    }

    /** @return array<string, self> by writer: the objects of this process that hold any; after a fork those before it do not */
    private static function here(): array
    {
        $here = [];
        foreach (self::$holders as $writer => [$reference, $process]) {
            $leases = $process === ProcessId::current() ? $reference->get() : null;
            if ($leases === null) {
                unset(self::$holders[$writer]);
            } else {
                $here[$writer] = $leases;
            }
        }

        return $here;
    }

    /** The change that gives a lease back, to be written together with the value; null if it is not held. */
    public function release(string $key): ?Change
    {
        if (!isset($this->held[$key])) {
            return null;
        }
        $version = $this->held[$key];
        unset($this->held[$key]);
        if ($this->held === []) {
            unset(self::$holders[$this->writer]);
        }

        return new Change(Space::lease($key), null, $this->writer, $version, logged: false, strict: true, epoch: $this->history->epoch);
    }

    /**
     * What must be kept until the store is back, should giving a lease back fail: else everybody waits for it to its end.
     * The right to make a marker ends soon by itself.
     *
     * @return list<string>
     */
    public static function kept(Change $release): array
    {
        return \str_starts_with($release->key, 'l:') ? [$release->key] : [];
    }

    /** Gives one back by itself, where nothing is written that it could go with. */
    public function giveBack(string $key): void
    {
        $change = $this->release($key);
        if ($change !== null) {
            $this->truth->write([$change], self::kept($change));
        }
    }

    /** @return list<Change> */
    public function releaseAll(): array
    {
        $changes = [];
        foreach (\array_keys($this->held) as $key) {
            $change = $this->release($key);
            if ($change !== null) {
                $changes[] = $change;
            }
        }

        return $changes;
    }

    /** Nothing is held: in a forked child these are its parent's, in a new epoch of the store there are none. */
    public function forget(): void
    {
        $this->held = [];
        unset(self::$holders[$this->writer]);
    }

    public function stands(Record $record): bool
    {
        $parts = \explode(' ', \substr($record->body, 1), 3);

        return \count($parts) === 3 && (int) $parts[0] > $this->truth->now() && !ProcessId::isKnownDead($parts[1]);
    }

    /**
     * Writes into the leases that this process holds that it now waits for $key ('' for no more), so that two processes
     * that wait for each other can see it.
     */
    public function waitFor(string $key, int $milliseconds): void
    {
        foreach (self::here() as $leases) {
            $leases->say($key, $milliseconds);
        }
    }

    private function say(string $key, int $milliseconds): void
    {
        foreach ($this->held as $mine => $version) {
            $outcomes = $this->truth->write([$this->change($mine, $milliseconds, $key, $version)]);
            if ($outcomes !== null && $outcomes[0]->done) {
                $this->held[$mine] = $outcomes[0]->position;
            }
        }
    }

    /**
     * Whether whoever computes $key waits, over however many others, for a key that this process computes: by this
     * object or by another, which cannot go on either as long as this process waits.
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
            // Of this process, and not of another thread of it.
            if ($record !== null && isset($here[$record->writer])) {
                return true;
            }
            $key = $record === null ? '' : (\explode(' ', $record->body, 3)[2] ?? '');
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
