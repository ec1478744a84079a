<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\PrivateDirectory;

/**
 * Tells whether Larder has made a file. Many of its names any program could choose, as sessions.db or lock: then only the file's
 * beginning says whose it is.
 *
 * The caller acts as the files' owner, and keeps PHP quiet.
 *
 * @phpstan-import-type Stat from Files
 */
final class Origin
{
    /** What the header of each database has as application_id. */
    private const APPLICATIONS = [
        FileNames::SQLITE => 'Lard', FileNames::QUEUE => 'LrdQ', 'locks' => 'LrdL', 'limits' => 'LrdM', 'sessions' => 'LrdS', 'counters' => 'LrdC',
    ];

    /** How other files begin: see Store\File\State, PushLog and ext/segment/layout.h. */
    private const BEGINNINGS = [FileNames::FILES => "LARDER\n", FileNames::QUEUE => 'LrdQlog', FileNames::SEGMENT => SegmentHeader::MAGIC];

    /** Names that no other program gives its files. */
    private const CERTAIN = '/^(larder[.-]|bell\.[0-9a-f]|(log|v)\.[0-9a-f]{16}|(local|kept|lost|primary|watermark|doctor)-[0-9a-f]{8}|memory-of-running-php|counters-[0-9a-f]{16})/';

    /** A file that lies beside another one, which says whose both are. */
    private const BESIDE = '/^(?<main>(?:queue-.+|[a-z]+)\.db)-(?:wal|shm|journal)$|^(?<queue>queue-.+)\.(?:log[\w.-]*|waiters)$|^(?<segment>segment(?:-[0-9a-f]{8})?)\.(?:part|lock)$/D';

    /**
     * Whether this file shows for certain that its directory is Larder's.
     *
     * @param Stat $stat
     */
    public static function proves(string $path, array $stat): bool
    {
        if (!Files::isPlain($stat)) {
            return false;
        }
        $name = \basename($path);
        if ($name === PrivateDirectory::MARK) {
            return PrivateDirectory::isMark((string) Files::start($path, $stat, 4_096));
        }
        $kind = FileNames::kind($name)[0] ?? '';
        if (isset(self::APPLICATIONS[$kind]) && self::application($path, $stat) === self::APPLICATIONS[$kind]) {
            return true;
        }
        // A segment may have any name.
        $kind = SegmentHeader::hasMode($stat) ? FileNames::SEGMENT : $kind;

        return isset(self::BEGINNINGS[$kind]) && \str_starts_with((string) Files::start($path, $stat, 8), self::BEGINNINGS[$kind]);
    }

    /**
     * Whether a file in a directory of Larder's is Larder's too. What could be another program's is not.
     *
     * @param Stat $stat
     */
    public static function isLarders(string $path, array $stat): bool
    {
        $name = \basename($path);
        $kind = FileNames::kind($name)[0] ?? '';
        $proves = self::proves($path, $stat);
        if ($proves || $kind === '') {
            return $proves;
        }
        if (\preg_match(self::CERTAIN, $name) === 1 || Files::isPlain($stat) && $stat['size'] === 0) {
            return true;
        }
        if (\preg_match(self::BESIDE, $name, $match) === 1) {
            $main = \dirname($path) . '/' . match (true) {
                $match['main'] !== '' => $match['main'],
                $match['queue'] !== '' => "{$match['queue']}.db",
                default => $match['segment'],
            };
            $of = Files::stat($main);

            return $of !== null && $of['uid'] === $stat['uid'] && self::proves($main, $of);
        }

        // Notes that have no form.
        return $kind === FileNames::STATE;
    }

    /**
     * Whether it is a whole database of that kind, by its header: nothing is opened.
     *
     * @param Stat $stat
     */
    public static function isDatabase(string $kind, string $path, array $stat): bool
    {
        // sqlite.org/fileformat2.html, section 1.3: the size of a page.
        /** @var array{page: int} $numbers */
        $numbers = \unpack('npage', \str_pad(\substr((string) Files::start($path, $stat, 18), 16), 2, "\0"));
        $page = $numbers['page'] === 1 ? 65_536 : $numbers['page'];

        return self::application($path, $stat) === (self::APPLICATIONS[$kind] ?? '') && $page >= 512 && $stat['size'] % $page === 0;
    }

    /** @param Stat $stat. @return ?string its four bytes; null: it is no SQLite database */
    private static function application(string $path, array $stat): ?string
    {
        // The same section: the magic, and the application_id.
        $head = (string) Files::start($path, $stat, 100);

        return \strlen($head) === 100 && \str_starts_with($head, "SQLite format 3\0") ? \substr($head, 68, 4) : null;
    }
}
