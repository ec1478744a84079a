<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\AppendLog;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\UnsafeDirectory;
use Larder\System\WrongUser;

/**
 * Keeps on this server the invalidations that the store could not record, until the store is back.
 *
 * They lie in an AppendLog, a key with its writer a record, in a file of fixed size that is filled with zeros before it is needed, so that a
 * full disk cannot refuse it. If it is full, each key is kept once; if that does not help, or another program has written
 * over the file, all must be flushed.
 *
 * The file's modification time tells whether any keys wait: every write changes it, even the last write of a killed
 * process, and the process that has applied all keys sets it to the day's number, which no other time is so small as. So a
 * request pays one stat() to ask. Each week a process that uses the cache renews that number, and removes the files beside it
 * whose caches have not been used for two months.
 *
 * Processes add keys under the file's lock, which they hold for microseconds. The process that applies them holds a
 * second lock (the gate) for as long as the store takes, so that a store that hangs stops no process from adding.
 * If that file cannot be written either (the directory was deleted, or is read-only), a flag in another directory says
 * that something was lost, and everything is flushed when the store is back, by one process, under a gate of the flag's.
 * Without a flag this process keeps the keys.
 */
final class PendingInvalidations
{
    private const SIZE = 1_048_576;

    /** The marker that covers everything: which keys changed is not known. */
    private const ALL = 'f:';

    /** While no key waits the file's time is below this. Seconds a day; days after which it is renewed, and the file removed. */
    private const CLEAN = 1 << 17;
    private const DAY = 86_400;
    private const RENEWED = 7;
    private const UNUSED = 60;

    /**
     * Seconds to wait for the lock at least, even if the store has taken all of the call's time. The lock is held for
     * microseconds, and a process that does not get it must flush everything.
     */
    private const LEAST = 0.05;
    /** Seconds for which this process no longer waits for the lock after it failed to get it: the holder has stopped. */
    private const REST = 2.0;
    /** Seconds to wait for the gate: its holder applies keys, for as long as the store takes. */
    private const GATE = 0.05;
    /** How many times one process applies what others added while it applied the rest. */
    private const ROUNDS = 20;
    /** Keys handed to the store in one call, so that each call fits into its time-out: as many as Redis takes in one round trip. */
    private const PORTION = 400;
    /** Keys that a process keeps in memory; with more, everything counts as changed. */
    private const MOST = 20_000;

    /** @var array<string, true> keys of this process that no file took */
    private array $own = [];

    /** hrtime() until which this process does not wait for the lock. */
    private int $rest = 0;

    /**
     * @param ?string $file    null: no directory can hold it
     * @param ?string $flag    a file in another private directory; null: none
     * @param float   $timeout seconds that a call may wait, for the store and then for the lock
     */
    public function __construct(private readonly ?string $file, private readonly ?string $flag = null, private readonly float $timeout = 0.5) {}

    public function where(): string
    {
        return $this->file ?? 'memory of this process';
    }

    public function pending(): bool
    {
        if ($this->own !== [] || $this->isFlagged()) {
            return true;
        }
        // isFlagged() has cleared PHP's stat cache.
        $file = $this->file;
        if ($file === null) {
            return false;
        }
        if (!\is_file($file)) {
            $this->prepare($file, self::GATE);

            return false;
        }
        $time = (int) \filemtime($file);
        if ($time >= self::CLEAN) {
            return true;
        }
        if (\abs(self::today() - $time) >= self::RENEWED) {
            Quiet::call(fn() => $this->renew($file));
        }

        return false;
    }

    /** How many wait, for people: one that covers everything counts as one, and so does a file that cannot be read now. */
    public function count(): int
    {
        $flagged = $this->isFlagged() ? 1 : 0;
        $file = $this->file;
        if ($file === null || !\is_file($file) || (int) \filemtime($file) < self::CLEAN) {
            return \count($this->own) + $flagged;
        }
        $log = Quiet::call(static fn(): ?AppendLog => AppendLog::open($file));

        return \count($this->own) + $flagged + ($log !== null && $log->lock(self::GATE) ? Quiet::call(static fn(): int => \count($log->read()[0] ?? [self::ALL])) : 1);
    }

