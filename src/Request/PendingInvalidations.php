<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\UnsafeDirectory;
use Larder\System\WrongUser;

/**
 * Keeps on this server the invalidations that the store could not record, until the store is back.
 *
 * They lie in a file of fixed size, filled with zeros before it is needed, so that a full disk cannot refuse it:
 *
 *     used 4 | taken 4 | "LrdK" | LF | n × (key, LF)          used 0xFFFFFFFF: too many, all must be flushed
 *
 * Where the four letters are missing, another program has written over the file, and all must be flushed. `used` counts
 * the bytes from the first LF on. A key's LF is written as \n, its backslash as \\. However often a key changes during an
 * outage, it is added once. A process is applying the keys before `taken`, so a key that changes again is added again if
 * it is not behind `taken`.
 *
 * The file's modification time tells whether any keys wait: every write changes it, even the last write of a killed
 * process, and the process that has applied all keys sets it back to CLEAN. So a request pays one stat() to ask.
 * Processes add keys under the file's lock, which they hold for microseconds. The process that applies them holds a
 * second lock (the gate) for as long as the store takes, so that a store that hangs stops no process from adding.
 * If that file cannot be written either (the directory was deleted, or is read-only), a flag in another directory says
 * that something was lost, and everything is flushed when the store is back, by one process, under a gate of the flag's.
 * Without a flag this process keeps the keys.
 */
final class PendingInvalidations
{
    private const SIZE = 1_048_576;
    private const HEAD = 12;
    private const MARK = 'LrdK';
    /** The head while no key waits. */
    private const NONE = "\0\0\0\0\0\0\0\0" . self::MARK;
    private const CLEAN = 1;
    private const ALL = "\xFF\xFF\xFF\xFF";
    private const ESCAPED = ['\\' => '\\\\', "\n" => '\\n'];

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
    /** Keys handed to the store in one call, so that each call fits into its time-out. */
    private const PORTION = 500;
    /** With more keys than this, a hash table of the keys in the file finds the missing ones. */
    private const FEW = 8;
    /** Keys that a process keeps in memory; with more, everything counts as changed. */
    private const MOST = 20_000;

    /** @var array<string, true> keys of this process that no file took */
    private array $own = [];

    /** hrtime() until which this process does not wait for the lock. */
    private int $rest = 0;

    /**
     * @param ?string $file    null: no directory can hold it
     * @param ?string $spare   the flag: a file in another private directory; null: none
     * @param float   $timeout seconds that a call may wait, for the store and then for the lock
     */
    public function __construct(private readonly ?string $file, private readonly ?string $spare = null, private readonly float $timeout = 0.5) {}

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

