<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of locks stands here. */
final class Engines
{
    private const KNOWN = ['replicas'];

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration|WrongUser|LockFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source): Engine
    {
        [$dsn, $options] = KeepingDsn::read($source, self::KNOWN, 'sqlite:///var/lib/app/locks');
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold locks, because it may forget. Write sqlite:///directory or redis://host; for a lock that may vanish use Cache::add().");
        }
        $timeout = KeepingDsn::timeout($options);
        $dsn->needs();
        if ($dsn->scheme !== 'sqlite') {
            return new RedisEngine(KeepingDsn::shards($dsn, $options, $timeout, LockFailure::class));
        }
        $directory = KeepingDsn::directory($dsn, LockFailure::class);

        return new SqliteEngine($directory, $timeout);
    }
}