    /**
     * @param list<string> $keys
     * @param string       $writer who invalidated them: its intents on them end with it
     * @param ?int         $begun  hrtime() when the call began that has failed; null: just now
     *
     * @return bool false: only this process's memory holds them
     */
    public function keep(array $keys, string $writer = '', ?int $begun = null): bool
    {
        $begun ??= (int) \hrtime(true);
        foreach ($keys as $key) {
            $this->own[self::entry($key, $writer)] = true;
        }
        if ($this->file !== null && Quiet::call(fn(): bool => $this->write($this->file, $begun))) {
            $this->own = [];

            return true;
        }
        if (\count($this->own) > self::MOST) {
            $this->own = [self::ALL => true];
        }

        return $this->putFlag($begun);
    }

    /** Writes this process's keys. */
    private function write(string $file, int $begun): bool
    {
        for ($try = 0; $try < self::ROUNDS; $try++) {
            \clearstatcache();
            \is_file($file) || $this->prepare($file, $this->patience($begun));
            $log = AppendLog::open($file);
            if ($log === null || !$this->isLocked($log->lock(...), $begun)) {
                return false;
            }
            if ($log->isThere()) {
                $keys = \array_map(\strval(...), \array_keys($this->own));

                return $log->append($keys) || $log->restart($this->whole($log, $keys, (int) \filemtime($file) < self::CLEAN));
            }
            // Another process has removed it while this one waited for the lock.
        }

        return false;
    }

    /**
     * A log with all that waits and these keys, each once.
     *
     * @param list<string> $keys
     * @param bool         $isClean nothing waits, whatever is in the file
     */
    private function whole(AppendLog $log, array $keys, bool $isClean): string
    {
        $there = $log->read()[0] ?? ($isClean ? [] : [self::ALL]);
        $all = \array_flip([...$there, ...$keys]);
        // Without the writers, whose intents then end by themselves, each key is there once. Not quite full, or the next
        // process would have to read all of it again.
        $most = \min(self::SIZE * 0.9, $log->size());
        $bytes = AppendLog::bytes(...\array_map(\strval(...), \array_keys($all)));
        if (\strlen($bytes) > $most) {
            $bytes = AppendLog::bytes(...\array_map(\strval(...), \array_keys(self::byKey(\array_keys($all)))));
        }

        return \strlen($bytes) > $most ? AppendLog::bytes(self::ALL) : $bytes;
    }

    /**
     * Hands the kept keys, each with the writers that invalidated it, to $apply and forgets them when it returns. Ends when the
     * call's time is over, so that no request waits for all that others kept: the next process applies the rest.
     *
     * @param \Closure(non-empty-array<string, list<string>>): mixed $apply
     *
     * @return bool false: some are left, another process is applying them, or the file cannot be read or reset
     */
    public function apply(\Closure $apply): bool
    {
        $begun = (int) \hrtime(true);
        if ($this->own !== []) {
            $left = \array_keys($this->own);
            $this->own = [];
            try {
                $this->hand($left, $apply, $begun);
            } finally {
                $this->own += \array_fill_keys($left, true);
            }
            if ($this->own !== []) {
                return false;
            }
        }
        if ($this->isFlagged() && $this->isPrivate() && !$this->flush($apply, $begun)) {
            return false;
        }
        \clearstatcache();
        if ($this->file === null || !\is_file($this->file)) {
            return true;
        }
        $gate = FileLock::file($this->file . '.gate');
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            return false;
        }
        // Under the gate no other file comes into its place.
        $log = Quiet::call(fn(): ?AppendLog => AppendLog::open($this->file));
        if ($log === null) {
            return false;
        }
        $mark = '';
        for ($round = 0; $round < self::ROUNDS; $round++) {
            if (!$this->isLocked($log->lock(...), $begun)) {
                return false;
            }
            // A damaged file has the mark '-': which keys were in it is not known.
            [$left, $end] = Quiet::call(static fn(): ?array => $log->read($mark)) ?? [[self::ALL], '-'];
            if ($end === $mark || $left === []) {
                return $this->forget($log, $this->file);
            }
            if ($round > 0 && $this->isOver($begun)) {
                Quiet::call(static fn(): bool => $log->restart(AppendLog::bytes(...$left)));

                return false;
            }
            $log->unlock();
            // Others may add keys while the store applies these; the next round takes them.
            $mark = $end;
            $all = \count($left);
            try {
                $this->hand($left, $apply, $begun);
            } finally {
                // What is applied goes now, or a store that fails again and again would begin with it again and again.
                $left === [] || ($round === 0 && \count($left) === $all) || $this->leave($log, $left, $mark);
            }
            if ($left !== []) {
                return false;
            }
        }

