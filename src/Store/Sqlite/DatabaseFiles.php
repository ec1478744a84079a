<?php

declare(strict_types=1);

namespace Larder\Store\Sqlite;

use Larder\Driver\Sqlite\WalIndex;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\IncidentLog;
use Larder\System\MachineBoot;
use Larder\System\Ownership;
use Larder\System\Quiet;

/**
 * The files in the store's directory: which they are, which process may replace them, and in which order.
 *
 *     larder.db, -wal, -shm     SQLite's own; for the last one see WalIndex
 *     bell.<epoch>              the change counter and change log; deleting it ends the epoch, so it is deleted first. Each commit changes it,
 *                               so a restore replaces it: with another inode than the database notes, the epoch has ended
 *     larder.lock               locked while a connection is first opened, and while files are replaced: SQLite opens
 *                               database and write-ahead log one after the other, and must not get them from two
 *                               epochs (sqlite.org/howtocorrupt.html, section 4.2). Its content is the position at
 *                               which the newest epoch began, the epoch, and its change counter's inode.
 *     larder.db.damaged         the last database that was found damaged
 *     mishaps.txt               see IncidentLog
 */
final class DatabaseFiles
{
    public readonly string $database;
    public readonly SqliteWatch $watch;

    /**
     * Each epoch's positions lie above those of all earlier epochs, so that a position of an earlier epoch is older than
     * everything known. An epoch starts at the microseconds since 1970, since no machine makes a change each microsecond.
     * In case the clock was set back, it starts at least this far above the previous start.
     */
    private const BETWEEN_EPOCHS = 1_000_000_000_000;

    /** Follows that position once Larder itself has removed that epoch's database. */
    private const CLEARED = ' cleared';

    private readonly string $directory;

    public function __construct(string $directory)
    {
        $absolute = \str_starts_with($directory, '/') || \preg_match('~^([a-z]:|\\\\)~i', $directory) === 1;
        $this->directory = $absolute ? $directory : \getcwd() . '/' . $directory;
        $this->database = $this->directory . '/larder.db';
        $this->watch = new SqliteWatch($this->directory);
    }

    public function counter(string $epoch): ChangeCounter
    {
        return new ChangeCounter($this->directory . '/bell.' . $epoch);
    }

    /**
     * Refuses a file of the database that another user may have put there. Call it before opening the file.
     *
     * @param string ...$parts suffixes to the database's name
     *
     * @throws Failure
     */
    public function inspect(string ...$parts): void
    {
        foreach ($parts as $part) {
            self::own($this->database . $part);
        }
    }

    /** @throws Failure */
    public static function own(string $path): string
    {
        $flaw = Ownership::flaw($path);

        return $flaw === null ? $path : throw Failure::because('sqlite', $flaw);
    }

    /** Inode of the database file; 0: there is no database. */
    public function inode(): int
    {
        \clearstatcache();

        // fileinode() answers from is_file()'s stat, so it cannot warn.
        return \is_file($this->database) ? (int) \fileinode($this->database) : 0;
    }

    /**
     * What a copy of the directory does not have in common with it: the database's inode, and by how many seconds the status of
     * larder.lock changed later than its content, which is written only when an epoch begins. A copy may get the inode of a
     * deleted file, but what keeps the time of the content cannot set that of the status. Not a time itself: for libfaketime
     * the times of files differ from process to process.
     */
    public function identity(int $inode): string
    {
        \clearstatcache();
        $lock = $this->directory . '/larder.lock';

        $stat = \is_file($lock) ? \lstat($lock) : false;

        return $inode . ' ' . ($stat === false ? 0 : $stat['ctime'] - $stat['mtime']);
    }

    /** Size of the database file in bytes. */
    public function size(): int
    {
        \clearstatcache();

        return \max(0, SqliteWatch::size($this->database));
    }

    /** Size of the write-ahead log in bytes. */
    public function logSize(): int
    {
        \clearstatcache();

        return \max(0, SqliteWatch::size($this->database . '-wal'));
    }

    /**
     * Runs $work while no other process opens or replaces files.
     *
     * @template T
     * @param float         $timeout seconds
     * @param \Closure(): T $work
     *
     * @return T
     *
     * @throws Failure if the lock could not be taken in time
     */
    public function locked(float $timeout, \Closure $work): mixed
    {
        $lock = new FileLock('sqlite', $this->directory . '/larder.lock', $timeout);
        Quiet::call($lock->exclusive(...));
        try {
            return $work();
        } finally {
            $lock->release();
        }
    }

    /**
     * Ends the epoch if SQLite must not look into the index that this process has mapped (see WalIndex).
     *
     * @param float $timeout seconds
     *
     * @throws Failure
     */
    public function endIfCut(float $timeout): bool
    {
        if (!WalIndex::isCut($this->database)) {
            return false;
        }
        $this->locked($timeout, function (): void {
            // If another process has removed the database, it has ended the epoch.
            if ($this->inode() !== 0 && WalIndex::isCut($this->database)) {
                $this->clear(true);
            }
        });

        return true;
    }

