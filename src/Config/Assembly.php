<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Codec\Classes;
use Larder\Codec\Codec;
use Larder\Codec\EntrySigner;
use Larder\Codec\Signer;
use Larder\Near\ApcuNear;
use Larder\Near\Near;
use Larder\Near\SegmentNear;
use Larder\Near\StoreNear;
use Larder\Request\Observer;
use Larder\Request\Request;
use Larder\Request\Space;
use Larder\Request\Truth;
use Larder\Store\OutageGuard;
use Larder\Store\PendingInvalidations;
use Larder\Store\Sqlite\SqliteWatch;
use Larder\Store\Store;
use Larder\System\CountLog;
use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\Ownership;
use Larder\System\WrongUser;

/** Builds the tiers that a configuration names. */
final class Assembly
{
    /**
     * @param null|string|array<array-key, mixed> $source
     * @param ?Store                              $given  the truth tier in place of a store in memory, which $source names; its clock may stand still
     *
     * @return array{Request, Space}
     *
     * @throws InvalidConfiguration|WrongUser
     */
    public static function build(#[\SensitiveParameter] string|array|null $source, ?Store $given = null): array
    {
        $options = Options::from($source);
        $user = Ownership::user();
        // For notes that must be written while the cache's own directory cannot be.
        $shared = \sys_get_temp_dir() . '/larder-' . $user;
        $truth = $options->truth;
        $tier = Dsn::TIERS[$truth->scheme];
        try {
            $runtime = StoreFactory::runtime($options);
            $failureLog = new FailureLog($options->logger, $runtime . '/said');
        } catch (Failure $failure) {
            $runtime = null;
            $failureLog = self::reportedIn($shared, $failure, $options);
        }
        $name = $truth->toString();
        $mark = StoreFactory::markOf($options->prefix, $tier !== 'disk' ? $truth->place() : $runtime ?? StoreFactory::directory($truth, $options), $user);
        $store = $watch = null;
        if ($runtime !== null && $truth->scheme === 'sqlite') {
            // Made with the first call: a request that finds all in near memory makes none.
            $watch = new SqliteWatch($runtime);
        } else {
            try {
                $store = $given ?? StoreFactory::make($truth, $options, $runtime);
            } catch (Failure) {
                // The store's directory cannot be prepared now. Truth reports that, and tries again.
            }
        }
        // A truth tier in this process's memory needs no file of pending invalidations: no other process reads it.
        $isOwn = $truth->scheme === 'memory';
        $classes = $options->classes === true && !$options->fingerprint ? null : new Classes($options->classes, $options->fingerprint);
        $codec = Codec::create($options->serializer, $options->compressor, classes: $classes);
        $local = $runtime === null ? null : "$runtime/local-$mark";
        $guard = new OutageGuard(
            $name,
            $store,
            static fn(): Store => $given ?? StoreFactory::make($truth, $options, $runtime),
            $failureLog,
            new PendingInvalidations($runtime === null || $isOwn ? null : "$runtime/kept-$mark", $isOwn ? null : "$shared/lost-$mark", $options->timeout),
            // What another server purges in a far tier moves no counter here.
            $local === null || $tier !== 'disk' ? null : "$local-purges",
            $local === null ? null : "$local-trees",
        );
        $request = new Request(
            new Truth($guard, \bin2hex(\random_bytes(6)), $watch, $given === null ? Truth::COMPARED : 0),
            self::near($options, $codec, $failureLog, $runtime, $mark),
            $options->secret === null ? null : new EntrySigner(new Signer([$options->secret, ...$options->formerSecrets]), $options->prefix),
            $codec,
            (int) ($options->lease * 1000),
            $tier,
            $options->lazy,
            $local,
            observer: $options->metrics || $options->events !== null ? self::observer($options, $guard, $failureLog, $local, $tier) : null,
        );

        return [$request, new Space('', $options->cacheOnly)];
    }

    private static function observer(Options $options, OutageGuard $guard, FailureLog $failureLog, ?string $local, string $last): Observer
    {
        $observer = new Observer($options->metrics && $local !== null ? new CountLog($local . Observer::FILE) : null, $options->events, $failureLog, $last);
        if ($options->events !== null) {
            $guard->called = $observer->called(...);
            $guard->hasFailed = $observer->failed(...);
        }

        return $observer;
    }

    private static function near(Options $options, Codec $codec, FailureLog $failureLog, ?string $runtime, string $mark): ?Near
    {
        $dsn = $options->near;
        if ($dsn === null || ($runtime === null && $dsn->scheme !== 'sqlite')) {
            // Without the disk tier's directory (another user's, or a broken one) this cache's mark is unknown.
            return null;
        }
        // Near copies are not signed, so the secrets are part of the name: only processes that read what any of these has signed,
        // and nothing else, find them. Of which one is the first, copies do not tell.
        $by = '';
        if ($options->secret !== null) {
            $secrets = [$options->secret, ...$options->formerSecrets];
            \sort($secrets, \SORT_STRING);
            $by = 'near';
            foreach ($secrets as $secret) {
                $by = \substr(\hash_hmac('sha256', $by, $secret), 0, 16);
            }
        }
        $name = $options->prefix . ':' . $mark . $by;
        try {
            if ($dsn->scheme !== 'sqlite') {
                return $dsn->scheme === 'apcu'
                    ? new ApcuNear($name, $runtime . '/near-' . $mark . '.lock', $options->nearBudget)
                    : new SegmentNear(SegmentPlace::open($dsn, $options->nearBudget), $name, $codec);
            }
            $make = static fn(): Store => StoreFactory::make($dsn, $options, $runtime);

            return new StoreNear($make(), 'n:' . $options->prefix . ($by === '' ? '' : ":$by"), $dsn->toString(), $failureLog, $make);
        } catch (Failure $failure) {
            if (!$failure instanceof NoRoom && ($dsn->scheme !== 'segment' || $options->segment !== 'default' || SegmentPlace::isMissed())) {
                $failureLog->report($dsn->toString(), $failure->getMessage() . '; going on without it');
            }

            return null;
        }
    }

    /** The failure log, without the cache's own directory. Reports why that cannot be used. */
    private static function reportedIn(string $shared, Failure $failure, Options $options): FailureLog
    {
        $notes = "$shared/said";
        try {
            Directory::prepare($shared);
        } catch (Failure|InvalidConfiguration|WrongUser) {
            // Without a file for notes, each request logs the line.
            $notes = null;
        }
        $failureLog = new FailureLog($options->logger, $notes);
        // Report it under the name of the disk tier, which lies in that directory and has failed with it.
        $failureLog->report($options->disk?->toString() ?? 'directory', $failure->getMessage() . '; going on without it');

        return $failureLog;
    }
}