        return false;
    }

    /**
     * Hands over the first portion, and more of them until the call's time is over or one fails.
     *
     * @param list<array-key> $left in: the kept keys; out: those that are left of them
     * @param \Closure(non-empty-array<string, list<string>>): mixed $apply
     *
     * @param-out list<string> $left
     */
    private function hand(array &$left, \Closure $apply, int $begun): void
    {
        $portions = \array_chunk(self::byKey($left), self::PORTION, true);
        try {
            for ($done = 0; $done < \count($portions) && ($done === 0 || !$this->isOver($begun)); $done++) {
                $apply($portions[$done]);
            }
        } finally {
            $left = [];
            foreach (\array_slice($portions, $done) as $portion) {
                foreach ($portion as $key => $writers) {
                    foreach ($writers === [] ? [''] : $writers as $writer) {
                        $left[] = self::entry($key, $writer);
                    }
                }
            }
        }
    }

    /**
     * Leaves to the next process so much of what this one has read, and what others have added since.
     *
     * @param list<string> $left
     */
    private function leave(AppendLog $log, array $left, string $mark): void
    {
        if ($log->lock(self::LEAST)) {
            Quiet::call(static fn(): bool => ($added = $log->read($mark)) !== null && $log->restart(AppendLog::bytes(...$left, ...$added[0])));
            $log->unlock();
        }
    }

    /** Whether a call's time is over that began then. */
    private function isOver(int $begun): bool
    {
        return \hrtime(true) - $begun >= $this->timeout * 1e9;
    }

    private static function entry(string $key, string $writer): string
    {
        return $writer === '' ? $key : "$writer $key";
    }

    /**
     * @param array<array-key> $kept
     *
     * @return array<string, list<string>> by key: the writers that invalidated it; one key that covers everything, if any is not a key
     */
    private static function byKey(array $kept): array
    {
        $keys = [];
        foreach ($kept as $entry) {
            $entry = (string) $entry;
            [$writer, $key] = ($entry[1] ?? ' ') === ':' ? ['', $entry] : [...\explode(' ', $entry, 2), ''];
            if (!\in_array(\substr($key, 0, 2), ['e:', 'f:', 't:', 'l:'], true)) {
                return [self::ALL => []];
            }
            $keys[$key] ??= [];
            $writer === '' || $keys[$key][] = $writer;
        }

        return $keys;
    }

    /**
     * Takes a lock. Waits only once for a holder that has stopped.
     *
     * @param \Closure(float): bool $take takes it within so many seconds
     * @param int                   $begun hrtime() when the call began
     */
    private function isLocked(\Closure $take, int $begun): bool
    {
        if ($take($this->patience($begun))) {
            return true;
        }
        $this->rest = \hrtime(true) + (int) (self::REST * 1e9);

        return false;
    }

    /** Seconds for which a call that began then may wait for a lock. */
    private function patience(int $begun): float
    {
        $now = \hrtime(true);

        return $now < $this->rest ? 0.0 : \max(self::LEAST, $this->timeout - ($now - $begun) / 1e9);
    }

    private function isFlagged(): bool
    {
        \clearstatcache();
        if ($this->flag === null || (string) \ini_get('open_basedir') === '') {
            return $this->flag !== null && \file_exists($this->flag);
        }

        // It lies outside the cache's directory, which may be all that PHP may see.
        return Quiet::call(fn(): bool => \file_exists($this->flag));
    }

    /**
     * Puts the flag: no other process knows which keys changed, so everything counts as changed. Its size says how often it was put,
     * so that a process that has flushed everything meanwhile leaves it. A process that may open no more files makes a directory
     * in its place, and another one in that.
     */
    private function putFlag(int $begun): bool
    {
        if ($this->flag === null || !$this->isPrivate()) {
            return false;
        }
        for ($try = 0; $try < self::ROUNDS; $try++) {
            $handle = FileLock::file($this->flag);
            if ($handle === null) {
                return Quiet::call(fn(): bool => \mkdir($this->flag . '/' . \bin2hex(\random_bytes(8)), 0o700, true));
            }
            $this->isLocked(static fn(float $seconds): bool => FileLock::take($handle, $seconds), $begun);
            $stat = (array) \fstat($handle);
            // Takes no room, so a full disk does not refuse it.
            $isPut = \ftruncate($handle, \max(0, $stat['size'] ?? 0) + 1);
            \fclose($handle);
            if (($stat['nlink'] ?? 1) !== 0) {
                return $isPut;
            }
            // Another process has removed it while this one waited for the lock.
        }

        return false;
    }

    /**
     * Flushes everything, because of the flag, and removes it. One process at a time: the flush of another one would take
     * away what was stored since this one's.
     *
     * @param \Closure(non-empty-array<string, list<string>>): mixed $apply
     */
    private function flush(\Closure $apply, int $begun): bool
    {
        $flag = (string) $this->flag;
        $gate = FileLock::file($flag . '.gate');
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            return false;
        }
        for ($round = 0; $this->isFlagged(); $round++) {
            $times = (int) \filesize($flag);
            $directories = \is_dir($flag) ? \array_diff(\scandir($flag) ?: [], ['.', '..']) : null;
            $apply([self::ALL => []]);
            if ($directories !== null) {
                Quiet::call(static function () use ($flag, $directories): void {
                    foreach ($directories as $name) {
                        \rmdir("$flag/$name");
                    }
                    // Not if another one has come into it.
                    \rmdir($flag);
                });
                if ($round === self::ROUNDS) {
                    return false;
                }
                continue;
            }
            $handle = FileLock::file($flag);
            // A flag that cannot be removed would flush again and again. One that was put again stays.
            if ($handle === null || $round === self::ROUNDS || !$this->isLocked(static fn(float $seconds): bool => FileLock::take($handle, $seconds), $begun)
                || ((\fstat($handle)['size'] ?? 0) === $times && !Quiet::remove($flag))) {
                return false;
            }
            \fclose($handle);
        }

        return true;
    }

    /** Whether no other user can put the flag or remove it. */
    private function isPrivate(): bool
    {
        try {
            PrivateDirectory::prepare(\dirname((string) $this->flag));
        } catch (Failure|UnsafeDirectory|WrongUser) {
            return false;
        }

        return true;
    }

    /** Resets the file: no key waits any more. The caller holds the lock. */
    private function forget(AppendLog $log, string $file): bool
    {
        // The file may have been cut short, or be an earlier release's.
        return Quiet::call(static fn(): bool => $log->restart($log->size() < self::SIZE ? self::blank() : AppendLog::bytes()) && \touch($file, self::today()));
    }

    private static function blank(): string
    {
        return \str_pad(AppendLog::bytes(), self::SIZE, "\0");
    }

    /**
     * Creates the whole file at once, since an empty one would count as damaged. One process at a time, so that none replaces another's.
     *
     * @param float $patience seconds to wait for another process that does
     */
    private function prepare(string $file, float $patience): void
    {
        $gate = FileLock::file($file . '.gate');
        if ($gate === null || !FileLock::take($gate, $patience)) {
            return;
        }
        $new = $file . '.new';
        Quiet::begin();
        try {
            // A killed process left it.
            \is_file($new) && \unlink($new);
            \clearstatcache();
            $handle = \is_file($file) ? null : FileLock::file($new);
            if ($handle !== null) {
                $done = \fwrite($handle, self::blank()) === self::SIZE && \fclose($handle) && \touch($new, self::today());
                $done ? \rename($new, $file) : \unlink($new);
            }
        } finally {
            Quiet::end();
            \fclose($gate);
        }
    }

    /** Notes that this cache is in use, and removes the files beside it of caches that are not. Their gates, which are empty, stay. */
    private function renew(string $file): void
    {
        $this->whileClean($file, 0, static fn(): bool => \touch($file, self::today()));
        $kind = \dirname($file) . '/' . \strstr(\basename($file) . '-', '-', true) . '-';
        foreach (\scandir(\dirname($file)) ?: [] as $name) {
            $other = \dirname($file) . "/$name";
            if ($other !== $file && \str_starts_with($other, $kind) && !\str_contains($name, '.')) {
                $this->whileClean($other, self::UNUSED, static fn(): bool => \unlink($other));
            }
        }
    }

    /**
     * Does something to a file in which no key waits, and cannot meanwhile.
     *
     * @param int             $days for which it must not have been used
     * @param \Closure(): bool $work
     */
    private function whileClean(string $file, int $days, \Closure $work): void
    {
        $log = AppendLog::open($file);
        if ($log?->lock(0.0) === true && $log->isThere() && \filemtime($file) < self::CLEAN && \abs(self::today() - \filemtime($file)) >= $days) {
            $work();
        }
    }

    /** Days since 1970. */
    private static function today(): int
    {
        return \intdiv(\time(), self::DAY);
    }
}
