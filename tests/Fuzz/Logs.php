<?php

declare(strict_types=1);

namespace Larder\Tests\Fuzz;

use Larder\Store\Change;
use Larder\Store\File\FileStore;
use Larder\Store\Sqlite\ChangeCounter;
use Larder\Store\Sqlite\SqliteStore;
use Larder\System\Failure;
use Larder\Tests\Coherence\Settings;

/**
 * The logs that the engines of an experiment keep in files: what hostile values hold of them, what killed processes leave
 * behind them, and how other programs damage them.
 */
final class Logs
{
    /** Bytes that a value holds: more than a page, so that it is torn now and then when its writer is killed. */
    private const HELD = 12_000;

    /** Bytes of the header of SQLite's. */
    private const HEADER = 24;

    /** Records that are remembered of each engine, the first of each key. */
    private const MOST = 100;

    /** @var array<string, string> engine by directory, in which each prefix has one of its own */
    private readonly array $engines;

    /** @var array<string, array<string, string>> bodies by directory and key, which have been replaced since, or will be */
    private array $old = [];

    /** The file from which processes take what hostile values hold. */
    private readonly string $hostile;

    public function __construct(Settings $settings)
    {
        $engines = [];
        foreach ([$settings->dsn, $settings->near] as $dsn) {
            if (\preg_match('~^(sqlite|file)://([^?]+)~', $dsn, $part) === 1) {
                $engines[$part[2]] = $part[1];
            }
        }
        $this->engines = $engines;
        $this->hostile = "$settings->common/hostile";
    }

    /** What a hostile value holds: records that tear() has made. */
    public function records(): string
    {
        return \is_file($this->hostile) ? (string) \file_get_contents($this->hostile) : '';
    }

    /**
     * Leaves behind each log what a process leaves that is killed while it appends a hostile value: half a record, and in it
     * whole ones, of this very log, that would bring back what was replaced.
     */
    public function tear(): void
    {
        foreach ($this->files() as $file) {
            $handle = @\fopen($file, 'r+');
            // Where a directory has a lock for all of its files, that is the log's too.
            $lock = \str_starts_with(\basename($file), 'log.') ? @\fopen(\dirname($file) . '/lock', 'r+') : $handle;
            if ($handle !== false && $lock !== false && \flock($lock, \LOCK_EX | \LOCK_NB)) {
                [$at, $records] = $this->forge($file, (string) \stream_get_contents($handle));
                \fseek($handle, $at);
                \fwrite($handle, \pack('N', self::HELD) . \random_bytes(\mt_rand(1, 60)) . $records);
                \flock($lock, \LOCK_UN);
                \file_put_contents("$this->hostile.new", $records);
                \rename("$this->hostile.new", $this->hostile);
            }
        }
    }

    /** @return array{int, string} where this log ends, and records as it would have them there */
    private function forge(string $file, string $bytes): array
    {
        if (!\str_starts_with(\basename($file), 'bell.')) {
            return [\strlen($bytes), \substr($bytes, -self::HELD)];
        }
        $size = \strlen($bytes);
        /** @var array{size: int, position: int} $header */
        $header = $size < self::HEADER ? ['size' => $size, 'position' => 0] : \unpack('Jsize/Jposition', $bytes, 8);
        $waiting = \intdiv(\max(0, $size - $header['size'] + 2), ChangeCounter::STEP);
        $at = self::HEADER;
        for ($i = 0; $i < $waiting && $at < ChangeCounter::AREA; $i++) {
            /** @var array{1: int}|false $length */
            $length = $size < $at + 4 ? false : \unpack('N', $bytes, $at);
            $at += 8 + ($length === false ? 0 : $length[1]);
        }
        $records = '';
        $position = $header['position'] + $waiting;
        foreach ($this->old[\dirname($file)] ?? [] as $key => $body) {
            $rest = ++$position . ' 0 ' . \strlen((string) $key) . ' sffffffffffff' . $key . $body;
            $records .= \pack('NN', \strlen($rest), \crc32($rest)) . $rest;
        }

        return [$at, \substr($records, 0, \max(0, \min(self::HELD, ChangeCounter::AREA - $at - 100)))];
    }

    /** Remembers what the engines hold now. */
    public function remember(): void
    {
        foreach ($this->engines as $parent => $engine) {
            foreach (\glob("$parent/prefix-items") ?: [] as $directory) {
                $this->rememberOf($directory, $engine);
            }
        }
    }

    private function rememberOf(string $directory, string $engine): void
    {
        $store = $engine === 'sqlite' ? new SqliteStore($directory, 8 << 20, 0.1) : new FileStore($directory, 8 << 20, 0.1);
        try {
            foreach ($store->each() as $key => $record) {
                if (\strlen($record->body) < 500 && \count($this->old[$directory] ?? []) < self::MOST && !\in_array($record->body[0] ?? '', Change::KEPT, true)) {
                    $this->old[$directory][$key] ??= $record->body;
                }
            }
        } catch (Failure) {
            // Another process holds its lock, or it is just being damaged.
        }
    }

    /** Cuts a log, writes zeros over it, or punches a hole in it, as another program may. */
    public function damage(): void
    {
        $files = $this->files();
        $handle = $files === [] ? false : @\fopen($files[\array_rand($files)], 'r+');
        // Without the last bytes of SQLite's, which tell how much waits: see docs/operator.md.
        $size = $handle === false ? 0 : \min(ChangeCounter::AREA - 1, (int) (\fstat($handle)['size'] ?? 0));
        if ($handle === false || $size === 0) {
            return;
        }
        $length = \mt_rand(0, $size);
        match (\mt_rand(0, 4)) {
            0 => \ftruncate($handle, 0),
            1 => \fwrite($handle, \str_repeat("\0", $size)),
            // Whoever reads a hole gets zeros.
            2 => \fseek($handle, $length) === 0 && \fwrite($handle, \str_repeat("\0", \mt_rand(0, $size - $length))),
            default => \ftruncate($handle, $length),
        };
    }

    /** @return list<string> */
    private function files(): array
    {
        $files = [];
        foreach ($this->engines as $directory => $_) {
            \array_push($files, ...(\glob("$directory/prefix-*/bell.*") ?: []), ...(\glob("$directory/prefix-*/log.*") ?: []));
        }

        return $files;
    }
}
