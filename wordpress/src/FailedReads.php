<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;

/**
 * The statements of this request that were to read and failed. What the request computes after one may lack what the database
 * could not tell, so none of it is stored: neither a value (ObjectCache) nor a page (Page\Life).
 *
 * wpdb notes nearly every failure in a global variable, whether it shows errors or not. Two others are seen only until the next
 * statement: one that wpdb does not send, and a connection that is gone.
 *
 * A failed write counts for nothing: what was read is whole. Neither does a question for a table's columns, by which code
 * finds out whether the table is there.
 */
final class FailedReads
{
    private const NO_READS = '/^[\s(]*(?:INSERT|REPLACE|UPDATE|DELETE|SET|START|BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|LOCK|UNLOCK|CREATE|ALTER|DROP|TRUNCATE|RENAME|OPTIMIZE|ANALYZE|REPAIR|CHECK|FLUSH|KILL|GRANT|REVOKE|LOAD|DESC|DESCRIBE|SHOW|EXPLAIN)\b/i';

    private const KEY = 'failed-read';

    /** Seconds for which a statement is named, and after which it is noted again. */
    private const NAMED = 3_600;
    private const AGAIN = 60;

    /** Bytes of a statement that are shown. */
    private const SHOWN = 500;

    private static bool $any = false;
    private static string $statement = '';
    private static string $error = '';

    /** How many of wpdb's errors have been looked at. */
    private static int $seen = 0;

    public static function any(): bool
    {
        self::look();

        return self::$any;
    }

    /** Looks at what the last statement has come to. */
    public static function look(): void
    {
        if (self::$any) {
            return;
        }
        $errors = $GLOBALS['EZSQL_ERROR'] ?? null;
        if (\is_array($errors) && \count($errors) !== self::$seen) {
            foreach (\array_slice($errors, self::$seen < \count($errors) ? self::$seen : 0) as $error) {
                \is_array($error) && self::note($error['query'] ?? '', $error['error_str'] ?? '');
            }
            self::$seen = \count($errors);
        }
        $database = $GLOBALS['wpdb'] ?? null;
        if ($database instanceof \wpdb) {
            if ($database->last_error !== '') {
                self::note($database->last_query, $database->last_error);
            } elseif (!\is_object($database->__get('dbh'))) {
                self::note($database->last_query, 'The connection is gone.');
            }
        }
    }

    /** Nothing is left of what this process has computed so far. */
    public static function forget(): void
    {
        self::$any = false;
        self::$statement = self::$error = '';
        $errors = $GLOBALS['EZSQL_ERROR'] ?? null;
        self::$seen = \is_array($errors) ? \count($errors) : 0;
    }

    /** Lets Site Health name the statement for which a page was not stored. */
    public static function report(Cache $own): void
    {
        $last = $own->get(self::KEY);
        if (!\is_array($last) || ($last[0] ?? 0) < \time() - self::AGAIN) {
            $own->set(self::KEY, [\time(), self::$statement, self::$error], self::NAMED);
        }
    }

    /** @return ?array{string, string} statement and error of the last page that was not stored for one; null: all were */
    public static function reported(Cache $own): ?array
    {
        $last = $own->get(self::KEY);

        return \is_array($last) && \is_string($last[1] ?? null) && \is_string($last[2] ?? null) ? [$last[1], $last[2]] : null;
    }

    private static function note(mixed $statement, mixed $error): void
    {
        if (\is_string($statement) && $statement !== '' && \preg_match(self::NO_READS, $statement) !== 1) {
            self::$any = true;
            self::$statement = \substr(\trim($statement), 0, self::SHOWN);
            self::$error = \is_string($error) ? \substr($error, 0, self::SHOWN) : '';
        }
    }
}
