<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

use Larder\Config\Directory;
use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Config\Options;
use Larder\System\Failure;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of rate limits stands here. */
final class Engines
{
    /** Seconds. */
    private const TIMEOUT = 5.0;

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration|WrongUser|RateLimiterFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source): Engine
    {
        [$dsn, $options] = KeepingDsn::read($source, [], 'sqlite:///var/lib/app/limits', isNamed: false);
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold rate limits, because it may forget. Write sqlite:///directory or redis://host.");
        }
        $timeout = isset($options['timeout']) ? Options::seconds('timeout', $options['timeout'], '5') : self::TIMEOUT;
        $dsn->needs();
        if ($dsn->scheme !== 'sqlite') {
            return new RedisEngine(KeepingDsn::shards($dsn, $options, $timeout, RateLimiterFailure::class));
        }
        $directory = $dsn->path === '' ? Directory::default() . '/limits' : $dsn->path;
        try {
            Directory::prepare($directory);
        } catch (Failure $failure) {
            throw new RateLimiterFailure($failure->getMessage(), 0, $failure);
        }

        return new SqliteEngine($directory, $timeout);
    }
}
