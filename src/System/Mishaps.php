<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * What other programs have done to files that were in use, for whoever asks why the cache was cold, or why a process
 * died of SIGBUS: a line each, in a file of the directory.
 */
final class Mishaps
{
    public const FILE = 'mishaps.txt';

    /** Bytes, after which no more is noted: whatever it is, it goes on. */
    private const LONGEST = 65_536;

    /** Seconds in which one mishap is one line, however many processes find one file of it after another. */
    private const TOGETHER = 60;

    public static function note(string $directory, string $what): void
    {
        $file = $directory . '/' . self::FILE;
        if (Ownership::flaw($file) !== null) {
            return;
        }
        Quiet::begin();
        try {
            \clearstatcache(true, $file);
            $isThere = \is_file($file);
            if ($isThere && (\filesize($file) > self::LONGEST || \abs(\time() - (int) \filemtime($file)) < self::TOGETHER)) {
                return;
            }
            \file_put_contents($file, \gmdate('Y-m-d\TH:i:s\Z ') . $what . "\n", \FILE_APPEND);
            $isThere || \chmod($file, 0o600);
        } finally {
            Quiet::end();
        }
    }

    /** @return list<string> each with its time before it, the last one last */
    public static function of(string $directory): array
    {
        $file = $directory . '/' . self::FILE;
        \clearstatcache(true, $file);
        $lines = Ownership::flaw($file) === null && \is_file($file) ? \file($file, \FILE_IGNORE_NEW_LINES | \FILE_SKIP_EMPTY_LINES) : false;

        return $lines === false ? [] : $lines;
    }
}
