<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Segment;
use Larder\SegmentException;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\Quiet;
use Larder\System\WrongUser;

/** Where the segment lies, and whether this PHP can have it. */
final class SegmentPlace
{
    /** A file system in memory, which Linux has for this (shm_overview(7)). */
    private const MEMORY = '/dev/shm';

    /** In php.ini, or a pool's php_admin_value: a file, with %u for the user's id; or "none". */
    private const SETTING = 'larder.segment';

    /** Whoever truncates it ends every process that reads from it: so it is not called a cache, but what it is. */
    private const USUAL = self::MEMORY . '/larder-%u/memory-of-running-php';

    /** SegmentException's code: something that never was a segment lies there. */
    private const SOMETHING_ELSE = 1;

    private const LEAST = 1_048_576;
    /** Where there is no room for the usual size, one that nobody gave a size takes this part of what is free. */
    private const PART = 4;

    /** The extension is loaded, and one that knows what the near tier needs. */
    public static function isUsable(): bool
    {
        // @phpstan-ignore function.alreadyNarrowedType (an older one may be loaded than the stub describes)
        return \extension_loaded('larder') && \method_exists(Segment::class, 'fill');
    }

    /** All caches of a user share one. */
    public static function path(Dsn $dsn): string
    {
        if ($dsn->path !== '') {
            return $dsn->path;
        }
        $set = self::setting();

        return \str_replace('%u', (string) Ownership::user(), ($set[0] ?? '') === '/' ? $set : self::USUAL);
    }

    private static function setting(): string
    {
        $set = \ini_get(self::SETTING);
        // The extension registers it; where it is not loaded, what php.ini says (some hosts take this function away).
        if ($set === false && \function_exists('get_cfg_var')) {
            $set = \get_cfg_var(self::SETTING);
        }

        return \is_string($set) ? $set : '';
    }

    /** Whether there is one without anybody asking for it. */
    public static function isDefault(): bool
    {
        return self::isUsable() && self::setting() !== 'none';
    }

    /** Whether one that nobody asked for is missed when it cannot be had. */
    public static function isMissed(): bool
    {
        return (string) \ini_get('open_basedir') === '' && \is_dir(self::MEMORY);
    }

    /** What is asked for. */
    public static function bytes(Dsn $dsn, int $budget): int
    {
        return $dsn->bytes === 0 ? $budget : $dsn->bytes;
    }

    /**
     * @throws Failure
     */
    public static function open(Dsn $dsn, int $budget): Segment
    {
        $path = self::path($dsn);
        $bytes = \max(self::LEAST, self::bytes($dsn, $budget));
        try {
            self::prepare(\dirname($path));

            return Segment::open($path, $bytes);
        } catch (SegmentException $e) {
            // Nobody asked for a size: a smaller one is better than none, as in containers with 64 MiB of shared memory.
            $free = $dsn->bytes === 0 ? (int) (self::free(\dirname($path)) / self::PART) : 0;
            if ($free >= self::LEAST && $free < $bytes) {
                try {
                    return Segment::open($path, $free);
                } catch (SegmentException) {
                    // What was wrong first is what to mend.
                }
            }
            // Under a name that is Larder's own nothing else is kept: what has got there goes, and the next request has a segment.
            if ($e->getCode() === self::SOMETHING_ELSE && $dsn->path === '' && self::remove($path)) {
                throw Failure::because('segment', $path . ' had something else in it and was removed: the next request makes a new one', null);
            }
            throw Failure::because('segment', $e->getMessage(), null);
        } catch (InvalidConfiguration|WrongUser $e) {
            throw Failure::because('segment', $e->getMessage(), null);
        }
    }

    /**
     * Who can rename what is in the directory decides what is opened: so it is ours alone, or (/dev/shm itself) nobody
     * can touch there what is not his.
     *
     * @throws InvalidConfiguration
     * @throws WrongUser
     * @throws Failure
     */
    private static function prepare(string $directory): void
    {
        if ((string) \ini_get('open_basedir') === '') {
            if (\is_dir($directory) && (\fileperms($directory) & 0o1000) !== 0 && \fileowner($directory) === 0) {
                return;
            }
            // The extension makes it, with the same rights, and does not mark it as a cache's: cleaners look for that mark.
            if (!\file_exists($directory) && !\is_link($directory) && \is_dir(\dirname($directory))) {
                return;
            }
        }
        Directory::prepare($directory);
    }

    private static function remove(string $path): bool
    {
        Quiet::begin();
        try {
            return \unlink($path);
        } finally {
            Quiet::end();
        }
    }

    private static function free(string $directory): float
    {
        Quiet::begin();
        try {
            return \function_exists('disk_free_space') ? (float) \disk_free_space($directory) : 0.0;
        } finally {
            Quiet::end();
        }
    }
}
