<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Dsn;
use Larder\Config\Extension;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\Config\Version;
use Larder\Console\Support\Text;
use Larder\System\Failure;
use Larder\System\Ownership;
use Larder\System\ServerPolicy;

/** Checks the segment: whether it is used, what it holds and, if there is none, why. */
final class SharedMemory
{
    /** Part of the file in use from which on, if entries are evicted, a larger one would help. A quarter of the file is index and other overhead. */
    private const FULL = 0.6;

    /** Ratio of hits below which the doctor mentions a full segment. */
    private const POOR = 0.8;

    /** Seconds for which the doctor reports damage. */
    private const RECENT = 7 * 86400;

    /** Gets from which on a hit ratio means anything. */
    private const MANY = 1000;

    /** @return iterable<Finding> */
    public static function findings(Options $options, ServerPolicy $policy = new ServerPolicy()): iterable
    {
        if (!\extension_loaded('larder')) {
            yield self::notLoaded($options);
        } elseif (!SegmentPlace::isUsable()) {
            yield Finding::warn('segment', 'not used: the extension larder ' . (new \ReflectionExtension('larder'))->getVersion() . ' and this library, ' . Version::CURRENT . ', are not of the same series', 'Type "pie install larder/ext:' . SegmentPlace::SERIES . '*" (in a checkout of Larder "make ext") and restart php-fpm.');
        } elseif ($options->near?->scheme !== 'segment') {
            yield Finding::note('segment', 'not used: ' . match (true) {
                $options->near !== null => 'near=' . $options->near->scheme . ' takes its place',
                $options->withoutApcu => 'the configuration says near=apcu, which is switched off here',
                $options->disk === null && $options->far === null => 'no tier outlives the process, so there is nothing to copy',
                default => 'near=none, or larder.segment=none in php.ini, switches it off',
            });
        } else {
            yield from self::opened($options->near, $options, $policy);
        }
    }

    private static function notLoaded(Options $options): Finding
    {
        $line = self::settingThatNamesIt();
        if ($line !== null) {
            return Finding::warn(
                'segment',
                'not used: ' . $line . ' names the extension larder, but this PHP has not loaded it',
                'Look at the first lines of "php -v": PHP refuses a module of another version or build. Build it with this PHP\'s php-config ("make ext" where Larder is).',
            );
        }

        return $options->segment === 'missing'
            ? Finding::warn('segment', 'the configuration says near=segment, but this PHP (' . \PHP_SAPI . ') does not load the extension larder: values come from the next tier', Extension::advice('larder'))
            : Finding::note('segment', 'not used: the extension larder is not loaded');
    }

    /** An ini file that would load the extension. */
    private static function settingThatNamesIt(): ?string
    {
        $files = \array_filter(\array_map(\trim(...), [(string) \php_ini_loaded_file(), ...\explode(',', (string) \php_ini_scanned_files())]));
        foreach ($files as $file) {
            if (\is_readable($file) && \preg_match('~^\s*extension\s*=\s*"?(\S*/)?larder(\.so)?"?\s*(;.*)?$~m', (string) \file_get_contents($file)) === 1) {
                return $file;
            }
        }

        return null;
    }

