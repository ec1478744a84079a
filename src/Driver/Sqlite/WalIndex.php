<?php

declare(strict_types=1);

namespace Larder\Driver\Sqlite;

use Larder\System\Quiet;

/**
 * The index of a write-ahead log, the file -shm beside a database, by which SQLite's processes know of each other's commits.
 *
 * SQLite always maps it into memory (sqlite.org/wal.html, section 6). If another program cuts it short, as a cleaner does
 * with `> larder.db-shm`, the kernel kills each process that looks into it: with SIGBUS, which PHP cannot catch. Therefore a
 * process that has kept a connection looks at the file's size before it uses the connection in another request.
 */
final class WalIndex
{
    /** Bytes of the parts in which SQLite makes and maps it (wal.c, WALINDEX_PGSZ). */
    private const PART = 32_768;

    /** Bytes that no index reaches: it has a part for 16 MB of the write-ahead log. */
    private const MOST = 4 << 20;

    /**
     * @var list<resource> closing one would release the locks that SQLite holds on the same file
     *
     * @phpstan-ignore property.onlyWritten (kept open, and that is all)
     */
    private static array $mended = [];

    /** Whether another program has cut it short. Ask only while this process has the database open: then SQLite does not. */
    public static function isCut(string $database): bool
    {
        \clearstatcache();
        $file = "$database-shm";

        return \is_file($file) && \filesize($file) < self::PART;
    }

    /** Makes the file as long as what processes have mapped, with zeros, from which SQLite sees that it must make the index anew. */
    public static function mend(string $database): void
    {
        if (!self::isCut($database)) {
            return;
        }
        Quiet::call(static function () use ($database): void {
            // Not a mode that makes the file.
            $handle = \fopen("$database-shm", 'r+e');
            if ($handle !== false) {
                \ftruncate($handle, self::MOST);
                self::$mended[] = $handle;
            }
        });
    }
}
