<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Notes what other programs have done to files in use, a line each, in a file of the directory. It explains why the cache
 * was cold, or why a process died of SIGBUS.
 */
final class IncidentLog
{
    public const FILE = 'mishaps.txt';

    /** Bytes; a longer file gets no more lines, since the same mishap would fill it for ever. */
    private const LONGEST = 65_536;

    /** Seconds in which one mishap gets one line, however many processes notice its files one after another. */
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

    /** @return list<string> lines that begin with their time, the newest last */
    public static function of(string $directory): array
    {
        $file = $directory . '/' . self::FILE;
        \clearstatcache(true, $file);
        $lines = Ownership::flaw($file) === null && \is_file($file) ? \file($file, \FILE_IGNORE_NEW_LINES | \FILE_SKIP_EMPTY_LINES) : false;

        return $lines === false ? [] : $lines;
    }
}
