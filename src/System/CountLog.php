<?php

declare(strict_types=1);

namespace Larder\System;

/**
 * Counts of many processes, added up in files that outlive them.
 *
 *     path         what was added lately, a line each; processes append to it and never wait
 *     path-old     the same from before, while it is summed up
 *     path-sums    what the lines so far came to
 *     path-lock    held by who sums up or reads
 *
 * A line is `<random> <JSON of the counts>` between two line ends, so that a line that a killed process has left unfinished
 * spoils no other. One call writes it, and the kernel appends calls one after the other.
 *
 *     writer   open path ─ lock it, shared ─ is it still named? ─ append ─ unlock
 *     summer   path-lock ─ rename path to path-old ─ lock that alone ─ read ─ write path-sums, and how much of which file is in it ─ unlink path-old
 *
 * Why nothing is lost or counted twice. Who has opened the file before it was renamed either appends before the summer has
 * its lock, or finds it locked or without a name afterwards, and opens the next one. A summer that dies leaves path-old, and path-sums
 * says how much of it is summed up: a file is known by its first bytes, which are random and stay.
 *
 * A count has a name, of which the last part, after the last `|`, is whatever the application has named: only the first
 * MOST of those are kept apart, and the rest counts under OTHERS.
 */
final class CountLog
{
    public const MOST = 100;
    public const OTHERS = '(other)';

    /** Bytes of a line, less than which the kernel writes at once. */
    private const LINE = 4000;

    /** Bytes of lines after which a writer sums them up; and more than which it writes none, since that failed. */
    private const LONG = 65_536;
    private const LONGEST = 8_388_608;

    /** Bytes by which a file is known: a line end, and the random ones. */
    private const HEAD = 1 + 16;

    /** Seconds that a reader waits for a summer. */
    private const PATIENCE = 2.0;

    private const TRIES = 10;

    public function __construct(private readonly string $path) {}

    /**
     * @param non-empty-array<string, int> $counts by name
     *
     * @return array<string, int> those that are written, by the names that were given: on a full disk some of them, or none
     */
    public function add(array $counts): array
    {
        $lines = [];
        $given = [];
        $line = -1;
        $length = self::LINE;
        foreach ($counts as $long => $count) {
            // Half of a line at most: what is longer is no name that a person reads.
            $name = \strlen($long) > self::LINE / 2 ? self::other($long) : $long;
            $length += \strlen($name) + 30;
            if ($length > self::LINE) {
                $line++;
                $length = \strlen($name) + 30;
            }
            $lines[$line][$name] = ($lines[$line][$name] ?? 0) + $count;
            $given[$line][$long] = $count;
        }
        $written = Quiet::call(fn(): int => $this->append(\array_map(self::line(...), $lines)));

        return \array_replace([], ...\array_slice($given, 0, $written));
    }

    /**
     * @return array<string, int> all that was added
     *
     * @throws Failure another process is summing up, and does not end
     */
    public function read(): array
    {
        return Quiet::call(function (): array {
            $lock = FileLock::file($this->path . '-lock');
            if ($lock === null || !FileLock::take($lock, self::PATIENCE)) {
                throw Failure::because($this->path, 'the counts are locked by another process');
            }
            [, , $counts] = $this->sumUp(true);

            return $counts;
        });
    }

    /**
     * @param array<int, string> $lines
     *
     * @return int how many of them are written, the first ones
     */
    private function append(array $lines): int
    {
        for ($try = 0; $try < self::TRIES; $try++) {
            if (Ownership::flaw($this->path) !== null) {
                return 0;
            }
            $file = PrivateFile::open($this->path, 'a');
            if ($file === false) {
                return 0;
            }
            // Another process sums up this file, which has another name by now.
            if (!\flock($file, \LOCK_SH | \LOCK_NB)) {
                continue;
            }
            $status = \fstat($file);
            if ($status === false || $status['nlink'] === 0) {
                continue;
            }
            $size = $status['size'];
            $written = 0;
            foreach ($size > self::LONGEST ? [] : $lines as $line) {
                // Its end is the next one's beginning, too: a reader needs it not.
                if ((int) \fwrite($file, $line) < \strlen($line) - 1) {
                    return $written;
                }
                $written++;
            }
            \fclose($file);
            if ($size > self::LONG) {
                $lock = FileLock::file($this->path . '-lock');
                $lock !== null && FileLock::take($lock, 0.0) && $this->sumUp(false);
            }

            return $written;
        }

        return 0;
    }

