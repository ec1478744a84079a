<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Store\StoreFailure;

/**
 * The tables, and how those of an older version become these.
 *
 *     e   one row a key: its last change and, unless it was removed, its record. Rows sorted by `pos` are the log,
 *         from which older changes of a key have gone. body NULL: removed, evicted or expired; the change is still
 *         known. A row that is not for the log (a lease) has a negative `pos`: minus its version. Positions and
 *         versions count on from the last and the first row, which are therefore never deleted.
 *     m   what is known of the whole: epoch, where it began (start), the greatest position whose row has been
 *         deleted (horizon, see Past), the boot and the file it belongs to, the hands and marks of the Sweeper.
 *
 * The body comes last, so that a row's other columns are read without it (sqlite.org/fileformat2.html, section
 * 1.6: what does not fit into a page lies in a chain behind it). A table with a rowid and two indices: as fast as
 * WITHOUT ROWID for short bodies, and three times faster for 20 kB ones, of which a B-tree by key keeps less in
 * the page.
 */
final class Schema
{
    /** "Lard", in the file's header: sqlite.org/fileformat2.html, section 1.3.17. */
    public const APPLICATION = 0x4C617264;

    /**
     * Version to statements that lead to it. Statements of the version before must go on working with the new
     * tables: processes that run it may have the database open.
     */
    public const STEPS = [
        1 => [
            'CREATE TABLE e(id INTEGER PRIMARY KEY, k BLOB NOT NULL UNIQUE, pos INTEGER NOT NULL, writer TEXT NOT NULL,'
                . ' kind TEXT NOT NULL, expiry INTEGER NOT NULL, used INTEGER NOT NULL, body BLOB)',
            'CREATE INDEX e_pos ON e(pos)',
            'CREATE TABLE m(name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID',
        ],
    ];

    public static function newest(): int
    {
        return \max(\array_keys(self::STEPS));
    }

    /**
     * Brings a database to the newest version, in one transaction.
     *
     * @param non-empty-array<int, list<string>> $steps
     *
     * @throws StoreFailure if a newer Larder made it
     */
    public static function upgrade(\PDO $pdo, int $from, array $steps = self::STEPS): void
    {
        $newest = \max(\array_keys($steps));
        if ($from > $newest) {
            throw StoreFailure::because('sqlite', "the database has version $from, this Larder knows $newest;"
                . ' update it, or give each version a directory of its own');
        }
        if ($from === $newest) {
            return;
        }
        $pdo->exec('BEGIN IMMEDIATE');
        try {
            for ($version = $from + 1; $version <= $newest; $version++) {
                foreach ($steps[$version] ?? [] as $statement) {
                    $pdo->exec($statement);
                }
            }
            $pdo->exec("PRAGMA user_version=$newest");
        } catch (\PDOException $e) {
            $pdo->exec('ROLLBACK');
            throw $e;
        }
        $pdo->exec('COMMIT');
    }
}
