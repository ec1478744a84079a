<?php

declare(strict_types=1);

namespace Larder\Lock;

use Larder\Config\Directory;
use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Config\Options;
use Larder\System\Failure;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of locks stands here. */
final class Engines
{
    private const KNOWN = ['replicas'];

    /** Seconds. */
    private const TIMEOUT = 5.0;

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @throws InvalidConfiguration|WrongUser|LockFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source): Engine
    {
        [$dsn, $options] = KeepingDsn::read($source, self::KNOWN, 'sqlite:///var/lib/app/locks', isNamed: false);
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold locks, because it may forget. Write sqlite:///directory or redis://host; for a lock that may vanish use Cache::add().");
        }
        $timeout = isset($options['timeout']) ? Options::seconds('timeout', $options['timeout'], '5') : self::TIMEOUT;
        KeepingDsn::replicas($dsn, $options);
        $dsn->needs();
        if ($dsn->scheme !== 'sqlite') {
            return new RedisEngine(KeepingDsn::shards($dsn, $options, $timeout, LockFailure::class));
        }
        $directory = $dsn->path === '' ? Directory::default() . '/locks' : $dsn->path;
        try {
            Directory::prepare($directory);
        } catch (Failure $failure) {
            throw new LockFailure($failure->getMessage(), 0, $failure);
        }

        return new SqliteEngine($directory, $timeout);
    }
}
