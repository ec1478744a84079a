<?php

declare(strict_types=1);

namespace Larder\WordPress;

use Larder\Cache;

/**
 * Who flushes how often.
 *
 * Some plugins flush the whole cache at every request. From the LIMITth time in a minute on, theirs empties the groups
 * of plugins only: WordPress's own it invalidates by itself, and without them every page would begin at nothing. Who it
 * is stands in the log and in Site Health.
 */
final class Flushes
{
    /** Flushes a minute of one plugin that are done in full. */
    public const LIMIT = 10;

    private const KEY = 'flushes';

    /** Seconds for which an offender is named. */
    private const NAMED = 3_600;

    public function __construct(private readonly Cache $own) {}

    /** Counts one. Whether it is to be done in full. */
    public function count(): bool
    {
        $who = self::who();
        if ($who === null) {
            // A person or a tool asks for it, perhaps for one site of a network after the other.
            return true;
        }
        if (\function_exists('is_multisite') && \is_multisite()) {
            $who .= ' on site ' . \get_current_blog_id();
        }
        $add = static fn(mixed $log): array => self::counted($log, $who, \time());
        $log = $this->own->update(self::KEY, $add);
        if ($log === null) {
            $log = $add(null);
            $this->own->add(self::KEY, $log) || $log = $this->own->update(self::KEY, $add) ?? $log;
        }
        $count = self::log($log)['counts'][$who] ?? 1;
        if ($count === self::LIMIT + 1) {
            \error_log("Larder: $who has flushed the object cache $count times within a minute. Until the minute ends, its flushes empty the groups of plugins only. Ask its author why it flushes.");
        }

        return $count <= self::LIMIT;
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
    private static function who(): ?string
    {
        foreach (\debug_backtrace(\DEBUG_BACKTRACE_IGNORE_ARGS, 40) as $frame) {
            $file = \strtr($frame['file'] ?? '', '\\', '/');
            if (\preg_match('~/(plugins|mu-plugins|themes)/([^/]+)~', $file, $match) === 1 && $match[2] !== 'larder') {
                return $match[1] . '/' . $match[2];
            }
        }

        return null;
    }
}
