<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Change;
use Larder\Store\Markers;
use Larder\System\Clock;

/**
 * Does a directory's housekeeping, in bounded steps, all under its lock. It marks used records and deletes expired and
 * damaged ones. While the budget is exceeded, it evicts the least recently used of a random sample, which is nearly as good
 * as the least recently used of all and needs no list of them.
 */
final class Sweep
{
    /** Files checked in one step. */
    private const SAMPLE = 32;

    /** Directories listed in one step, at most. */
    private const LISTED = 32;

    /**
     * Seconds after now to which a use sets a file's modification time, unless that lies more than half of it ahead. So what
     * was read stays longer than what was written as late and never read, though the times are whole seconds.
     */
    private const AHEAD = 60;

    /** Nanoseconds after which no further step begins, once enough files were deleted. */
    private const TIME = 2_000_000;
    private const ENOUGH = 16;

    /** @var array<string, int> positions of the flush markers read so far */
    private array $positions = [];

    /**
     * @param string                $values  the epoch's directory of records
     * @param \Closure(string): int $flushed the position of a flush marker; 0: none
     */
    public function __construct(private readonly string $values, private readonly \Closure $flushed) {}

    /** @param array<string> $paths of records that were read */
    public function used(array $paths): void
    {
        $now = \time();
        foreach ($paths as $path) {
            // Only under the lock: touch() would create a file that was just deleted.
            if (\is_file($path) && \filemtime($path) < $now + (self::AHEAD >> 1)) {
                \touch($path, $now + self::AHEAD);
            }
        }
    }

    /**
     * Runs only if the budget is exceeded.
     *
     * @param resource $handle of the lock file
     */
    public function shrink(mixed $handle, int $budget): void
    {
        if (\array_sum(\array_column(Sizes::all($handle), 0)) > $budget) {
            $this->run($handle, $budget);
        }
    }

    /** @param resource $handle of the lock file */
    public function run(mixed $handle, int $budget): void
    {
        $end = \hrtime(true) + self::TIME;
        $removed = 0;
        do {
            $sizes = Sizes::all($handle);
            $bytes = \array_sum(\array_column($sizes, 0));
            if ($sizes === []) {
                return;
            }
            $before = $bytes;
            foreach ($this->sample($handle, $sizes) as [$path, $size, , $directory, $expired]) {
                if (!$expired && $bytes <= $budget) {
                    break;
                }
                if (\unlink($path)) {
                    $bytes -= $size;
                    $removed++;
                    Sizes::add($handle, $directory, -$size, -1);
                }
            }
        } while ($bytes > $budget && $bytes < $before && ($removed < self::ENOUGH || \hrtime(true) < $end));
    }

    /** Deletes some of the files of other epochs. */
    public function others(string $directory): void
    {
        $left = 4 * self::SAMPLE;
        foreach (\scandir($directory) ?: [] as $name) {
            $path = "$directory/$name";
            if (\preg_match('/\Av\.[0-9a-f]{16}\z/', $name) !== 1 || $path === $this->values) {
                continue;
            }
            if (\is_link($path)) {
                \unlink($path);
                continue;
            }
            foreach (\scandir($path) ?: [] as $part) {
                if ($part === '.' || $part === '..') {
                    continue;
                }
                if (\is_link("$path/$part") || \is_file("$path/$part")) {
                    \unlink("$path/$part");
                    continue;
                }
                foreach (\array_slice(\scandir("$path/$part") ?: [], 0, $left + 2) as $file) {
                    if ($file !== '.' && $file !== '..') {
                        \unlink("$path/$part/$file");
                        $left--;
                    }
                }
                if ($left <= 0) {
                    return;
                }
                \rmdir("$path/$part");
            }
            \rmdir($path);
        }
    }

    /**
     * Some files to delete: expired, flushed and damaged ones first, then the least recently used. Of the others only a quarter is
     * returned, because other directories may hold files that were used less recently.
     *
     * @param resource                    $handle
     * @param array<int, array{int, int}> $sizes
     *
     * @return list<array{string, int, int, int, bool}> path, bytes, time of use, directory, whether it is expired, flushed or damaged
     */
    private function sample(mixed $handle, array $sizes): array
    {
        $files = [];
        $now = Clock::now();
        $directories = \array_keys($sizes);
        \shuffle($directories);
        foreach (\array_slice($directories, 0, self::LISTED) as $directory) {
            $path = \sprintf('%s/%02x', $this->values, $directory);
            $names = \is_dir($path) ? \array_slice(\scandir($path) ?: [], 2) : [];
            $entries = \count($names);
            $whole = $entries <= self::SAMPLE;
            if (!$whole) {
                $names = \array_slice($names, \random_int(0, $entries - self::SAMPLE), self::SAMPLE);
            }
            $sum = 0;
            foreach ($names as $name) {
                $size = Sizes::taken((int) \filesize("$path/$name"));
                $sum += $size;
                $bytes = RecordFile::start("$path/$name");
                $head = RecordFile::head($bytes);
                $isOver = $head === null || ($head[3] !== 0 && $head[3] < $now)
                    || (($bytes[$head[4]] ?? '') !== Change::HELD && $this->isFlushed($head[0], $head[1]));
                $files[] = ["$path/$name", $size, (int) \filemtime("$path/$name"), $directory, $isOver];
            }
            // Exact if all files of the directory were seen, else an estimate.
            Sizes::set($handle, $directory, $whole ? $sum : \intdiv($sum, self::SAMPLE) * $entries, $entries);
            if (\count($files) >= self::SAMPLE) {
                break;
            }
        }
        \usort($files, static fn(array $a, array $b): int => [$b[4], $a[2]] <=> [$a[4], $b[2]]);
        $expired = \count(\array_filter(\array_column($files, 4)));

        return \array_slice($files, 0, $expired + \intdiv(\count($files) - $expired + 3, 4));
    }

    /** Whether a flush covers the record. Never for a marker: a deleted one counts as lost, and would invalidate newer entries (see Store::forgets()). */
    private function isFlushed(string $key, int $position): bool
    {
        foreach (Markers::is($key) ? [] : Markers::covering($key) as $marker) {
            if ($position <= $this->positions[$marker] ??= ($this->flushed)($marker)) {
                return true;
            }
        }

        return false;
    }
}
