<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Tells in one stat whether anything was purged: a file whose size only grows, and whose time says whether a purge is under
 * way. Who keeps copies outside the cache compares them with it, and need not ask the cache.
 *
 *     purger   lock, shared ─ time ─ size + 1, if a copy has the tag ─ COMMIT ─ CLEAN if no other purges ─ unlock
 *     copier   note the copy's tags ─ size, if the time is CLEAN ─ read the cache ─ write the copy with that size
 *     server   the copy is as good as the cache while the file has the copy's size
 *
 * Why no purge is missed. A purge that the copier has not read has not committed before the copier's look at the file. So
 * it was under way then, and the time was not CLEAN, or it began later, and the size has outgrown the copy's.
 *
 * A purge of tags that no copy has leaves the size, and so all copies, as they are. Beside the counter a file has a byte for
 * each of many hashes of tags, which only copiers set. A copier that a purger has not seen there noted its tags after the
 * purger had set the time: it reads a time that is not CLEAN, or the cache as the purger has left it.
 *
 * Purgers never wait: the lock is shared. The kernel releases a killed purger's lock, but the time stays as it was, and
 * no process copies until one repairs it: isAbandoned(), then a purge, whose commit comes after all that the dead one has
 * left unfinished in the store. The size of a killed purger's counter differs from all copies' already.
 *
 * A counter that was deleted is of no use. A new one begins at another size.
 */
final class PurgeCounter
{
    /** The modification time while no process purges, as in PendingInvalidations. */
    private const CLEAN = 1;

    /** The file of tags, beside the counter, and what stands there for a tag. So does its first byte, unless the file was emptied. */
    private const TAGS = '.tags';
    private const NOTED = '1';

    /** Bytes of the secret at the beginning. */
    private const SECRET = 32;

    /** Sizes at which a new counter may begin, so that it does not repeat those of one that was deleted. */
    private const BEGINNINGS = 1 << 20;

    /** Bytes of the file of tags, of which the disk has only the blocks that were written. */
    private const SLOTS = 1 << 22;

    /** Seconds that a purger waits for a process that holds the lock alone, which lasts microseconds. */
    private const PATIENCE = 0.25;

    public function __construct(public readonly string $path) {}

    /** @phpstan-impure */
    public function exists(): bool
    {
        \clearstatcache();

        return \is_file($this->path);
    }

    /** Makes the file, if the caller has seen that it is missing. One process at a time. */
    public function make(): bool
    {
        $directory = \dirname($this->path);
        $new = $this->path . '.new';
        return Quiet::call(function () use ($directory, $new): bool {
            \is_dir($directory) || PrivateDirectory::make($directory);
            // A killed process left it.
            \is_file($new) && \unlink($new);
            $file = FileLock::file($new);

            return $file !== null && \fwrite($file, \bin2hex(\random_bytes(self::SECRET >> 1)) . '.') === self::SECRET + 1
                && \ftruncate($file, self::SECRET + 1 + \random_int(1, self::BEGINNINGS)) && \fclose($file)
                && \touch($new, self::CLEAN) && \rename($new, $this->path);
        });
    }

    /** Of the file: another one in its place has another (inode). */
    public function number(): int
    {
        return (int) Quiet::call(fn(): int|false => \fileinode($this->path));
    }

    /** A secret of all who may read the file. */
    public function secret(): string
    {
        return (string) Quiet::call(fn(): string|false => \file_get_contents($this->path, length: self::SECRET));
    }

    /**
     * The size; null: a process is purging, or has died at it, or there is no counter.
     *
     * @phpstan-impure
     */
    public function value(): ?int
    {
        \clearstatcache();

        // All of one stat: PHP keeps the last one.
        return \is_file($this->path) && \filemtime($this->path) === self::CLEAN ? (int) \filesize($this->path) : null;
    }

