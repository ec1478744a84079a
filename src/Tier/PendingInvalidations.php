<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\UnsafeDirectory;
use Larder\System\WrongUser;

/**
 * Invalidations that could not be recorded, kept on this server until the store is back.
 *
 * A file of fixed size, filled with zeros before it is needed, so that a full disk cannot refuse it:
 *
 *     used 4 | taken 4 | LF | n × (key, LF)          used 0xFFFFFFFF: too many, all must be flushed
 *
 * `used` are the bytes from the first LF on; LF and backslash in a key stand there as \n and \\. A key is added once,
 * however often it is changed during an outage: only if it is not among those behind `taken`. Up to there they are
 * being applied, and whoever changes one of these again is newer than that.
 *
 * Whether there are any is said by the file's time: every write changes it by itself, also that of a process killed
 * right after; whoever has applied them sets it back to CLEAN. So the question costs a request one stat().
 * Keys are only ever added, under the file's lock, which is held for microseconds. Who applies them holds a second
 * one (the gate) for as long as the store takes, so that a store that hangs keeps nobody from keeping.
 * Where even that file cannot be written (the directory is gone, or read-only) a flag in another place says that
 * something was lost, and all is flushed when the store is back; without a flag the keys stay with this process.
 */
final class PendingInvalidations
{
    private const SIZE = 1_048_576;
    private const HEAD = 8;
    private const CLEAN = 1;
    private const ALL = "\xFF\xFF\xFF\xFF";
    private const ESCAPED = ['\\' => '\\\\', "\n" => '\\n'];

    /** Seconds for the lock, which is held for microseconds: who does not get it on a busy machine has to flush all. */
    private const PATIENCE = 0.5;
    /** Seconds in which nobody waits for it any more, after it was not to be had: its holder was stopped. */
    private const REST = 2.0;
    /** Seconds for the gate: somebody else applies, for as long as the store takes. */
    private const GATE = 0.05;
    /** How often more may be added while the rest is applied. */
    private const ROUNDS = 20;
    /** Keys that the store is given at a time, so that each time fits into its time-out. */
    private const PORTION = 500;
    /** Keys above which they are looked up in a table of those that are there. */
    private const FEW = 8;
    /** Keys that a process keeps by itself; above, all counts as changed. */
    private const MOST = 20_000;

    /** @var array<string, true> those of this process that no file took */
    private array $own = [];

    /** hrtime() until which nobody waits for the lock. */
    private int $rest = 0;

    /**
     * @param ?string $file  null: there is no place for it
     * @param ?string $spare a file in another place, in a private directory: the flag; null: none
     */
    public function __construct(private readonly ?string $file, private readonly ?string $spare = null) {}

    public function where(): string
    {
        return $this->file ?? 'memory of this process';
    }

    public function pending(): bool
    {
        if ($this->own !== [] || $this->isFlagged()) {
            return true;
        }
        if ($this->file === null) {
            return false;
        }
        \clearstatcache(true, $this->file);
        if (!\is_file($this->file)) {
            $this->prepare($this->file);

            return false;
        }

        return \filemtime($this->file) !== self::CLEAN;
    }

    /**
     * @param list<string> $keys
     *
     * @return bool false: only this process has them
     */
    public function keep(array $keys): bool
    {
        foreach ($keys as $key) {
            $this->own[$key] = true;
        }
        if ($this->write()) {
            return true;
        }
        if (\count($this->own) > self::MOST) {
            $this->own = ['f:' => true];
        }

        return $this->flag();
    }

