<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\System\Failure;

/**
 * The tables, and their version.
 *
 *     e   one row a key: its last change and, unless it was removed, its record. Rows sorted by `pos` are the journal,
 *         which lists only a key's last change. body NULL: removed, evicted or expired; the change is still known. A row
 *         outside the journal (a lease) has a negative `pos`: minus its version. New positions and versions count on
 *         from the last and the first row, so these two are never deleted.
 *     m   facts about the whole: epoch, where it began (start), the greatest position whose row has been deleted
 *         (horizon, see DeletedRows), the boot and the file it belongs to, the hands and marks of the Sweeper.
 *
 * `sum` is the body's CRC-32: SQLite notices a damaged page only where its structure is.
 *
 * The body comes last, so that SQLite reads a row's other columns without it (sqlite.org/fileformat2.html, section 1.6: a
 * body that does not fit into a page lies in a chain of overflow pages). A table with a rowid and two indices is as fast
 * as WITHOUT ROWID for short bodies, and three times faster for 20 kB ones, of which a B-tree by key keeps less in the
 * page.
 */
final class Schema
{
    /** "Lard", in the file's header: sqlite.org/fileformat2.html, section 1.3.17. */
    public const APPLICATION = 0x4C617264;

    /**
     * Grows whenever a process of the previous release would misuse the tables: such a process must neither read nor write
     * a database of this release. Version 2: floors (see DeletedRows). Version 3: judged changes in the change log. Version 4:
     * sets after a miss there. Version 5: checksums. Version 6: a change log that says where it ends. Version 7: one in the
     * change counter's file, of judged changes.
     */
    public const VERSION = 8;

    private const TABLES = [
        'CREATE TABLE e(id INTEGER PRIMARY KEY, k BLOB NOT NULL UNIQUE, pos INTEGER NOT NULL, writer TEXT NOT NULL,'
            . ' kind TEXT NOT NULL, expiry INTEGER NOT NULL, used INTEGER NOT NULL, sum INTEGER NOT NULL DEFAULT 0, body BLOB)',
        'CREATE INDEX e_pos ON e(pos)',
        // For the few records under an intent.
        'CREATE INDEX e_held ON e(used) WHERE used = 2',
        'CREATE TABLE m(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID',
        'PRAGMA application_id=' . self::APPLICATION,
        'PRAGMA user_version=' . self::VERSION,
    ];

    /** @throws \PDOException */
    public static function create(\PDO $pdo): void
    {
        foreach (self::TABLES as $statement) {
            $pdo->exec($statement);
        }
    }

    /**
     * Whether a database is of this version. An older release's database is not upgraded: its epoch ends, with its change
     * counter, so that a process of that release that has it open stops using it.
     *
     * @throws Failure if a newer Larder made it
     */
    public static function isCurrent(int $version): bool
    {
        if ($version > self::VERSION) {
            throw Failure::because('sqlite', "the database has version $version, this Larder knows " . self::VERSION . ';'
                . ' update it, or give each version a directory of its own');
        }

        return $version === self::VERSION;
    }
}
