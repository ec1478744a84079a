<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;
use Larder\System\ErrorLog;

/**
 * Who flushes how often.
 *
 * Every flush is done in full, whatever asks for it: only the caller knows what has changed. But some plugins flush
 * the whole cache at every request, and then it is of no use. Who does so more than LIMIT times in a minute is
 * named in the log and in Site Health.
 */
final class Flushes
{
    /** Flushes a minute that are not complained of. */
    public const LIMIT = 10;

    private const KEY = 'flushes';

    /** Seconds for which an offender is named. */
    private const NAMED = 3_600;

    public function __construct(private readonly Cache $own) {}

    /** Counts one. */
    public function count(): void
    {
        $who = self::who();
        if (\function_exists('is_multisite') && \is_multisite()) {
            // A tool may do it for one site of a network after the other.
            $who .= ' on site ' . \get_current_blog_id();
        }
        $add = static fn(mixed $log): array => self::counted($log, $who, \time());
        $log = $this->own->update(self::KEY, $add);
        if ($log === null) {
            $log = $add(null);
            $this->own->add(self::KEY, $log) || $log = $this->own->update(self::KEY, $add) ?? $log;
        }
        if ((self::log($log)['counts'][$who] ?? 1) === self::LIMIT + 1) {
            ErrorLog::write(\sprintf('Larder: %s has flushed the object cache %d times within a minute. Ask its author why it flushes.', $who, self::LIMIT + 1));
        }
    }

    /** @return array<string, int> who passed the limit within the last hour: the most flushes in a minute, by plugin */
    public static function offenders(): array
    {
        $cache = $GLOBALS['wp_object_cache'] ?? null;
        $root = $cache instanceof ObjectCache ? $cache->larder() : null;
        $log = $root === null ? null : ObjectCache::records($root)->get(self::KEY);
        $named = [];
        foreach (self::log($log)['offenders'] as $who => [$time, $count]) {
            if ($time > \time() - self::NAMED) {
                $named[$who] = $count;
            }
        }

        return $named;
    }

    /**
     * The last flushes of this server, the last one first: see FlushHistory.
     *
     * @return list<array{time: int, site: string, group: string, done: bool, caller: string, request: string, user: string}> site '': all of
     *                                                     them, or the only one; group '': all of that, otherwise as the plugin named it
     */
    public static function last(Cache $larder): array
    {
        $flushes = [];
        foreach ($larder->internals()->flushes()?->last() ?? [] as $flush) {
            // As ObjectCache lays them out. What is laid out otherwise is Larder's own, as the pages.
            if (\preg_match('~^s(?:/(g|\d+))?(?:/[cp]/(.+))?$~sD', $flush['group'], $match) === 1) {
                $flush['group'] = $match[2] ?? '';
            }
            $flushes[] = ['site' => $match[1] ?? ''] + $flush;
        }

        return $flushes;
    }

    /** @return array{minute: int, counts: array<string, int>, offenders: array<string, array{int, int}>} */
    private static function counted(mixed $log, string $who, int $now): array
    {
        $log = self::log($log);
        if ($log['minute'] !== \intdiv($now, 60)) {
            $log['minute'] = \intdiv($now, 60);
            $log['counts'] = [];
            $log['offenders'] = \array_filter($log['offenders'], static fn(array $last): bool => $last[0] > $now - self::NAMED);
        }
        $count = $log['counts'][$who] = ($log['counts'][$who] ?? 0) + 1;
        if ($count > self::LIMIT) {
            $log['offenders'][$who] = [$now, \max($count, $log['offenders'][$who][1] ?? 0)];
        }

        return $log;
    }

    /** @return array{minute: int, counts: array<string, int>, offenders: array<string, array{int, int}>} */
    private static function log(mixed $log): array
    {
        /** @var array{minute: int, counts: array<string, int>, offenders: array<string, array{int, int}>} */
        return \is_array($log) && isset($log['minute'], $log['counts'], $log['offenders']) ? $log : ['minute' => 0, 'counts' => [], 'offenders' => []];
    }

    /** The plugin or theme whose code asked for it. */
    private static function who(): string
    {
        $ours = \strtr(\dirname(__DIR__), '\\', '/') . '/';
        // phpcs:ignore WordPress.PHP.DevelopmentFunctions.error_log_debug_backtrace -- who flushes is what is to be found out
        foreach (\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 40) as $frame) {
            $file = \strtr($frame['file'] ?? '', '\\', '/');
            if (!\str_starts_with($file, $ours) && \preg_match('~/(plugins|mu-plugins|themes)/([^/]+)~', $file, $match) === 1) {
                return $match[1] . '/' . $match[2];
            }
        }

        return \PHP_SAPI === 'cli' ? 'a command' : 'WordPress';
    }
}
