<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Codec\Signer;
use Larder\Store\ReentrantStore;
use Larder\Store\Sqlite\SqliteWatch;
use Larder\Store\Store;
use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\Ownership;
use Larder\System\WrongUser;
use Larder\Tier\Near\ApcuNear;
use Larder\Tier\Near\Near;
use Larder\Tier\Near\SegmentNear;
use Larder\Tier\Near\StoreNear;
use Larder\Tier\PendingInvalidations;
use Larder\Tier\PurgeCounters;
use Larder\Tier\Request;
use Larder\Tier\Space;
use Larder\Tier\Truth;

/** Builds the tiers that a configuration names. */
final class Assembly
{
    /**
     * @param null|string|array<array-key, mixed> $source
     *
     * @return array{Request, Space}
     *
     * @throws InvalidConfiguration|WrongUser
     */
    public static function build(#[\SensitiveParameter] string|array|null $source): array
    {
        $options = Options::from($source);
        $failureLog = new FailureLog($options->logger);
        [$runtime, $mark] = self::place($options, $failureLog);
        $name = $options->truth->toString();
        $store = $watch = null;
        if ($runtime !== null && $options->truth->scheme === 'sqlite') {
            // Made with the first call: a request that finds all in near memory makes none.
            $watch = new SqliteWatch($runtime);
        } else {
            try {
                $store = StoreFactory::make($options->truth, $options, prepared: $runtime);
            } catch (Failure) {
                // The store's directory cannot be prepared now. Truth reports that, and tries again.
            }
        }
        // A truth tier in this process's memory needs no file of pending invalidations: no other process reads it.
        $isOwn = $options->truth->scheme === 'memory';
        $pending = new PendingInvalidations($runtime === null || $isOwn ? null : $runtime . '/kept-' . $mark, $isOwn ? null : self::spare() . '/lost-' . $mark);
        $tier = Dsn::TIERS[$options->truth->scheme];
        // What another server purges in a far tier moves no counter here.
        $purges = $runtime === null || $tier !== 'disk' ? null : new PurgeCounters("$runtime/local-$mark-purges");
        $truth = new Truth(self::reentrant($store, $name, $options->truth, $options, $runtime), $name, $pending, $failureLog, \bin2hex(\random_bytes(6)), $purges, $runtime === null ? null : "$runtime/local-$mark-trees", $watch);
        $codec = Codec::create($options->serializer, $options->compressor);
        $request = new Request(
            $truth,
            self::nears($options, $codec, $failureLog, $runtime, $mark),
            new EntrySigner($options->secret === null ? null : new Signer($options->secret), $options->prefix),
            $codec,
            (int) ($options->lease * 1000),
            $tier,
            $options->lazy,
            $runtime === null ? null : $runtime . '/local-' . $mark,
            $purges,
        );

        return [$request, new Space('', $options->cacheOnly)];
    }

    /** @param ?string $prepared see StoreFactory::make() */
    private static function reentrant(?Store $store, string $name, Dsn $dsn, Options $options, ?string $prepared): ReentrantStore
    {
        return new ReentrantStore($name, $store, static fn(bool $spare): Store => StoreFactory::make($dsn, $options, $spare, $spare ? null : $prepared));
    }

    /** @return list<Near> */
    private static function nears(Options $options, Codec $codec, FailureLog $failureLog, ?string $runtime, string $mark): array
    {
        $nears = [];
        // Near copies are not signed, so the secret is part of the name: only processes that have it find them.
        $name = $options->prefix . ':' . $mark
            . ($options->secret === null ? '' : \substr(\hash_hmac('sha256', 'near', $options->secret), 0, 16));
        foreach ([$options->near, $options->disk] as $dsn) {
            if ($dsn === null || $dsn === $options->truth) {
                continue;
            }
            try {
                if ($dsn->scheme === 'segment') {
                    // Without the disk tier's directory (another user's, or a broken one) this cache's mark is unknown.
                    if ($runtime !== null) {
                        $nears[] = new SegmentNear(SegmentPlace::open($dsn, $options->nearBudget), $name, $codec);
                    }
                } elseif ($dsn->scheme !== 'apcu') {
                    $store = self::reentrant(StoreFactory::make($dsn, $options, prepared: $runtime), $dsn->toString(), $dsn, $options, $runtime);
                    $nears[] = new StoreNear($store, 'n:' . $options->prefix, $dsn->toString(), $failureLog);
                } elseif ($runtime !== null) {
                    $nears[] = new ApcuNear($name, $runtime . '/near-' . $mark . '.lock', $options->nearBudget);
                }
            } catch (Failure $failure) {
                if ($dsn->scheme !== 'segment' || $options->segment !== 'default' || SegmentPlace::isMissed()) {
                    $failureLog->report($dsn->toString(), $failure->getMessage() . '; going on without it');
                }
            }
        }

        return $nears;
    }

    /** @return array{?string, string} the directory for lock files and pending invalidations, or null; this cache's mark */
    private static function place(Options $options, FailureLog $failureLog): array
    {
        try {
            $runtime = StoreFactory::runtime($options);
            $failureLog->noteIn($runtime . '/said');

            return [$runtime, StoreFactory::mark($options)];
        } catch (Failure $failure) {
            try {
                Directory::prepare(self::spare());
                $failureLog->noteIn(self::spare() . '/said');
            } catch (Failure|InvalidConfiguration|WrongUser) {
                // Without a file for notes, each request logs the line.
            }
            // Report it under the name of the disk tier, which lies in that directory and has failed with it.
            $failureLog->report($options->disk?->toString() ?? 'directory', $failure->getMessage() . '; going on without it');

            return [null, StoreFactory::mark($options)];
        }
    }

    /** A directory for notes that must be written while the cache's own directory cannot be. */
    private static function spare(): string
    {
        return \sys_get_temp_dir() . '/larder-' . Ownership::user();
    }
}
