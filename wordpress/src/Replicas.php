<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;

/**
 * Where a db.php sends statements that read to copies of the database (HyperDB, LudicrousDB), a reader may get what was there
 * before a write that has long ended. So each write notes when it has changed what, and for as long as a copy may lag behind
 * nothing that a request computes which began before the end of that time is stored in its place: no value under a key, and no
 * page that shows it.
 *
 * There is a note for each span of time in which something changed, and nothing is in it: whether there is one never changes
 * back, so that a copy of it in memory is as good. The times are those of the web servers' clocks, which must agree.
 */
final class Replicas
{
    /** Seconds, where the owner says nothing. */
    private const LAG = 5.0;

    /** Seconds for which notes are kept and looked for: how long ago a request may have read what it stores. */
    private const KEPT = 120;

    /** Seconds by which clocks may differ. */
    private const SKEW = 1.0;

    private static ?float $lag = null;

    /** @var array<string, true> what this request has changed, or is changing */
    private static array $changed = [];

    /** Seconds that a copy of the database may lag behind; 0: there is none. */
    public static function lag(): float
    {
        if (self::$lag === null) {
            $database = $GLOBALS['wpdb'] ?? null;
            if (!\is_object($database)) {
                return 0.0;
            }
            $given = Site::setting('REPLICA_LAG');
            self::$lag = \is_numeric($given) && $given >= 0 ? (float) $given : (\method_exists($database, 'send_reads_to_masters') ? self::LAG : 0.0);
        }

        return self::$lag;
    }

    /** A statement that changes this is about to be sent. */
    public static function change(Cache $own, string ...$names): void
    {
        if (self::lag() > 0.0) {
            self::$changed += \array_fill_keys($names, true);
            self::note($own, ...$names);
        }
    }

    /**
     * What was changed is so from now on.
     *
     * @param bool $isDone false: a transaction goes on, at whose end it is so
     */
    public static function changed(Cache $own, bool $isDone): void
    {
        if (self::$changed !== []) {
            self::note($own, ...\array_map(\strval(...), \array_keys(self::$changed)));
            self::$changed = $isDone ? [] : self::$changed;
        }
    }

    /** Whether this request may have read one of these from a copy that lagged behind. */
    public static function isBehind(Cache $own, string ...$names): bool
    {
        if (self::lag() <= 0.0) {
            return false;
        }
        // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- PHP's own clock
        $began = $_SERVER['REQUEST_TIME_FLOAT'] ?? 0.0;
        $now = \microtime(true);
        $since = \min($now, \max(\is_float($began) ? $began : 0.0, $now - self::KEPT)) - self::lag() - self::SKEW;
        $keys = [];
        for ($span = self::span($since), $last = self::span($now + self::SKEW); $span <= $last; $span++) {
            foreach ($names as $name) {
                $keys[] = self::key($name, $span);
            }
        }

        return \in_array(1, $own->getMultiple($keys), true);
    }

    private static function note(Cache $own, string ...$names): void
    {
        $span = self::span(\microtime(true));
        $keys = \array_map(static fn(string $name): string => self::key($name, $span), $names);
        $keys === [] || $own->setMultiple(\array_fill_keys($keys, 1), (int) \ceil(self::lag() * 2 + self::SKEW) + self::KEPT);
    }

    private static function key(string $name, int $span): string
    {
        return "changed-$span-" . (\strlen($name) > 200 ? \hash('sha256', $name) : $name);
    }

    /** The number of the span of time, each of which is as long as the lag. */
    private static function span(float $time): int
    {
        return (int) \floor($time / self::lag());
    }
}
