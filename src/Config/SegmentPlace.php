<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Segment;
use Larder\SegmentException;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\Quiet;
use Larder\System\WrongUser;

/** Chooses the segment's file, and opens it if this PHP can. */
final class SegmentPlace
{
    /** A file system in memory, which Linux has for this (shm_overview(7)). */
    private const MEMORY = '/dev/shm';

    /** In php.ini, or a pool's php_admin_value: a file, with %u for the user's id; or "none". */
    private const SETTING = 'larder.segment';

    /** A program that truncates the file kills every process that reads it, so its name does not call it a cache. */
    private const USUAL = self::MEMORY . '/larder-%u/memory-of-running-php';

    /** SegmentException's code: the file exists and never was a segment. */
    private const SOMETHING_ELSE = 1;

    /** SegmentException's code: only the limits of this machine are the reason. */
    private const NO_ROOM = 2;

    /** What the extension's version begins with: within a series neither changes what it expects of the other. bin/release writes it. */
    public const SERIES = '0.1.';

    private const LEAST = 1_048_576;

    /** Whether the extension is loaded, in a version of this library's series. Of another one nothing is used. */
    public static function isUsable(): bool
    {
        // Not phpversion(), which some hosts disable.
        return \extension_loaded('larder') && \str_starts_with((string) (new \ReflectionExtension('larder'))->getVersion(), self::SERIES);
    }

    /** The segment's file: all caches of a user share one, unless the DSN or php.ini names another. */
    public static function path(Dsn $dsn): string
    {
        if ($dsn->path !== '') {
            return $dsn->path;
        }
        $set = self::setting();

        return self::of(($set[0] ?? '') === '/' ? $set : self::USUAL);
    }

    private static function of(string $place): string
    {
        return \str_replace('%u', (string) Ownership::user(), $place);
    }

    /**
     * Where php.ini puts each user's, for a command that looks for all users': with %u for the user's id.
     *
     * @return list<string>
     */
    public static function places(): array
    {
        $set = self::setting();

        return ($set[0] ?? '') === '/' && \str_contains(\dirname($set), '%u') ? [\dirname($set)] : [];
    }

    private static function setting(): string
    {
        $set = \ini_get(self::SETTING);
        // The extension registers the setting. Without the extension read php.ini (some hosts disable this function).
        if ($set === false && \function_exists('get_cfg_var')) {
            $set = \get_cfg_var(self::SETTING);
        }

        return \is_string($set) ? $set : '';
    }

    /** Whether a segment is used even if the configuration does not name one. */
    public static function isDefault(): bool
    {
        return self::isUsable() && self::setting() !== 'none';
    }

    /** Whether to report a default segment that cannot be opened: not if this PHP cannot reach shared memory anyway. */
    public static function isMissed(): bool
    {
        return (string) \ini_get('open_basedir') === '' && \is_dir(self::MEMORY);
    }

    /** The configured size in bytes. */
    public static function bytes(Dsn $dsn, int $budget): int
    {
        return $dsn->bytes === 0 ? $budget : $dsn->bytes;
    }

    /**
     * @throws NoRoom
     * @throws Failure
     */
    public static function open(Dsn $dsn, int $budget): Segment
    {
        $path = self::path($dsn);
        try {
            $directory = \dirname($path);
            $isNew = self::prepare($directory);
            // The extension obeys the server's policy by itself.
            $segment = Segment::open($path, \max(self::LEAST, self::bytes($dsn, $budget)));
            // Only the usual one is looked for if no other is noted.
            $isNew && $path !== self::of(self::USUAL) && Directory::note($directory);

            return $segment;
        } catch (SegmentException $e) {
            // The default name is Larder's own, so another file of that name is deleted, and the next request makes a segment.
            if ($e->getCode() === self::SOMETHING_ELSE && $dsn->path === '' && self::remove($path)) {
                throw Failure::because('segment', $path . ' was not a segment and was deleted: the next request makes a new one', null);
            }
            throw $e->getCode() === self::NO_ROOM ? NoRoom::because('segment', $e->getMessage()) : Failure::because('segment', $e->getMessage());
        } catch (InvalidConfiguration|WrongUser $e) {
            throw Failure::because('segment', $e->getMessage(), null);
        }
    }

    /**
     * Makes and checks the directory. A user who can rename files in it decides which file is opened, so it must be this
     * user's alone, or one in which no user can touch others' files (/dev/shm itself).
     *
     * @return bool whether the extension is to make it
     *
     * @throws InvalidConfiguration
     * @throws WrongUser
     * @throws Failure
     */
    private static function prepare(string $directory): bool
    {
        if ((string) \ini_get('open_basedir') === '') {
            if (\is_dir($directory) && (\fileperms($directory) & 0o1000) !== 0 && \fileowner($directory) === 0) {
                return false;
            }
            // The extension makes the directory, with the same mode, and does not tag it as a cache: clean-up programs look
            // for that tag.
            if (!\file_exists($directory) && !\is_link($directory) && \is_dir(\dirname($directory))) {
                return true;
            }
        }
        Directory::prepare($directory);

        return false;
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
}
