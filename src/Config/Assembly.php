<?php

declare(strict_types=1);

namespace Larder\Config;

use Larder\Codec\Codec;
use Larder\Codec\Signer;
use Larder\Store\Memory;
use Larder\Store\StoreFailure;
use Larder\Tier\Alarm;
use Larder\Tier\ApcuNear;
use Larder\Tier\Envelope;
use Larder\Tier\Kept;
use Larder\Tier\Near;
use Larder\Tier\Space;
use Larder\Tier\StoreNear;
use Larder\Tier\Tiers;
use Larder\Tier\Truth;

/** From what was asked for to tiers that stand on each other. */
final class Assembly
{
    /**
     * @param null|string|array<array-key, mixed> $source
     *
     * @return array{Tiers, Space}
     *
     * @throws InvalidConfiguration|WrongUser
     */
    public static function build(#[\SensitiveParameter] string|array|null $source): array
    {
        $options = Options::from($source);
        $alarm = new Alarm($options->logger);
        $name = $options->truth->toString();
        try {
            $store = StoreFactory::make($options->truth, $options);
        } catch (StoreFailure $failure) {
            // The place for it cannot be had now: the request goes on with memory of its own.
            $alarm->ring($name, $failure->getMessage() . '; going on without it');
            $store = new Memory($options->nearBudget);
        }
        $truth = new Truth($store, $name, new Kept(self::keptFile($options)), $alarm, \bin2hex(\random_bytes(6)));
        $tiers = new Tiers(
            $truth,
            self::nears($options, $alarm),
            new Envelope($options->secret === null ? null : new Signer($options->secret)),
            Codec::create($options->serializer, $options->compressor),
            (int) ($options->lease * 1000),
            $name,
        );

        return [$tiers, new Space('', $options->cacheOnly)];
    }

    /** @return list<Near> */
    private static function nears(Options $options, Alarm $alarm): array
    {
        $nears = [];
        foreach ([$options->near, $options->disk] as $dsn) {
            if ($dsn === null || $dsn === $options->truth) {
                continue;
            }
            try {
                $nears[] = $dsn->scheme === 'apcu'
                    ? self::apcu($options)
                    : new StoreNear(StoreFactory::make($dsn, $options), 'n:' . $options->prefix);
            } catch (StoreFailure $failure) {
                $alarm->ring($dsn->toString(), $failure->getMessage() . '; going on without it');
            }
        }

        return $nears;
    }

    private static function apcu(Options $options): ApcuNear
    {
        $mark = StoreFactory::mark($options);

        return new ApcuNear(
            $options->prefix . ':' . $mark,
            StoreFactory::runtime($options) . '/near-' . $mark . '.lock',
            $options->nearBudget,
        );
    }

    /** Only what others can see can be missed by them: a truth that dies with the process keeps nothing. */
    private static function keptFile(Options $options): ?string
    {
        if ($options->truth->scheme === 'memory') {
            return null;
        }
        try {
            return StoreFactory::runtime($options) . '/kept-' . StoreFactory::mark($options);
        } catch (StoreFailure) {
            return null;
        }
    }
}
