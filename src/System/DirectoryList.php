<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * The directories that a user's caches, queues and counters have, other than the one in which this list lies: a line each.
 *
 * A directory is noted when it is made, so no request pays for the list. Any other reader believes none of it: its user
 * can write anything there.
 */
final readonly class DirectoryList
{
    public const FILE = 'caches.txt';

    /** Bytes: of a longer list, as an application leaves it that has a new directory each time, the oldest lines go. */
    public const LONGEST = 65_536;

    /** Seconds to wait for others who note something, which takes them milliseconds. */
    private const PATIENCE = 2.0;

    /** @param string $directory the private directory in which the list lies */
    public function __construct(private string $directory) {}

    /** Adds a directory, and takes out those that are gone. The caller has made sure that the list's directory is private. */
    public function add(string $path): void
    {
        $file = "$this->directory/" . self::FILE;
        $handle = \str_starts_with($path, '/') ? FileLock::file($file) : null;
        if ($handle === null || !FileLock::take($handle, self::PATIENCE)) {
            return;
        }
        Quiet::call(static function () use ($handle, $path): void {
            // Who dies in between leaves a list with some old lines behind the new ones.
            $known = self::parse((string) \stream_get_contents($handle, self::LONGEST, 0));
            $lines = '';
            foreach ([...\array_filter($known, static fn(string $each): bool => $each !== $path && \is_dir($each)), $path] as $each) {
                $lines .= self::line($each);
            }
            while (\strlen($lines) > self::LONGEST) {
                $lines = \substr($lines, (int) \strpos($lines, "\n") + 1);
            }
            \rewind($handle) && \fwrite($handle, $lines) === \strlen($lines) && \ftruncate($handle, \strlen($lines));
        });
        \fclose($handle);
    }

    /** @return list<string> the absolute paths in the text of a list */
    public static function parse(string $text): array
    {
        $paths = [];
        $text = \substr($text, 0, self::LONGEST);
        // A line without its end is a part of one.
        foreach (\explode("\n", \substr($text, 0, (int) \strrpos($text, "\n"))) as $line) {
            $path = \rawurldecode($line);
            if ($path !== '' && $path[0] === '/' && \strlen($path) < 4096 && !\str_contains($path, "\0")) {
                $paths[] = $path;
            }
        }

        return \array_values(\array_unique($paths));
    }

    private static function line(string $path): string
    {
        return \str_replace('%2F', '/', \rawurlencode($path)) . "\n";
    }
}
