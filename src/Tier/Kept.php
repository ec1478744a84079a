<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Config\Directory;
use Larder\Config\InvalidConfiguration;
use Larder\Config\WrongUser;
use Larder\Store\StoreFailure;

/**
 * Invalidations that could not be recorded, kept on this server until the store is back.
 *
 * A file of fixed size, filled with zeros before it is needed, so that a full disk cannot refuse it:
 *
 *     used 4 | n × (length 4, key)          used 0xFFFFFFFF: too many, all must be flushed
 *
 * Whether there are any is said by the file's time: every write changes it by itself, also that of a process killed
 * right after; whoever has applied them sets it back to CLEAN. So the question costs a request one stat().
 * Keys are only ever added, under the file's lock, which is held for microseconds. Who applies them holds a second
 * one (the gate) for as long as the store takes, so that a store that hangs keeps nobody from keeping.
 * Where even that file cannot be written (the directory is gone, or read-only) a flag in another place says that
 * something was lost, and all is flushed when the store is back; without a flag the keys stay with this process.
 */
final class Kept
{
    private const SIZE = 65536;
    private const CLEAN = 1;
    private const ALL = "\xFF\xFF\xFF\xFF";
    /** Seconds for each of the two locks. */
    private const PATIENCE = 0.05;
    /** How often more may be added while the rest is applied. */
    private const ROUNDS = 20;

    /** @var array<string, true> those of this process that no file took */
    private array $own = [];

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

        return $this->write() || $this->flag();
    }

    private function write(): bool
    {
        if ($this->file === null) {
            return false;
        }
        \is_file($this->file) || $this->prepare($this->file);
        $handle = Lock::open($this->file);
        if ($handle === null || !Lock::take($handle, self::PATIENCE)) {
            return false;
        }
        \set_error_handler(static fn(): bool => true);
        try {
            $used = (string) \fread($handle, 4);
            if ($used !== self::ALL) {
                /** @var array{1: int} $length */
                $length = \unpack('N', \str_pad($used, 4, "\0"));
                $bytes = '';
                foreach ($this->own as $key => $_) {
                    $bytes .= \pack('N', \strlen((string) $key)) . $key;
                }
                $end = $length[1] + \strlen($bytes);
                $kept = $end + 4 <= self::SIZE && \fseek($handle, 4 + $length[1]) === 0
                    && \fwrite($handle, $bytes) === \strlen($bytes);
                // The length last: a kill before it leaves the file's time changed, and an apply() that finds less.
                \fseek($handle, 0);
                if (\fwrite($handle, $kept ? \pack('N', $end) : self::ALL) !== 4 || !\fflush($handle)) {
                    return false;
                }
            }
            $this->own = [];

            return true;
        } finally {
            \restore_error_handler();
            \fclose($handle);
        }
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
            $apply(\array_map(\strval(...), \array_keys($this->own)));
            $this->own = [];
        }
        if ($this->isFlagged() && $this->isPrivate()) {
            $apply(['f:']);
            // A flag that stays flushes again.
            if (!\is_file((string) $this->spare) || !\unlink((string) $this->spare)) {
                return false;
            }
        }
        \clearstatcache();
        if ($this->file === null || !\is_file($this->file)) {
            return true;
        }
        $gate = Lock::open($this->file . '.gate');
        $handle = Lock::open($this->file);
        if ($gate === null || $handle === null || !Lock::take($gate, self::PATIENCE)) {
            return false;
        }
        try {
            $done = '';
            for ($round = 0; $round < self::ROUNDS; $round++) {
                if (!Lock::take($handle, self::PATIENCE)) {
                    return false;
                }
                $bytes = self::used($handle);
                if ($bytes === $done) {
                    return $this->forget($handle, $this->file);
                }
                \flock($handle, \LOCK_UN);
                // While the store is spoken to others may add to it: what they add is next.
                $apply(self::parse(\str_starts_with($bytes, $done) ? \substr($bytes, \strlen($done)) : self::ALL));
                $done = $bytes;
            }

            return false;
        } finally {
            \fclose($handle);
            \fclose($gate);
        }
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
        $handle = Lock::open($this->spare);
        $handle === null || \fclose($handle);

        return $handle !== null;
    }

    /** Whether nobody else can put a flag there, or take it away. */
    private function isPrivate(): bool
    {
        try {
            Directory::prepare(\dirname((string) $this->spare));
        } catch (StoreFailure|InvalidConfiguration|WrongUser) {
            return false;
        }

        return true;
    }

    /**
     * What is in the file: lengths and keys, ALL where that is too much or damaged, '' for nothing.
     *
     * @param resource $handle
     */
    private static function used($handle): string
    {
        \fseek($handle, 0);
        $bytes = (string) \stream_get_contents($handle);
        /** @var array{1: int} $used */
        $used = \strlen($bytes) < 4 ? [1 => \PHP_INT_MAX - 4] : \unpack('N', $bytes);

        return 4 + $used[1] > \strlen($bytes) ? self::ALL : \substr($bytes, 4, $used[1]);
    }

    /** @return non-empty-list<string> */
    private static function parse(string $bytes): array
    {
        $keys = [];
        for ($offset = 0, $end = \strlen($bytes); $offset < $end; $offset += 4 + $length[1]) {
            /** @var array{1: int} $length */
            $length = $offset + 4 <= $end ? \unpack('N', $bytes, $offset) : [1 => 0];
            $key = \substr($bytes, $offset + 4, $length[1]);
            if ($length[1] === 0 || \strlen($key) !== $length[1] || !\in_array(\substr($key, 0, 2), ['e:', 'f:', 't:'], true)) {
                // Damaged, or too many: nobody knows what stood here.
                return ['f:'];
            }
            $keys[$key] = true;
        }

        return $keys === [] ? ['f:'] : \array_map(\strval(...), \array_keys($keys));
    }

    /**
     * Nothing is kept any more. With the lock.
     *
     * @param resource $handle
     */
    private function forget($handle, string $file): bool
    {
        \set_error_handler(static fn(): bool => true);
        try {
            \fseek($handle, 0);

            return \fwrite($handle, "\0\0\0\0") === 4 && \fflush($handle) && \touch($file, self::CLEAN);
        } finally {
            \restore_error_handler();
        }
    }

    /** Complete, or not there: an empty file would be a damaged one. */
    private function prepare(string $file): void
    {
        $new = $file . '.' . \getmypid();
        $handle = Lock::open($new);
        if ($handle === null) {
            return;
        }
        \set_error_handler(static fn(): bool => true);
        try {
            if (\fwrite($handle, \str_repeat("\0", self::SIZE)) === self::SIZE && \fflush($handle)
                && \touch($new, self::CLEAN) && !\link($new, $file) && !\is_file($file)) {
                // A file system without links.
                \rename($new, $file);
            }
        } finally {
            \fclose($handle);
            \is_file($new) && \unlink($new);
            \restore_error_handler();
        }
    }
}
