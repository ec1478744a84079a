<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/**
 * What the cached values are computed from: a version for each row, which only grows.
 *
 * One file under flock(), so that reads and writes are linearizable across processes and a killed process leaves no
 * lock behind. A row is 16 digits, written in one call.
 */
final class Database
{
    private const WIDTH = 16;

    /** @var resource */
    private $file;

    public function __construct(string $path)
    {
        $file = \fopen($path, 'c+');
        if ($file === false) {
            throw new \RuntimeException('Cannot open ' . $path);
        }
        \stream_set_read_buffer($file, 0);
        $this->file = $file;
    }

    /**
     * @param list<int> $rows
     *
     * @return array<int, int> version by row, all of the same moment
     */
    public function read(array $rows): array
    {
        \flock($this->file, \LOCK_SH);
        $versions = [];
        foreach ($rows as $row) {
            $versions[$row] = $this->version($row);
        }
        \flock($this->file, \LOCK_UN);

        return $versions;
    }

    /** Gives the row its next version, and returns that. */
    public function write(int $row): int
    {
        \flock($this->file, \LOCK_EX);
        $version = $this->version($row) + 1;
        \fseek($this->file, $row * self::WIDTH);
        \fwrite($this->file, \str_pad((string) $version, self::WIDTH, '0', \STR_PAD_LEFT));
        \flock($this->file, \LOCK_UN);

        return $version;
    }

    private function version(int $row): int
    {
        \fseek($this->file, $row * self::WIDTH);

        return (int) \fread($this->file, self::WIDTH);
    }
}
