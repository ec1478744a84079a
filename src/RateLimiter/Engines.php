<?php

declare(strict_types=1);

namespace Larder\RateLimiter;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of rate limits stands here. */
final class Engines
{
    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration|WrongUser|RateLimiterFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source): Engine
    {
        [$dsn, $options] = KeepingDsn::read($source, [], 'sqlite:///var/lib/app/limits');
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold rate limits, because it may forget. Write sqlite:///directory or redis://host.");
        }
        $timeout = KeepingDsn::timeout($options);
        $dsn->needs();
        if ($dsn->scheme !== 'sqlite') {
            return new RedisEngine(KeepingDsn::shards($dsn, $options, $timeout, RateLimiterFailure::class));
        }
        $directory = KeepingDsn::directory($dsn, RateLimiterFailure::class);

        return new SqliteEngine($directory, $timeout);
    }
}
