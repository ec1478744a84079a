<?php

declare(strict_types=1);

namespace Larder\Demo;

use Larder\Config\SegmentPlace;
use Larder\Lab\Plan\Need;
use Larder\Tests\Support\FpmServer;
use Larder\Tests\Support\MemcachedServer;
use Larder\Tests\Support\RedisServer;

/** What this machine has, and the Debian package of what it lacks. */
enum Part
{
    case Segment;
    case Apcu;
    case Sqlite;
    case Fpm;
    case Nginx;
    case Redis;
    case PhpRedis;
    case Predis;
    case Memcached;

    /** @return list<string> what nothing works without, for people */
    public static function indispensable(): array
    {
        $missing = [];
        foreach (['pcntl', 'posix'] as $extension) {
            if (!\extension_loaded($extension)) {
                $missing[] = 'the PHP extension ' . $extension . ' (in Debian\'s php' . \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION . '-cli)';
            }
        }
        if (\trim((string) \shell_exec('command -v setpriv')) === '') {
            $missing[] = 'setpriv (apt-get install util-linux)';
        }

        return $missing;
    }

    public function isHere(): bool
    {
        return match ($this) {
            self::Segment => SegmentPlace::isUsable(),
            self::Apcu => \function_exists('apcu_enabled') && \apcu_enabled(),
            self::Sqlite => \extension_loaded('pdo_sqlite'),
            self::Fpm => FpmServer::isAvailable(),
            self::Nginx => Need::find(['nginx']) !== null,
            self::Redis => RedisServer::program() !== null,
            self::PhpRedis => \extension_loaded('redis'),
            self::Predis => \class_exists(\Predis\Client::class),
            self::Memcached => MemcachedServer::installed(),
        };
    }

    /** What to type. */
    public function advice(): string
    {
        $php = 'php' . \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION . '-';

        return match ($this) {
            self::Segment => 'make ext, then make demo',
            self::Predis => 'composer require --dev predis/predis',
            default => 'apt-get install ' . match ($this) {
                self::Apcu => $php . 'apcu',
                self::Sqlite => $php . 'sqlite3',
                self::Fpm => $php . 'fpm',
                self::Nginx => 'nginx',
                self::Redis => 'redis-server',
                self::PhpRedis => $php . 'redis',
                self::Memcached => 'memcached',
            },
        };
    }

    /** For people. */
    public function label(): string
    {
        return match ($this) {
            self::Segment => 'the extension larder',
            self::Apcu => 'APCu',
            self::Sqlite => 'pdo_sqlite',
            self::Fpm => 'php-fpm',
            self::Nginx => 'nginx',
            self::Redis => 'redis-server',
            self::PhpRedis => 'the extension redis',
            self::Predis => 'Predis',
            self::Memcached => 'memcached',
        };
    }
}