    /** @return iterable<Finding> */
    private static function opened(Dsn $dsn, Options $options, ServerPolicy $policy): iterable
    {
        $path = SegmentPlace::path($dsn);
        try {
            $segment = SegmentPlace::open($dsn, $options->nearBudget);
        } catch (Failure $failure) {
            yield Finding::warn('segment', 'not used: ' . $failure->getMessage(), 'Fix that, or name another file (near=segment:///dev/shm/app/segment), or write near=none.');

            return;
        }
        /** @var array{entries: int, bytes_used: int, bytes_taken: int, bytes_total: int, hits: int, misses: int, copied: int, sets: int, evictions: int, expired: int, refused: int, mode: string, address: string, retired_bytes: int, readers: int, recoveries: int, damaged: int, damaged_at: int} $stats */
        $stats = $segment->stats();
        yield $stats['mode'] === 'zero-copy'
            ? Finding::ok('segment', $path . ', used: values are read in place, at ' . $stats['address'])
            : Finding::warn(
                'segment',
                $path . ', used, but values are copied: this process could not map it at ' . $stats['address'] . ', or more processes use it than it has slots for',
                'It works, but is slower for large values. If the web copies too, restart php-fpm; then remove the file while nothing uses it.',
            );
        yield self::size($stats, $dsn, $policy->atMost(SegmentPlace::bytes($dsn, $options->nearBudget), 'segment'));
        if ($stats['refused'] > 0 && $stats['refused'] * 100 > $stats['sets']) {
            yield Finding::warn('segment, room', $stats['refused'] . ' values of ' . $stats['sets'] . ' were not stored: they were too large, or long requests held the values that could have been evicted', self::larger($path, $stats['bytes_total']));
        }
        if ($stats['copied'] > 0 && $stats['copied'] * 100 > $stats['hits']) {
            yield Finding::warn('segment, long requests', $stats['copied'] . ' gets of ' . $stats['hits'] . ' were copied, by requests that had already read a large part of the segment: that is slow for arrays', self::larger($path, $stats['bytes_total']));
        }
        if ($stats['damaged_at'] > \time() - self::RECENT) {
            yield Finding::warn(
                'segment, damaged',
                'another program truncated or overwrote its file, ' . $stats['damaged'] . ' times in all, last seen on ' . \date('Y-m-d H:i', $stats['damaged_at']) . '; requests that were reading from it were killed (an error 502)',
                'Find what empties files in ' . \dirname($path) . ' as user ' . Ownership::user() . ' or root: removing a segment does no harm, emptying it does. Or name another place: larder.segment in php.ini.',
            );
        }
        if ($stats['recoveries'] > 0) {
            yield Finding::ok('segment, deaths', $stats['recoveries'] . ' times a process died while it wrote, and another process repaired the segment');
        }
        $beside = \glob($path . '-????????') ?: [];
        if ($beside !== []) {
            yield Finding::ok('segment, others', \implode(', ', $beside) . ': segments of other builds of PHP that use the same configuration; they learn of changes from the journal');
        }
    }

    /** @param array{entries: int, bytes_used: int, bytes_taken: int, bytes_total: int, hits: int, misses: int, evictions: int, expired: int, ...} $stats */
    private static function size(array $stats, Dsn $dsn, int $asked): Finding
    {
        $gets = $stats['hits'] + $stats['misses'];
        $ratio = $gets === 0 ? 1.0 : $stats['hits'] / $gets;
        $text = \sprintf(
            '%d entries, %s; %s of at most %s are taken; %s; %d evicted, %d expired',
            $stats['entries'],
            Text::bytes($stats['bytes_used']),
            Text::bytes($stats['bytes_taken']),
            Text::bytes($stats['bytes_total']),
            $gets === 0 ? 'not read yet' : \sprintf('%.1f %% of %d gets hit', 100 * $ratio, $gets),
            $stats['evictions'],
            $stats['expired'],
        );
        $path = SegmentPlace::path($dsn);
        if ($gets >= self::MANY && $ratio < self::POOR && $stats['evictions'] > 0 && $stats['bytes_used'] > self::FULL * $stats['bytes_total']) {
            return Finding::warn('segment, size', $text . ': it is full, and many gets ask for evicted values', self::larger($path, $stats['bytes_total']));
        }
        // A segment has whole pages, so its size may differ a little from the configured one.
        if (\abs($stats['bytes_total'] - $asked) > $asked / 8) {
            $text .= '. ' . Text::bytes($asked) . ' were configured: an existing file keeps its size, and this machine\'s policy may allow less';
        }

        return Finding::ok('segment, size', $text);
    }

    private static function larger(string $path, int $bytes): string
    {
        return 'Make it larger, for example near=segment://' . $path . '?bytes=' . \max(2, 2 * $bytes >> 20) . 'M, remove ' . $path . ' and restart php-fpm.';
    }
}
