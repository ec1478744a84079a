<?php

declare(strict_types=1);

namespace Larder\Tier;

/**
 * Invalidations that could not be recorded, kept on this server until the store is back.
 *
 * A file of fixed size, filled with zeros before it is needed, so that a full disk cannot refuse it:
 *
 *     used 4 | n × (length 4, key)          used 0xFFFFFFFF: too many, all must be flushed
 *
 * Whether there are any is said by the file's time: every write changes it by itself, also that of a process killed
 * right after; whoever has applied them sets it back to CLEAN. So the question costs a request one stat().
 * Without a usable file the keys stay with this process.
 */
final class Kept
{
    private const SIZE = 65536;
    private const CLEAN = 1;
    private const ALL = "\xFF\xFF\xFF\xFF";
    private const PATIENCE = 0.05;

    /** @var array<string, true> those of this process that no file took */
    private array $own = [];

    public function __construct(private readonly ?string $file) {}

    public function where(): string
    {
        return $this->file ?? 'memory of this process';
    }

    public function pending(): bool
    {
        if ($this->own !== []) {
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

    /** @param list<string> $keys */
    public function keep(array $keys): bool
    {
        $handle = $this->file === null ? null : Lock::open($this->file);
        if ($handle === null || !Lock::take($handle, self::PATIENCE)) {
            foreach ($keys as $key) {
                $this->own[$key] = true;
            }

            return false;
        }
        \set_error_handler(static fn (): bool => true);
        try {
            $used = (string) \fread($handle, 4);
            if ($used === self::ALL) {
                return true;
            }
            /** @var array{1: int} $length */
            $length = \unpack('N', \str_pad($used, 4, "\0"));
            $bytes = '';
            foreach ($keys as $key) {
                $bytes .= \pack('N', \strlen($key)) . $key;
            }
            $end = $length[1] + \strlen($bytes);
            $kept = $end + 4 <= self::SIZE && \fseek($handle, 4 + $length[1]) === 0
                && \fwrite($handle, $bytes) === \strlen($bytes);
            // The length last: a kill before it leaves the file's time changed, and an apply() that finds less.
            \fseek($handle, 0);

            return \fwrite($handle, $kept ? \pack('N', $end) : self::ALL) === 4 && \fflush($handle);
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
     * @return bool false: somebody else is at it
     */
    public function apply(\Closure $apply): bool
    {
        if ($this->own !== []) {
            $apply(\array_map(\strval(...), \array_keys($this->own)));
            $this->own = [];
        }
        if ($this->file === null) {
            return true;
        }
        $handle = Lock::open($this->file);
        if ($handle === null) {
            return false;
        }
        try {
            if (!Lock::take($handle, self::PATIENCE)) {
                return false;
            }
            $keys = self::parse((string) \stream_get_contents($handle));
            if ($keys !== []) {
                $apply($keys);
            }
            \fseek($handle, 0);
            \fwrite($handle, "\0\0\0\0");
            \fflush($handle);

            return \touch($this->file, self::CLEAN);
        } finally {
            \fclose($handle);
        }
    }

    /** @return list<string> */
    private static function parse(string $bytes): array
    {
        if (\str_starts_with($bytes, self::ALL)) {
            return ['f:'];
        }
        if (\strlen($bytes) < 4) {
            return [];
        }
        /** @var array{1: int} $used */
        $used = \unpack('N', $bytes);
        $keys = [];
        for ($offset = 4; $offset + 4 < 4 + $used[1]; $offset += 4 + $length[1]) {
            /** @var array{1: int} $length */
            $length = \unpack('N', $bytes, $offset);
            $key = \substr($bytes, $offset + 4, $length[1]);
            if ($length[1] === 0 || \strlen($key) !== $length[1]) {
                // Damaged: nobody knows what stood here.
                return ['f:'];
            }
            $keys[] = $key;
        }

        return \array_values(\array_unique($keys));
    }

    private function prepare(string $file): void
    {
        $handle = Lock::open($file);
        if ($handle === null) {
            return;
        }
        if (Lock::take($handle, self::PATIENCE) && \fread($handle, 1) === '') {
            \set_error_handler(static fn (): bool => true);
            \fwrite($handle, \str_repeat("\0", self::SIZE));
            \fflush($handle);
            \touch($file, self::CLEAN);
            \restore_error_handler();
        }
        \fclose($handle);
    }
}
