<?php

declare(strict_types=1);

namespace Larder\Console\Fleet;

use Larder\System\DirectoryList;
use Larder\System\PrivateDirectory;

/** The names that Larder gives its files: what they tell of a directory in which nothing may be opened. */
final class FileNames
{
    public const SQLITE = 'sqlite';
    public const FILES = 'files';
    public const PAGES = 'pages';
    public const QUEUE = 'queue';
    public const SEGMENT = 'segment';
    public const REMOTE = 'remote';
    /** Of a directory's caches together. */
    public const STATE = 'state';

    private const DATABASE = '\.db(?:-wal|-shm|-journal|\.(?:new|damaged|apart|gate)[\w.-]*)?';

    private const PATTERNS = [
        self::SQLITE => 'larder(?:' . self::DATABASE . '|\.lock)|bell\.[0-9a-f]+',
        self::FILES => 'lock|log\.[0-9a-f]{16}\.\d+|v\.[0-9a-f]{16}',
        self::QUEUE => 'queue-(?<queue>[A-Za-z0-9][A-Za-z0-9_.-]{0,63}?)(?:' . self::DATABASE . '|\.log[\w.-]*|\.waiters)',
        'locks' => 'locks' . self::DATABASE,
        'limits' => 'limits' . self::DATABASE,
        'sessions' => 'sessions' . self::DATABASE,
        'counters' => 'counters' . self::DATABASE,
        self::PAGES => 'local-[0-9a-f]{8}-(?:build|copies|counts|epoch|flushes|purges|routes|trees|wait)[\w.-]*',
        self::REMOTE => '(?:kept|lost|primary|watermark)-[0-9a-f]{8}(?:\.(?:gate|lock|new))?',
        self::STATE => '(?:near|apcu)-\w+\.lock|said|mishaps\.txt|fleet\.json|doctor-[0-9a-f]{8}(?:\.new)?|' . PrivateDirectory::MARK . '|' . DirectoryList::FILE,
        self::SEGMENT => '(?:memory-of-running-php|segment|counters-[0-9a-f]{16})(?:-[0-9a-f]{8})?(?:\.part|\.lock)?',
    ];

    /** Directories inside of which all is Larder's. */
    private const WHOLE = '/^(v\.[0-9a-f]{16}|queue-.*\.waiters|local-[0-9a-f]{8}-(?:copies|routes)[\w.-]*)$/D';

    /** @return ?array{string, string} the kind and, of a queue, its name; null: it is not Larder's */
    public static function kind(string $name): ?array
    {
        foreach (self::PATTERNS as $kind => $pattern) {
            if (\preg_match("/^(?:$pattern)$/D", $name, $match) === 1) {
                return [$kind, $match['queue'] ?? ''];
            }
        }

        return null;
    }

    /** A cache with a prefix has a directory inside of that of the others. */
    public static function isPrefix(string $name): bool
    {
        return \preg_match('/^prefix-[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}$/D', $name) === 1;
    }

    public static function isWhole(string $name): bool
    {
        return \preg_match(self::WHOLE, $name) === 1;
    }

    /** Whether a directory in which this lies is likely to be Larder's own. */
    public static function tells(string $name): bool
    {
        return $name === PrivateDirectory::MARK || $name === 'larder.db' || $name === 'larder.lock'
            || \preg_match('/^(v\.[0-9a-f]{16}|queue-[A-Za-z0-9][A-Za-z0-9_.-]*\.db|memory-of-running-php)$/D', $name) === 1;
    }
}