    /**
     * The caller holds the lock.
     *
     * @param bool $isRead false: no answer is needed, so what is not summed up yet may stay so
     *
     * @return array{string, int, array<string, int>} the file of which something is in the sums, how many bytes of it, and the sums
     */
    private function sumUp(bool $isRead): array
    {
        $sums = $this->sums();
        $old = $this->path . '-old';
        \clearstatcache();
        if (\is_file($old)) {
            // A summer has died; or a writer has stopped in the middle of its line, for which no process waits.
            $sums = $this->settle($sums, $old);
        }
        \clearstatcache();
        if (!\is_file($old) && \is_file($this->path) && \filesize($this->path) > self::LONG && \rename($this->path, $old)) {
            $sums = $this->settle($sums, $old);
        }
        if ($isRead) {
            \clearstatcache();
            foreach ([$old, $this->path] as $file) {
                $sums = $this->with($sums, \is_file($file) ? (string) \file_get_contents($file) : '');
            }
        }

        return $sums;
    }

    /**
     * @param array{string, int, array<string, int>} $sums
     *
     * @return array{string, int, array<string, int>}
     */
    private function settle(array $sums, string $old): array
    {
        $file = Ownership::flaw($old) === null ? \fopen($old, 're') : false;
        if ($file === false || !\flock($file, \LOCK_EX | \LOCK_NB)) {
            return $sums;
        }
        $all = $this->with($sums, (string) \stream_get_contents($file));
        $text = \json_encode($all, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES);
        $new = FileLock::file($this->path . '-new');
        if ($new === null || !\ftruncate($new, 0) || \fwrite($new, $text) !== \strlen($text) || !\fclose($new) || !\rename($this->path . '-new', $this->path . '-sums')) {
            return $sums;
        }
        // With the lock: who waits for it finds the file without a name.
        \unlink($old);
        \fclose($file);

        return $all;
    }

    /**
     * @param array{string, int, array<string, int>} $sums
     * @param string                                 $lines of a file
     *
     * @return array{string, int, array<string, int>}
     */
    private function with(array $sums, string $lines): array
    {
        [$known, $from, $counts] = $sums;
        $head = \md5(\substr($lines, 0, self::HEAD));
        if ($head !== $known) {
            $from = 0;
        }
        $kept = [];
        foreach ($counts as $name => $_) {
            $kept[self::last($name)] = true;
        }
        foreach (\explode("\n", \substr($lines, $from)) as $line) {
            $line = \json_decode((string) \strstr($line, '{'), true);
            foreach (\is_array($line) ? $line : [] as $name => $count) {
                $name = (string) $name;
                if (!\str_contains($name, '|')) {
                    // No process has counted that: the line is damaged.
                    continue;
                }
                $last = self::last($name);
                if (!isset($kept[$last]) && \count($kept) > self::MOST) {
                    $name = self::other($name);
                    $last = self::OTHERS;
                }
                $kept[$last] = true;
                $counts[$name] = ($counts[$name] ?? 0) + (\is_int($count) ? $count : 0);
            }
        }

        return [$head, \strlen($lines), $counts];
    }

    /** @return array{string, int, array<string, int>} */
    private function sums(): array
    {
        $file = $this->path . '-sums';
        $sums = Ownership::flaw($file) === null && \is_file($file) ? \json_decode((string) \file_get_contents($file), true) : null;
        if (!\is_array($sums) || !\is_string($sums[0] ?? null) || !\is_int($sums[1] ?? null) || !\is_array($sums[2] ?? null)) {
            return ['', 0, []];
        }
        $counts = [];
        foreach ($sums[2] as $name => $count) {
            if (\is_int($count) && \str_contains((string) $name, '|')) {
                $counts[(string) $name] = $count;
            }
        }

        return [$sums[0], $sums[1], $counts];
    }

    /** @param array<string, int> $counts */
    private static function line(array $counts): string
    {
        return "\n" . \bin2hex(\random_bytes(8)) . ' ' . \json_encode($counts, \JSON_THROW_ON_ERROR | \JSON_UNESCAPED_SLASHES | \JSON_FORCE_OBJECT) . "\n";
    }

    private static function last(string $name): string
    {
        return \substr($name, (int) \strrpos($name, '|') + 1);
    }

    private static function other(string $name): string
    {
        return \substr($name, 0, \strlen($name) - \strlen(self::last($name))) . self::OTHERS;
    }
}
