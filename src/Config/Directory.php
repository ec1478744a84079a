<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\System\DirectoryList;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\UnsafeDirectory;
use Larder\System\WrongUser;

/**
 * Chooses the cache's private directory.
 *
 * The web server and the command line of one user must find the same default, so nothing here reads the environment:
 * php-fpm usually has no HOME (clear_env), and XDG_STATE_HOME is set in shells only. The default is not below ~/.cache:
 * clean-up programs delete files there even while processes use them, and with them the pending invalidations that keep a
 * far tier from serving deleted values.
 */
final class Directory
{
    /** In php.ini: another directory, with %u for the user's id. */
    private const SETTING = 'larder.state';

    /**
     * The directory that php.ini names, or the user's own: ~/.local/state/larder, or /var/tmp/larder-<uid> for a user without a writable home (such as
     * www-data). Neither checks nor creates it.
     */
    public static function default(): string
    {
        $set = self::set();
        if ($set !== null) {
            return \rtrim(\str_replace('%u', (string) Ownership::user(), $set), '/');
        }

        return Quiet::call(static function (): string {
            $uid = Ownership::user();
            $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($uid) : false;
            $home = $entry === false ? '' : \rtrim($entry['dir'], '/');
            if ($home !== '') {
                $path = self::inHome($home);
                // An existing directory stays the default even if its file system has become read-only: values that a
                // second directory holds meanwhile could come back stale.
                if (\is_dir($path) && \fileowner($path) === $uid) {
                    return $path;
                }
                $base = PrivateDirectory::nearest($path);
                if (\str_starts_with($base, $home) && \is_dir($base) && \fileowner($base) === $uid && \is_writable($base)) {
                    return $path;
                }
            }
            // Not sys_get_temp_dir() first: it depends on TMPDIR, and /tmp is emptied at each boot.
            foreach (['/var/tmp', '/tmp'] as $base) {
                if (\is_dir($base) && \is_writable($base)) {
                    return $base . '/larder-' . $uid;
                }
            }

            return \rtrim(\sys_get_temp_dir(), '/') . '/larder-' . $uid;
        });
    }

    /**
     * Where that directory may be, for a command that looks for all users': with %u for the user's id.
     *
     * @param list<string> $shared where users without a home have theirs
     *
     * @return list<string>
     */
    public static function places(array $shared): array
    {
        return [...(self::set() === null ? [] : [\rtrim(self::set(), '/')]), ...\array_map(static fn(string $base): string => "$base/larder-%u", $shared)];
    }

    /** The same for a user with a home. */
    public static function inHome(string $home): string
    {
        return $home . '/.local/state/larder';
    }

    private static function set(): ?string
    {
        $set = \function_exists('get_cfg_var') ? \get_cfg_var(self::SETTING) : false;

        return \is_string($set) && ($set[0] ?? '') === '/' ? $set : null;
    }

    /**
     * Makes the directory, or checks that it is private. Costs a stat and another for each directory above if it exists and is private.
     *
     * @throws WrongUser            it belongs to another user
     * @throws InvalidConfiguration it is a symbolic link, a file, or shared with others and not Larder's own
     * @throws Failure              it cannot be created now
     */
    public static function prepare(string $path): void
    {
        try {
            PrivateDirectory::prepare($path) && self::note($path);
        } catch (UnsafeDirectory $unsafe) {
            throw InvalidConfiguration::directory($unsafe);
        }
    }

    /** Notes a new directory where `larder fleet` looks for what this user has. It finds the default one and those of prefixes in it anyway. Fails in silence. */
    public static function note(string $path): void
    {
        $own = self::default();
        if ($path === $own || \str_starts_with($path, "$own/prefix-")) {
            return;
        }
        try {
            PrivateDirectory::prepare($own);
            (new DirectoryList($own))->add($path);
        } catch (Failure|UnsafeDirectory|WrongUser) {
            // Then it is found below the directories that a command names.
        }
    }
}
