<?php

declare(strict_types=1);

namespace Larder\Tests\Support;

use Larder\Lab\Service\Directory;
use Larder\Lab\Service\Silence;

/**
 * A private directory (0700) that goes away with this object, and at the latest with this process.
 *
 * This folder holds what tests stand on: real servers and processes of their own, and clients to speak with them.
 * It holds no test data and no expectation about Larder.
 *
 * A forked child that inherits the object never removes its parent's directory.
 */
final class TemporaryDirectory implements \Stringable
{
    public readonly string $path;

    private readonly int $owner;

    /** @var array<string, int> path to process id of the owner; what the shutdown function still has to remove */
    private static array $living = [];

    /**
     * @param string  $prefix short: a Unix socket's path has at most 107 bytes (unix(7))
     * @param ?string $parent where it lies; the system's directory for temporary files if not said
     */
    public function __construct(string $prefix = 'larder', ?string $parent = null)
    {
        $parent ??= \sys_get_temp_dir();
        $path = $parent . '/' . $prefix . '-' . \bin2hex(\random_bytes(5));
        if (!\mkdir($path, 0o700)) {
            throw new \RuntimeException('Cannot make the directory ' . $path . ': is ' . $parent . ' writable?');
        }
        $this->path = $path;
        $this->owner = \posix_getpid();
        if (self::$living === []) {
            \register_shutdown_function(static function (): void {
                foreach (self::$living as $path => $owner) {
                    if ($owner === \posix_getpid()) {
                        self::clear($path);
                    }
                }
            });
        }
        self::$living[$path] = $this->owner;
    }

    public function __destruct()
    {
        $this->remove();
    }

    /** The path of a file in it, which need not exist. */
    public function file(string $name): string
    {
        return $this->path . '/' . $name;
    }

    /** Writes a file into it and returns its path. */
    public function write(string $name, string $content): string
    {
        $file = $this->file($name);
        if (\file_put_contents($file, $content) !== \strlen($content)) {
            throw new \RuntimeException('Cannot write ' . $file);
        }

        return $file;
    }

    /** False in a forked child of the process that made it. */
    public function isOwned(): bool
    {
        return $this->owner === \posix_getpid();
    }

    /** Removes it with everything in it; nothing happens the second time. */
    public function remove(): void
    {
        if (isset(self::$living[$this->path]) && $this->isOwned()) {
            unset(self::$living[$this->path]);
            self::clear($this->path);
        }
    }

    public function __toString(): string
    {
        return $this->path;
    }

    /** Removes a file, or a directory with everything in it, whatever other processes do there meanwhile. */
    public static function clear(string $path): void
    {
        Silence::of(static fn() => Directory::clear($path));
    }
}