        return \filemtime($file) !== self::CLEAN;
    }

    /**
     * @param list<string> $keys
     * @param ?int         $begun hrtime() when the call began that has failed; null: just now
     *
     * @return bool false: only this process's memory holds them
     */
    public function keep(array $keys, ?int $begun = null): bool
    {
        $begun ??= (int) \hrtime(true);
        foreach ($keys as $key) {
            $this->own[$key] = true;
        }
        if ($this->write($begun)) {
            return true;
        }
        if (\count($this->own) > self::MOST) {
            $this->own = ['f:' => true];
        }

        return $this->flag($begun);
    }

    private function write(int $begun): bool
    {
        if ($this->file === null) {
            return false;
        }
        \is_file($this->file) || $this->prepare($this->file, $this->patience($begun));
        $handle = FileLock::file($this->file);
        if ($handle === null || !$this->lock($handle, $begun)) {
            return false;
        }
        Quiet::begin();
        try {
            [$used, $taken] = self::head($handle);
            if ($used === self::ALL) {
                // Written again for the file's modification time.
                if (!self::put($handle, 0, self::ALL)) {
                    return false;
                }
            } else {
                $end = self::HEAD + self::number($used);
                $bytes = self::HEAD === $end ? "\n" : '';
                foreach ($this->missing($handle, \max(self::HEAD, $taken), $end) as $key) {
                    $bytes .= $key . "\n";
                }
                if ($bytes !== '') {
                    $kept = $end + \strlen($bytes) <= (\fstat($handle)['size'] ?? 0) && \fseek($handle, $end) === 0
                        && \fwrite($handle, $bytes) === \strlen($bytes);
                    // The length comes last. A process killed before it leaves a changed modification time, and apply()
                    // does not see its keys.
                    if (!self::put($handle, 0, $kept ? \pack('N', $end - self::HEAD + \strlen($bytes)) : self::ALL)) {
                        return false;
                    }
                }
            }
            $this->own = [];

            return true;
        } finally {
            Quiet::end();
            \fclose($handle);
        }
    }

    /**
     * This process's keys, escaped, that this part of the file does not have yet.
     *
     * @param resource $handle
     *
     * @return list<string>
     */
    private function missing($handle, int $start, int $end): array
    {
        \fseek($handle, $start);
        $there = $end <= $start ? '' : (string) \stream_get_contents($handle, $end - $start);
        $table = \count($this->own) > self::FEW ? \array_flip(\explode("\n", $there)) : null;
        $missing = [];
        foreach ($this->own as $key => $_) {
            $key = \strtr((string) $key, self::ESCAPED);
            if ($table === null ? !\str_contains($there, "\n" . $key . "\n") : !isset($table[$key])) {
                $missing[] = $key;
            }
        }

        return $missing;
    }

    /**
     * Hands the kept keys to $apply and forgets them when it returns.
     *
     * @param \Closure(non-empty-list<string>): void $apply
     *
     * @return bool false: another process is applying them, or the file cannot be read or reset
     */
    public function apply(\Closure $apply): bool
    {
        $begun = (int) \hrtime(true);
        if ($this->own !== []) {
            $own = $this->own;
            $this->own = [];
            try {
                self::hand(\array_map(\strval(...), \array_keys($own)), $apply);
            } catch (\Throwable $thrown) {
                $this->own += $own;

                throw $thrown;
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
        $handle = FileLock::file($this->file);
        if ($gate === null || $handle === null || !FileLock::take($gate, self::GATE)) {
            return false;
        }
        $done = '';
        $isDone = false;
        try {
            for ($round = 0; $round < self::ROUNDS; $round++) {
                if (!$this->lock($handle, $begun)) {
                    return false;
                }
                $bytes = self::used($handle);
                if ($bytes === $done) {
                    return $isDone = $this->forget($handle, $this->file);
                }
                if ($bytes !== self::ALL && !self::put($handle, 4, \pack('N', self::HEAD + \strlen($bytes) - 1))) {
                    return false;
                }
                \flock($handle, \LOCK_UN);
                // Others may add keys while the store applies these; the next round takes them.
                self::hand(self::parse(\str_starts_with($bytes, $done) ? \substr($bytes, \max(0, \strlen($done) - 1)) : self::ALL), $apply);
                $done = $bytes;
            }

            return false;
        } finally {
            if (!$isDone && $done !== self::ALL && $this->lock($handle, $begun)) {
                // All keys must be applied again, so a key that is in the file need not be added a second time.
                self::put($handle, 4, "\0\0\0\0");
            }
            \fclose($handle);
            \fclose($gate);
        }
    }

    /**
     * @param non-empty-list<string>                 $keys
     * @param \Closure(non-empty-list<string>): void $apply
     */
    private static function hand(array $keys, \Closure $apply): void
    {
        foreach (\array_chunk($keys, self::PORTION) as $portion) {
            $apply($portion);
        }
    }

    /**
     * Takes the file's lock. Waits only once for a holder that has stopped.
     *
     * @param resource $handle
     * @param int      $begun  hrtime() when the call began
     */
    private function lock($handle, int $begun): bool
    {
        if (FileLock::take($handle, $this->patience($begun))) {
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
        if ($this->spare === null) {
            return false;
        }
        if ((string) \ini_get('open_basedir') === '') {
            return \is_file($this->spare);
        }
        // It lies outside the cache's directory, which may be all that PHP may see.
        Quiet::begin();
        try {
            return \is_file($this->spare);
        } finally {
            Quiet::end();
        }
    }

    /**
     * Puts the flag: nobody else knows which keys changed, so everything counts as changed. Its size says how often it was put,
     * so that a process that has flushed everything meanwhile leaves it.
     */
    private function flag(int $begun): bool
    {
        if ($this->spare === null || !$this->isPrivate()) {
            return false;
        }
        for ($try = 0; $try < self::ROUNDS; $try++) {
            $handle = FileLock::file($this->spare);
            if ($handle === null) {
                return false;
            }
            $this->lock($handle, $begun);
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
     * @param \Closure(non-empty-list<string>): void $apply
     */
    private function flush(\Closure $apply, int $begun): bool
    {
        $gate = FileLock::file($this->spare . '.gate');
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            return false;
        }
        try {
            for ($round = 0; $this->isFlagged(); $round++) {
                $times = (int) \filesize((string) $this->spare);
                $apply(['f:']);
                // A flag that cannot be removed would flush again and again.
                if (!$this->lower($times, $begun) || $round === self::ROUNDS) {
                    return false;
                }
            }

            return true;
        } finally {
            \fclose($gate);
        }
    }

    /** Removes the flag, unless somebody has put it again since its size was this. */
    private function lower(int $times, int $begun): bool
    {
        $handle = FileLock::file((string) $this->spare);
        if ($handle === null || !$this->lock($handle, $begun)) {
            return false;
        }
        $isDone = ((\fstat($handle)['size'] ?? 0) !== $times) || Quiet::remove((string) $this->spare);
        \fclose($handle);

        return $isDone;
    }

    /** Whether no other user can put the flag or remove it. */
    private function isPrivate(): bool
    {
        try {
            PrivateDirectory::prepare(\dirname((string) $this->spare));
        } catch (Failure|UnsafeDirectory|WrongUser) {
            return false;
        }

        return true;
    }

    /**
     * The file's content from its first LF on; ALL if there was too much or the file is damaged; '' if nothing waits.
     *
     * @param resource $handle
     */
    private static function used($handle): string
    {
        [$used] = self::head($handle);
        $length = $used === self::ALL ? \PHP_INT_MAX : self::number($used);
        if ($length === 0) {
            return '';
        }
        $bytes = $length > self::SIZE ? '' : (string) \stream_get_contents($handle, $length, self::HEAD);

        return \strlen($bytes) === $length ? $bytes : self::ALL;
    }

    /**
     * @param resource $handle
     *
     * @return array{string, int} the bytes of `used`, or ALL if another program has cut the file or written over it; `taken`
     */
    private static function head($handle): array
    {
        \fseek($handle, 0);
        $head = (string) \stream_get_contents($handle, self::HEAD);

        return \substr($head, 8) !== self::MARK ? [self::ALL, 0] : [\substr($head, 0, 4), self::number(\substr($head, 4))];
    }

    private static function number(string $bytes): int
    {
        /** @var array{1: int} $number */
        $number = \unpack('N', $bytes);

        return $number[1];
    }

    /** @param resource $handle */
    private static function put($handle, int $offset, string $bytes): bool
    {
        Quiet::begin();
        try {
            return \fseek($handle, $offset) === 0 && \fwrite($handle, $bytes) === \strlen($bytes) && \fflush($handle);
        } finally {
            Quiet::end();
        }
    }

    /**
     * @param string $bytes from an LF to an LF
     *
     * @return non-empty-list<string>
     */
    private static function parse(string $bytes): array
    {
        $keys = [];
        if (\strlen($bytes) > 2 && $bytes[0] === "\n" && $bytes[-1] === "\n") {
            foreach (\explode("\n", \substr($bytes, 1, -1)) as $key) {
                if (!\in_array(\substr($key, 0, 2), ['e:', 'f:', 't:', 'l:'], true)) {
                    return ['f:'];
                }
                $keys[\strtr($key, \array_flip(self::ESCAPED))] = true;
            }
        }

        // No keys: the file is damaged, or there were too many. Nobody knows which, so everything is flushed.
        return $keys === [] ? ['f:'] : \array_map(\strval(...), \array_keys($keys));
    }

    /**
     * Resets the file: no key waits any more. The caller holds the lock.
     *
     * @param resource $handle
     */
    private function forget($handle, string $file): bool
    {
        Quiet::begin();
        try {
            // The file was cut short, or is an earlier release's.
            $missing = self::SIZE - (\fstat($handle)['size'] ?? 0);
            $missing <= 0 || \fseek($handle, 0, \SEEK_END) === 0 && \fwrite($handle, \str_repeat("\0", $missing));

            return self::put($handle, 0, self::NONE) && \touch($file, self::CLEAN);
        } finally {
            Quiet::end();
        }
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
                $done = \fwrite($handle, \str_pad(self::NONE, self::SIZE, "\0")) === self::SIZE && \fclose($handle) && \touch($new, self::CLEAN);
                $done ? \rename($new, $file) : \unlink($new);
            }
        } finally {
            Quiet::end();
            \fclose($gate);
        }
    }
}
