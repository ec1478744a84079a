<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

/**
 * A private directory (0700) of the lab. A forked child that inherits the object never removes it.
 */
final class Directory
{
    /** What a lab writes there at the least: logs. Bytes. */
    private const ROOM = 1 << 16;

    /** What sockaddr_un takes, less its closing zero (unix(7)). */
    private const LONGEST_SOCKET = 107;

    private readonly int $owner;

    private function __construct(public readonly string $path)
    {
        $this->owner = (int) \getmypid();
    }

    /**
     * Makes the lab's own, and removes what labs of this user that were killed have left beside it.
     *
     * @param ?string $parent the system's directory for temporary files by default
     *
     * @throws ServiceFailure if it cannot be made, or nothing fits into it
     */
    public static function temporary(?string $parent = null): self
    {
        $parent ??= \sys_get_temp_dir();
        self::sweep($parent);
        $path = $parent . '/' . Label::make();
        self::make($path);
        $directory = new self($path);
        $probe = "$path/room";
        $written = Silence::of(static fn(): int|false => \file_put_contents($probe, \str_repeat('.', self::ROOM)));
        if ($written !== self::ROOM) {
            $directory->remove();
            throw new ServiceFailure("There is no space left in $parent. Make room there, or set TMPDIR to a directory with free space.");
        }
        \unlink($probe);

        return $directory;
    }

    /** Makes a new one inside, with a number after its name if there is one of that name. */
    public function sub(string $name): self
    {
        $path = $this->file($name);
        for ($number = 2; !self::make($path); $number++) {
            $path = $this->file("$name-$number");
        }

        return new self($path);
    }

    /** Lets other accounts pass through, to what is theirs in it and of which they know the name. */
    public function open(): self
    {
        \chmod($this->path, 0o711);

        return $this;
    }

    /** The path of a file in it, which need not exist. */
    public function file(string $name): string
    {
        return "$this->path/$name";
    }

    /** The path of a unix socket in it. */
    public function socket(string $name): string
    {
        $path = $this->file($name);
        if (\strlen($path) > self::LONGEST_SOCKET) {
            throw new ServiceFailure("$path is too long for a unix socket. Set TMPDIR to a directory with a shorter name, for example /tmp.");
        }

        return $path;
    }

    /** False in a forked child of the process that made it. */
    public function isOwned(): bool
    {
        return $this->owner === \getmypid();
    }

    /** Removes it with everything in it. */
    public function remove(): void
    {
        if ($this->isOwned()) {
            Silence::of(fn() => self::clear($this->path));
        }
    }

    private static function sweep(string $parent): void
    {
        Silence::of(static function () use ($parent): void {
            foreach (\scandir($parent) ?: [] as $name) {
                $path = "$parent/$name";
                if (Label::isLeftover($name) && \is_dir($path) && !\is_link($path) && \fileowner($path) === \posix_geteuid()) {
                    self::clear($path);
                }
            }
        });
    }

    /** Removes a file, or a directory with everything in it, if it is there; warns of what it cannot remove. */
    public static function clear(string $path): void
    {
        if (!\is_dir($path) || \is_link($path)) {
            (\is_link($path) || \file_exists($path)) && \unlink($path);

            return;
        }
        \chmod($path, 0o700);
        foreach (\array_diff(\scandir($path) ?: [], ['.', '..']) as $name) {
            self::clear("$path/$name");
        }
        \rmdir($path);
    }

    private static function make(string $path): bool
    {
        $warning = '';
        if (Silence::of(static fn(): bool => \mkdir($path, 0o700), $warning)) {
            return true;
        }
        if (\is_dir($path)) {
            return false;
        }
        throw new ServiceFailure("Cannot make the directory $path: " . \lcfirst(\str_replace('mkdir(): ', '', $warning)) . '. Set TMPDIR to an existing, writable directory with free space.');
    }
}