    /**
     * Notes tags of a copy, before value().
     *
     * @param list<string> $tags
     *
     * @return bool false: the copy must not be made
     */
    public function note(array $tags): bool
    {
        return Quiet::call(function () use ($tags): bool {
            $file = FileLock::file($this->path . self::TAGS);
            if ($file === null) {
                return false;
            }
            if (!self::isWhole($file)) {
                // It is new, or was cut short: no copy may be good whose tags are not in it.
                $purge = $this->begin();
                if ($purge === null) {
                    return false;
                }
                $this->end($purge, true);
                if (!\ftruncate($file, 1 + self::SLOTS)) {
                    return false;
                }
                $tags[] = null;
            }
            foreach ($tags as $tag) {
                if (\fseek($file, $tag === null ? 0 : self::slot($tag)) !== 0 || \fwrite($file, self::NOTED) !== 1) {
                    return false;
                }
            }

            return \fclose($file);
        });
    }

    /**
     * Whether a copy may have one of the tags.
     *
     * @param list<string> $tags
     */
    private function isNoted(array $tags): bool
    {
        if (Ownership::status($this->path . self::TAGS) === null) {
            return true;
        }
        $file = \fopen($this->path . self::TAGS, 're');
        if ($file === false || !self::isWhole($file)) {
            return true;
        }
        foreach ($tags as $tag) {
            if (\fseek($file, self::slot($tag)) !== 0 || \fread($file, 1) === self::NOTED) {
                return true;
            }
        }

        return false;
    }

    /** @param resource $tags the file of tags, just opened */
    private static function isWhole(mixed $tags): bool
    {
        return \fread($tags, 1) === self::NOTED && (\fstat($tags)['size'] ?? 0) === 1 + self::SLOTS;
    }

    private static function slot(string $tag): int
    {
        return 1 + (int) \hexdec(\hash('xxh32', $tag)) % self::SLOTS;
    }

    /** Whether a purger has died at its work: a purge repairs that. */
    public function isAbandoned(): bool
    {
        if ($this->value() !== null || ($file = $this->open()) === null) {
            return false;
        }
        $isAlone = \flock($file, \LOCK_EX | \LOCK_NB);
        $isAbandoned = $isAlone && $this->value() === null;
        \fclose($file);

        return $isAbandoned;
    }

    /**
     * Before a purge is committed.
     *
     * @param ?list<string> $tags that are purged; null: all
     *
     * @return ?resource for end(); null: there is no counter
     *
     * @throws Failure it cannot be moved
     */
    public function begin(?array $tags = null): mixed
    {
        if (!$this->exists()) {
            return null;
        }
        $file = $this->open();
        Quiet::begin();
        try {
            $backoff = new Backoff(self::PATIENCE);
            while ($file !== null && !\flock($file, \LOCK_SH | \LOCK_NB)) {
                if (!$backoff->wait()) {
                    $file = null;
                }
            }
            // First the time, by a byte that is there already, and then the size: a copier who sees the new size must see
            // the new time. Growing by a hole takes no room on a full disk.
            if ($file === null || \fseek($file, self::SECRET) !== 0 || \fwrite($file, '.') !== 1
                || (($tags === null || $this->isNoted($tags)) && !\ftruncate($file, \max(0, \fstat($file)['size'] ?? 0) + 1))) {
                throw Failure::because('purge counter', "cannot move $this->path; make it writable for the user who runs this");
            }

            return $file;
        } finally {
            Quiet::end();
        }
    }

    /**
     * After the commit.
     *
     * @param resource $file
     * @param bool     $isDone false: the purge may have failed half-way, and the next copier purges once more
     */
    public function end(mixed $file, bool $isDone): void
    {
        if ($isDone && \flock($file, \LOCK_EX | \LOCK_NB) && $this->isNamed($file)) {
            \touch($this->path, self::CLEAN);
        }
        \fclose($file);
    }

    /** @param resource $file whether it is still the one at the path */
    public function isNamed(mixed $file): bool
    {
        return $this->exists() && \fileinode($this->path) === (\fstat($file)['ino'] ?? 0);
    }

    /** @return ?resource null: it does not exist, or cannot be opened, or another user has put it there */
    private function open(): mixed
    {
        if (Ownership::status($this->path) === null) {
            return null;
        }

        // Not a mode that creates the file: a new counter must begin at another size.
        return Quiet::call(fn(): mixed => \fopen($this->path, 'r+e')) ?: null;
    }
}
