<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\IncidentLog;
use Larder\System\MachineBoot;
use Larder\System\Ownership;
use Larder\System\Quiet;

/** What the processes share in a directory: the lock, the state and the journal. Begins a new epoch where needed. */
final class Shared
{
    private readonly FileLock $lock;
    private ?string $boot = null;
    private ?FileJournal $log = null;
    private string $epoch = '';
    private int $opened = 0;
    private string $values = '';

    public function __construct(private readonly string $directory, float $timeout)
    {
        $this->lock = new FileLock('files', "$directory/lock", $timeout);
    }

    public function epoch(): string
    {
        return $this->epoch;
    }

    /** The epoch's directory of records. */
    public function values(): string
    {
        return $this->values;
    }

    /** The journal, as far as this process has read it. */
    public function log(): FileJournal
    {
        return $this->log ??= new FileJournal($this->directory, $this->epoch);
    }

    /**
     * Takes the lock.
     *
     * @return array{resource, State, FileJournal} the lock's file, the state, and the journal, read to its end and ready for appends
     *
     * @throws Failure
     */
    public function hold(): array
    {
        return $this->held($this->lock->exclusive());
    }

    /**
     * Takes the lock if it is free.
     *
     * @return ?resource the lock's file
     *
     * @throws Failure
     */
    public function tryToHold(): mixed
    {
        $handle = $this->lock->try();

        return $handle === null ? null : $this->held($handle)[0];
    }

    /**
     * @param resource $handle of the lock's file, locked
     *
     * @return array{resource, State, FileJournal}
     *
     * @throws Failure
     */
    private function held(mixed $handle): array
    {
        try {
            return [$handle, ...$this->current($handle)];
        } catch (Failure $failure) {
            $this->lock->release();

            throw $failure;
        }
    }

    public function unwritable(): Failure
    {
        return Failure::because('files', "cannot write to {$this->directory}: " . Quiet::$reason);
    }

    public function release(): void
    {
        $this->lock->release();
    }

    /**
     * @return resource the lock's file, not locked
     *
     * @throws Failure
     */
    public function look(): mixed
    {
        return $this->lock->handle();
    }

    /**
     * Reads the state; takes the lock only if there is none that this process can use.
     *
     * @throws Failure
     */
    public function state(): State
    {
        $handle = $this->lock->handle();
        $state = State::read($handle);
        if ($state === null || !$this->holds($state)) {
            // Another process is writing the state, or there is none to continue with.
            $state = $this->hold()[1];
            $this->lock->release();
        }
        if (!\is_writable($this->directory)) {
            // In such a directory this process could neither append changes nor follow other processes'.
            throw Failure::because('files', "{$this->directory} is read-only");
        }
        $this->enter($state);

        return $state;
    }

    /** Whether this state is of this directory and this boot. */
    private function holds(State $state): bool
    {
        $this->boot ??= MachineBoot::id();

        return $state->inode === $this->lock->inode() && !$this->lock->isRestored() && ($state->boot === $this->boot || $state->boot === '' || $this->boot === '');
    }

    private function enter(State $state): void
    {
        if ($this->epoch !== $state->epoch || $this->opened !== $this->lock->opened()) {
            $this->epoch = $state->epoch;
            $this->opened = $this->lock->opened();
            $this->values = "$this->directory/v.$state->epoch";
            if (Ownership::isForeign($this->values)) {
                throw Failure::because('files', "{$this->values} was put there by another user; delete it");
            }
            $this->log = null;
        }
    }

    /** The journal, read to its end; takes the lock only if the journal cannot be read without it. */
    public function follow(): FileJournal
    {
        $state = $this->state();
        $log = $this->log();
        if (!$log->follow($state)) {
            $log = $this->hold()[2];
            $this->lock->release();
        }

        return $log;
    }

    /**
     * The state and the journal, ready for appends. Begins a new epoch if they cannot be continued. The caller holds the lock.
     *
     * @param resource $handle
     *
     * @return array{State, FileJournal}
     *
     * @throws Failure
     */
    private function current(mixed $handle): array
    {
        $state = State::read($handle);
        if ($state !== null && $this->holds($state)) {
            $this->enter($state);
            $log = $this->log();
            if ($log->follow($state)) {
                $base = $state->base;
                if (!$log->prepare($state)) {
                    throw $this->unwritable();
                }
                $base === $state->base || $this->save($state, $handle);

                return [$state, $log];
            }
        }

        if ($state === null && \preg_grep('/^v\./', \scandir($this->directory) ?: []) !== []) {
            IncidentLog::note($this->directory, 'lock was removed or emptied by another program');
        } elseif ($state !== null && $this->holds($state)) {
            IncidentLog::note($this->directory, 'the journal was removed, cut short or written over by another program');
        }

        return $this->begin($handle);
    }

    /**
     * Begins a new epoch, in which nothing of the old one can be read.
     *
     * @param resource $handle
     *
     * @return array{State, FileJournal}
     *
     * @throws Failure
     */
    private function begin(mixed $handle): array
    {
        // Delete the old journals: a process that still follows one looks for its file, and must not find it.
        foreach (\scandir($this->directory) ?: [] as $name) {
            if (\str_starts_with($name, 'log.')) {
                \unlink("$this->directory/$name");
            }
        }
        $this->boot ??= MachineBoot::id();
        $state = new State(\bin2hex(\random_bytes(8)), 0, -1, JournalFile::HEADER, 0, $this->boot, $this->lock->inode());
        $log = new FileJournal($this->directory, $state->epoch);
        if (!$log->create() || !Sizes::clear($handle)) {
            throw $this->unwritable();
        }
        $this->save($state, $handle);
        $this->enter($state);
        $this->log = $log;
        if (!$log->follow($state)) {
            throw Failure::because('files', "{$this->directory} does not keep what is written to it");
        }

        return [$state, $log];
    }

    /**
     * @param resource $handle
     *
     * @throws Failure
     */
    public function save(State $state, mixed $handle): void
    {
        if (!$state->write($handle)) {
            throw $this->unwritable();
        }
    }
}