    private function write(): bool
    {
        if ($this->file === null) {
            return false;
        }
        \is_file($this->file) || $this->prepare($this->file);
        $handle = FileLock::file($this->file);
        if ($handle === null || !$this->lock($handle)) {
            return false;
        }
        Quiet::begin();
        try {
            [$used, $taken] = self::head($handle);
            if ($used === self::ALL) {
                // So that the file's time says so too.
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
                    // The length last: a kill before it leaves the file's time changed, and an apply() that finds less.
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
     * Those of this process's keys, escaped, that do not stand in this part of the file.
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
     * Hands what is kept to $apply and, when that returns, forgets it.
     *
     * @param \Closure(non-empty-list<string>): void $apply
     *
     * @return bool false: somebody else is at it, or what is kept cannot be read or forgotten
     */
    public function apply(\Closure $apply): bool
    {
        if ($this->own !== []) {
            self::hand(\array_map(\strval(...), \array_keys($this->own)), $apply);
            $this->own = [];
        }
        if ($this->isFlagged() && $this->isPrivate()) {
            $apply(['f:']);
            // A flag that stays flushes again.
            if (!Quiet::remove((string) $this->spare)) {
                return false;
            }
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
                if (!$this->lock($handle)) {
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
                // While the store is spoken to others may add to it: what they add is next.
                self::hand(self::parse(\str_starts_with($bytes, $done) ? \substr($bytes, \max(0, \strlen($done) - 1)) : self::ALL), $apply);
                $done = $bytes;
            }

            return false;
        } finally {
            if (!$isDone && $done !== self::ALL && $this->lock($handle)) {
                // All of it is to be applied again, and a key that is there need not come a second time.
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
     * Never for long behind a stopped holder, and once.
     *
     * @param resource $handle
     */
    private function lock($handle): bool
    {
        $now = \hrtime(true);
        if (FileLock::take($handle, $now < $this->rest ? 0.0 : self::PATIENCE)) {
            return true;
        }
        $this->rest = $now + (int) ((self::PATIENCE + self::REST) * 1e9);

        return false;
    }

    private function isFlagged(): bool
    {
        if ($this->spare === null) {
            return false;
        }
        \clearstatcache(true, $this->spare);

        return \is_file($this->spare);
    }

    /** What was changed is known by nobody else: then all of it counts as changed. */
    private function flag(): bool
    {
        if ($this->spare === null || !$this->isPrivate()) {
            return false;
        }
        $handle = FileLock::file($this->spare);
        $handle === null || \fclose($handle);

        return $handle !== null;
    }

    /** Whether nobody else can put a flag there, or take it away. */
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
     * What is in the file from its first LF on, ALL where that is too much or damaged, '' for nothing.
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
     * @return array{string, int} `used` as it stands there, ALL where it does not; `taken`
     */
    private static function head($handle): array
    {
        \fseek($handle, 0);
        $head = (string) \stream_get_contents($handle, self::HEAD);

        return \strlen($head) < self::HEAD ? [self::ALL, 0] : [\substr($head, 0, 4), self::number(\substr($head, 4))];
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

        // Else it is damaged, or too many: nobody knows what stood here.
        return $keys === [] ? ['f:'] : \array_map(\strval(...), \array_keys($keys));
    }

    /**
     * Nothing is kept any more. With the lock.
     *
     * @param resource $handle
     */
    private function forget($handle, string $file): bool
    {
        Quiet::begin();
        try {
            // One that was cut short, or is of an earlier release.
            $missing = self::SIZE - (\fstat($handle)['size'] ?? 0);
            $missing <= 0 || \fseek($handle, 0, \SEEK_END) === 0 && \fwrite($handle, \str_repeat("\0", $missing));

            return self::put($handle, 0, \str_repeat("\0", self::HEAD)) && \touch($file, self::CLEAN);
        } finally {
            Quiet::end();
        }
    }

    /** Complete, or not there: an empty file would be a damaged one. One at a time, so that none goes over another. */
    private function prepare(string $file): void
    {
        $gate = FileLock::file($file . '.gate');
        if ($gate === null || !FileLock::take($gate, self::GATE)) {
            return;
        }
        $new = $file . '.new';
        Quiet::begin();
        try {
            // Left by one that was killed.
            \is_file($new) && \unlink($new);
            \clearstatcache();
            $handle = \is_file($file) ? null : FileLock::file($new);
            if ($handle !== null) {
                $done = \fwrite($handle, \str_repeat("\0", self::SIZE)) === self::SIZE && \fclose($handle) && \touch($new, self::CLEAN);
                $done ? \rename($new, $file) : \unlink($new);
            }
        } finally {
            Quiet::end();
            \fclose($gate);
        }
    }
}
