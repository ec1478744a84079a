<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/**
 * What the cached values are computed from: a version for each row, which only grows.
 *
 * One file under flock(), so that reads and writes are linearizable across processes and a killed process leaves no
 * lock behind. A row is 16 digits, written in one call. As in InnoDB, a transaction reads from a snapshot of its
 * beginning and sees its own writes, and whoever writes one of its rows waits for its end; its rows are locked in order.
 */
final class Database
{
    private const WIDTH = 16;

    /** @var resource */
    private $file;

    /** The file when the open transaction began; null: none is open. */
    private ?string $snapshot = null;

    /** @var array<int, int> version by row: what the open transaction has written */
    private array $written = [];

    /** @var array<int, resource> by row: what the open transaction has locked */
    private array $locks = [];

    public function __construct(private readonly string $path)
    {
        $this->file = self::open($path);
        \stream_set_read_buffer($this->file, 0);
    }

    /**
     * @param list<int> $rows
     *
     * @return array<int, int> version by row, all of the same moment
     */
    public function read(array $rows): array
    {
        $all = $this->snapshot ?? $this->all();
        $versions = [];
        foreach ($rows as $row) {
            $versions[$row] = $this->written[$row] ?? self::version($all, $row);
        }

        return $versions;
    }

    /** Gives the row its next version, and returns that; in a transaction only rows that it has locked. */
    public function write(int $row): int
    {
        if ($this->snapshot !== null) {
            \assert(isset($this->locks[$row]));

            return $this->written[$row] = ($this->written[$row] ?? self::version($this->all(), $row)) + 1;
        }
        $lock = $this->lock($row);
        $version = self::version($this->all(), $row) + 1;
        $this->put([$row => $version]);
        \fclose($lock);

        return $version;
    }

    /** @param list<int> $rows that the transaction will write */
    public function begin(array $rows): void
    {
        \sort($rows);
        foreach (\array_unique($rows) as $row) {
            $this->locks[$row] = $this->lock($row);
        }
        $this->snapshot = $this->all();
    }

    /** Whether a transaction is. */
    public function isOpen(): bool
    {
        return $this->snapshot !== null;
    }

    /** @return array<int, int> version by row: what the open transaction would write */
    public function written(): array
    {
        return $this->written;
    }

    public function commit(): void
    {
        $this->put($this->written);
        $this->rollBack();
    }

    public function rollBack(): void
    {
        $this->snapshot = null;
        $this->written = $this->locks = [];
    }

    private function all(): string
    {
        self::hold($this->file, \LOCK_SH);
        $all = (string) \stream_get_contents($this->file, -1, 0);
        \flock($this->file, \LOCK_UN);

        return $all;
    }

    /** @param array<int, int> $versions by row */
    private function put(array $versions): void
    {
        self::hold($this->file, \LOCK_EX);
        foreach ($versions as $row => $version) {
            \fseek($this->file, $row * self::WIDTH);
            \fwrite($this->file, \str_pad((string) $version, self::WIDTH, '0', \STR_PAD_LEFT));
        }
        \flock($this->file, \LOCK_UN);
    }

    /** @return resource held until it is closed */
    private function lock(int $row)
    {
        $lock = self::open("$this->path.row-$row");
        self::hold($lock, \LOCK_EX);

        return $lock;
    }

    /**
     * Waits for a lock. A reload of php-fpm sends its workers a signal, which ends flock(2) without one.
     *
     * @param resource             $file
     * @param \LOCK_SH|\LOCK_EX $kind
     */
    private static function hold($file, int $kind): void
    {
        while (!\flock($file, $kind)) {
        }
    }

    private static function version(string $all, int $row): int
    {
        return (int) \substr($all, $row * self::WIDTH, self::WIDTH);
    }

    /** @return resource */
    private static function open(string $path)
    {
        return \fopen($path, 'c+') ?: throw new \RuntimeException('Cannot open ' . $path);
    }
}