    /**
     * Ends the epoch and removes its files. The caller holds the lock.
     *
     * @param bool $keep keep the damaged database under another name, for people who want to know what happened
     *
     * @throws Failure
     */
    public function clear(bool $keep): void
    {
        Quiet::call(function () use ($keep): void {
            foreach (\scandir($this->directory) ?: [] as $name) {
                if (\str_starts_with($name, 'bell.')) {
                    \unlink($this->directory . '/' . $name);
                }
            }
            // Processes that have it mapped live on.
            WalIndex::mend($this->database);
            foreach (['', '-wal'] as $part) {
                $keep && \is_file($this->database) && \rename($this->database . $part, $this->database . '.damaged' . $part);
            }
            foreach (['', '-wal', '-shm', '.new', '.new-wal', '.new-shm', '.new-journal'] as $part) {
                \is_file($this->database . $part) && \unlink($this->database . $part);
            }
            $lock = $this->directory . '/larder.lock';
            \is_file($lock) && \file_put_contents($lock, (int) \file_get_contents($lock) . self::CLEARED);
        });
        if ($keep) {
            IncidentLog::note($this->directory, 'larder.db was damaged: another program or the disk has cut it short or written over it; it is now named larder.db.damaged');
        }
        if ($this->inode() !== 0) {
            throw Failure::because('sqlite', "cannot remove $this->database; give the directory to the user who runs this");
        }
    }

    /**
     * Begins an epoch: makes its change log, its change counter, and a database that is complete before it gets its name.
     * The caller holds the lock.
     *
     * @throws Failure|\PDOException
     */
    public function create(MachineBoot $boot): void
    {
        if ($this->isLost()) {
            IncidentLog::note($this->directory, 'larder.db was removed or emptied by another program');
        }
        $this->clear(false);
        $new = $this->database . '.new';
        $epoch = \bin2hex(\random_bytes(6));
        $this->touch($new);
        $lock = $this->directory . '/larder.lock';
        $before = (int) Quiet::call(static fn() => \file_get_contents($lock));
        $start = \max((int) (\microtime(true) * 1e6), $before + self::BETWEEN_EPOCHS * ($before > 0 ? 1 : 0));
        $this->touch($this->directory . '/bell.' . $epoch, ChangeLog::first($start), ChangeCounter::FIRST);
        $pdo = new \PDO('sqlite:' . $new, null, null, [\PDO::ATTR_ERRMODE => \PDO::ERRMODE_EXCEPTION]);
        $pdo->exec('PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF');
        Schema::create($pdo);
        $known = [
            'epoch' => $epoch, 'start' => $start, 'horizon' => $start, 'heals' => 0, 'bell' => $this->counter($epoch)->inode(),
            'boot' => $boot->id, 'booted' => $boot->time,
            'evict' => 0, 'sweep' => \PHP_INT_MIN, 'mark_time' => \intdiv(Clock::now(), 1000), 'mark' => $start, 'old' => $start, 'floors' => '',
        ];
        $insert = $pdo->prepare('INSERT INTO m(name, value) VALUES(?, ?)');
        foreach ($known as $name => $value) {
            $insert->bindValue(1, $name);
            $insert->bindValue(2, $value, \is_int($value) ? \PDO::PARAM_INT : \PDO::PARAM_STR);
            $insert->execute();
        }
        // The journal is never empty: its last row says where it ends. No key is empty, so no call reads or writes this row.
        $pdo->exec("INSERT INTO e(k, pos, writer, kind, expiry, used, body) VALUES(x'', $start, '', 'd', 0, 0, NULL)");
        $isNoted = (bool) Quiet::call(static fn() => \file_put_contents($lock, "$start $epoch $known[bell]"));
        $insert->execute(['file', $this->identity((int) \fileinode($new))]);
        // This closes the connection, which removes the write-ahead log beside the temporary name.
        unset($insert, $pdo);
        Quiet::call(fn() => $isNoted && \rename($new, $this->database));
        if ($this->inode() === 0) {
            throw Failure::because('sqlite', "cannot make $this->database; is the disk full?");
        }
    }

    /** @return array{int, string, string} where the newest epoch began, the epoch, its change counter's inode; '' if larder.lock does not tell */
    public function newest(): array
    {
        $lock = $this->directory . '/larder.lock';
        Quiet::begin();
        try {
            // Reading a pipe that lies there would never end.
            $words = \is_file($lock) ? \explode(' ', (string) \file_get_contents($lock)) : [];
        } finally {
            Quiet::end();
        }

        return isset($words[2]) ? [(int) $words[0], $words[1], $words[2]] : [0, '', ''];
    }

    /** Whether another program has removed or emptied the database. Larder never gives an empty database its name. */
    private function isLost(): bool
    {
        if ($this->size() > 0) {
            return false;
        }
        $known = (string) Quiet::call(fn() => \file_get_contents($this->directory . '/larder.lock'));

        return $this->inode() !== 0 || ($known !== '' && !\str_ends_with($known, self::CLEARED));
    }

    /** Notes that the epoch ends because another program has taken commits from the write-ahead log. */
    public function commitsAreLost(): void
    {
        IncidentLog::note($this->directory, 'larder.db-wal was cut short or written over by another program');
    }

    /**
     * Ends the epoch because others have deleted the write-ahead log that this process has open. The caller holds the lock.
     *
     * @throws Failure
     */
    public function endWithoutLocks(): void
    {
        IncidentLog::note($this->directory, 'a process that uses the cache has itself read larder.db (a backup?), which releases its locks there; let another process read it');
        $this->clear(false);
    }

    /** Notes that the epoch ends because another program has taken what waited in its change log. */
    public function logIsLost(): void
    {
        IncidentLog::note($this->directory, 'a change log was cut short or written over by another program');
    }

    /**
     * Creates a file that only this user may read or write.
     *
     * @param int<0, max> $size the rest is a hole
     */
    private function touch(string $path, string $content = '', int $size = 0): void
    {
        Quiet::call(static function () use ($path, $content, $size): void {
            $file = \fopen($path, 'xe');
            if ($file === false || !\chmod($path, 0o600) || \fwrite($file, $content) !== \strlen($content) || !\ftruncate($file, $size)) {
                throw Failure::because('sqlite', "cannot make $path; is the disk full, or the directory not writable?");
            }
        });
    }
}
