<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

/** A file or a directory that the lab has to write and cannot. */
final class NotWritable extends \RuntimeException
{
    /**
     * Before a run, which may last an hour: whether its report can be written.
     *
     * @throws self
     */
    public static function check(string $file): void
    {
        $directory = \dirname($file);
        if (\is_dir($file)) {
            throw new self("$file is a directory: name a file in it.");
        }
        if (!\is_dir($directory)) {
            throw new self("Cannot write $file: there is no directory $directory. Type: mkdir -p $directory");
        }
        if (\is_file($file) ? !\is_writable($file) : !\is_writable($directory)) {
            throw new self("Cannot write $file: you may not write there. Name another place, or run this as another user.");
        }
        if (self::isSpecial($file)) {
            return;
        }
        // Root may write everywhere, says is_writable(), but not on a disk that is read-only or full.
        $probe = self::target($file) . '.part';
        \set_error_handler(static fn(): bool => true);
        $written = \file_put_contents($probe, \str_repeat(' ', 4096));
        if ($written !== false) {
            \unlink($probe);
        }
        \restore_error_handler();
        if ($written !== 4096) {
            throw new self("Cannot write $file: is the disk full, or read-only?");
        }
    }

    /** Whole or not at all; but a device or a pipe is written to, for a file in its place would be another thing. */
    public static function write(string $file, string $content): void
    {
        \set_error_handler(static fn(): bool => true);
        try {
            $target = self::target($file);
            $written = self::isSpecial($file)
                ? \file_put_contents($file, $content) === \strlen($content)
                : \file_put_contents("$target.part", $content) === \strlen($content) && \rename("$target.part", $target);
            if (!$written) {
                throw new self("Cannot write $file: is the disk full?");
            }
        } finally {
            \restore_error_handler();
        }
    }

    /** What a symbolic link leads to, so that the link stays. */
    private static function target(string $file): string
    {
        return \is_link($file) ? (\realpath($file) ?: $file) : $file;
    }

    private static function isSpecial(string $file): bool
    {
        return \file_exists($file) && !\is_file($file);
    }
}
