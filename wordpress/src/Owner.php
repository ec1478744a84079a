<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\System\Ownership;
use Larder\System\PrivateDirectory;
use Larder\System\WrongUser;

/**
 * Whose the cache's directory is, where that is not who runs this command: root does what the cache does as its owner, so
 * that the web can use all of it, and everything else as root, who installs plugins and writes where the web may not.
 *
 * By the effective user alone: the real one stays root, so that it can be given back (seteuid(2)).
 */
final class Owner
{
    private static ?self $current = null;

    private int $depth = 0;

    private function __construct(private readonly int $user, private readonly int $group, private readonly int $own) {}

    /**
     * Before the cache in that directory is opened.
     *
     * @return bool whether this process has to become another user for it
     *
     * @throws WrongUser when it cannot
     */
    public static function expect(string $directory): bool
    {
        if (self::$current !== null) {
            return true;
        }
        if (\PHP_SAPI !== 'cli' || Ownership::user() !== 0) {
            return false;
        }
        $user = PrivateDirectory::owner($directory);
        if ($user === 0) {
            return false;
        }
        if (!\function_exists('posix_seteuid') || !\function_exists('posix_setegid') || !\function_exists('posix_geteuid')) {
            // phpcs:ignore WordPress.Security.EscapeOutput.ExceptionNotEscaped -- for the log and the terminal
            throw WrongUser::of($directory, $user);
        }
        $entry = \function_exists('posix_getpwuid') ? \posix_getpwuid($user) : false;
        $owner = new self($user, $entry === false ? (int) Quietly::call(static fn(): int|false => \filegroup($directory)) : $entry['gid'], \posix_getegid());
        $owner->enter();
        $now = \posix_geteuid();
        $owner->leave();
        if ($now !== $user) {
            // phpcs:ignore WordPress.Security.EscapeOutput.ExceptionNotEscaped -- for the log and the terminal
            throw WrongUser::of($directory, $user);
        }
        // The cache's own function at PHP's end is registered when it is first opened, so between these two.
        \register_shutdown_function(static function () use ($owner): void {
            $owner->enter();
            // Behind all others nothing but destructors is left to come.
            \register_shutdown_function($owner->enter(...));
        });
        self::$current = $owner;

        return true;
    }

    /** The cache has been opened. */
    public static function opened(): void
    {
        if (self::$current !== null) {
            \register_shutdown_function(self::$current->leave(...));
        }
    }

    /**
     * What the cache does.
     *
     * @template T
     *
     * @param \Closure(): T $do
     *
     * @return T
     */
    public static function run(\Closure $do): mixed
    {
        $owner = self::$current;
        if ($owner === null) {
            return $do();
        }
        $owner->enter();
        try {
            return $do();
        } finally {
            $owner->leave();
        }
    }

    private function enter(): void
    {
        if ($this->depth++ === 0) {
            // In this order: without root's rights the group cannot be changed.
            \posix_setegid($this->group);
            \posix_seteuid($this->user);
        }
    }

    private function leave(): void
    {
        if (--$this->depth === 0) {
            \posix_seteuid(0);
            \posix_setegid($this->own);
        }
    }
}
