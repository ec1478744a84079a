<?php

declare(strict_types=1);

namespace Larder\Session;

use Larder\Config\Dsn;
use Larder\Config\InvalidConfiguration;
use Larder\Config\KeepingDsn;
use Larder\Config\Options;
use Larder\System\WrongUser;

/** Makes the engine that a DSN and options name; every default of sessions stands here. */
final class Engines
{
    private const KNOWN = ['ttl', 'lock', 'wait', 'replicas'];

    /** Seconds. */
    private const WAIT = 30.0;

    /**
     * @param string|array<array-key, mixed> $source
     *
     * @return array{Engine, float, ?float} the engine, seconds to wait for a session, and seconds that one lives (null: as PHP says)
     *
     * @throws InvalidConfiguration|WrongUser|SessionFailure
     */
    public static function make(#[\SensitiveParameter] string|array $source): array
    {
        [$dsn, $options] = KeepingDsn::read($source, self::KNOWN, 'sqlite:///var/lib/app/sessions');
        if (!\in_array($dsn->scheme, Dsn::KEEPING, true)) {
            throw new InvalidConfiguration("\"{$dsn->toString()}\" cannot hold sessions, because it may forget, and its users would be logged out. Write sqlite:///directory or redis://host.");
        }
        $timeout = KeepingDsn::timeout($options);
        $wait = isset($options['wait']) ? Options::seconds('wait', $options['wait'], '30') : self::WAIT;
        $ttl = isset($options['ttl']) ? Options::seconds('ttl', $options['ttl'], '1440') : null;
        $locks = !isset($options['lock']) || Options::flag('lock', $options['lock']);
        $dsn->needs();
        if ($dsn->scheme !== 'sqlite') {
            return [new RedisEngine(KeepingDsn::shards($dsn, $options, $timeout, SessionFailure::class), $locks), $wait, $ttl];
        }
        $directory = KeepingDsn::directory($dsn, SessionFailure::class);

        return [new SqliteEngine($directory, $timeout, $locks), $wait, $ttl];
    }
}
