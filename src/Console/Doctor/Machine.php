<?php

declare(strict_types=1);

namespace Larder\Console\Doctor;

use Larder\Config\Extension;
use Larder\Config\Options;
use Larder\Config\SegmentPlace;
use Larder\System\MachineBoot;

/** Checks this PHP: its version, its extensions, and the tiers that they allow. */
final class Machine
{
    /** Bytes; with less, APCu keeps evicting entries of a medium site. */
    private const LEAST_SHARED_MEMORY = 67_108_864;

    /** Characters. Who has a signed value can try secrets as fast as his machines count. */
    private const LEAST_SECRET = 32;

    /** @return iterable<Finding> */
    public static function findings(Options $options): iterable
    {
        yield Finding::ok('php', \PHP_VERSION . ' (' . \PHP_SAPI . '), ' . \PHP_OS_FAMILY . '; the web may run another version with other settings');
        yield from self::extensions($options);
        yield self::tiers();
        yield self::opcache();
        yield from self::apcu($options);
        yield self::boot();
        if ($options->secret !== null && \strlen($options->secret) < self::LEAST_SECRET) {
            yield Finding::warn('short secret', 'the option "secret" has ' . \strlen($options->secret) . ' characters: a user who can read the server may try them all', 'Give one of ' . self::LEAST_SECRET . ' characters or more, for example the output of: php -r "echo bin2hex(random_bytes(32));" and keep the old one behind it in a list until its values are gone.');
        }
    }

    /** @return iterable<Finding> */
    private static function extensions(Options $options): iterable
    {
        foreach (Extension::KNOWN as $name => [$purpose]) {
            if (\extension_loaded($name)) {
                yield Finding::ok($name, ((new \ReflectionExtension($name))->getVersion() ?: 'loaded') . ': ' . $purpose);
            } elseif ($name === 'pdo_sqlite' && $options->truth->scheme === 'file' || $name === 'posix') {
                yield Finding::warn($name, 'not loaded: ' . $purpose, Extension::advice($name));
            } else {
                yield Finding::note($name, 'not loaded: ' . $purpose . '. ' . Extension::advice($name));
            }
        }
        $predis = \class_exists(\Predis\Client::class);
        yield Finding::ok('predis', $predis
            ? \Predis\Client::VERSION . ': the far tier over Redis or Valkey without an extension'
            : 'not installed: the far tier over Redis or Valkey without an extension. To install it, type "composer require predis/predis".');
    }

    private static function tiers(): Finding
    {
        $redis = \extension_loaded('redis') ? 'redis://' : '';
        $far = \array_filter([
            $redis,
            \class_exists(\Predis\Client::class) ? 'predis://' : '',
            \extension_loaded('memcached') ? 'memcached://' : '',
        ]);

        return Finding::ok(
            'tiers here',
            'request; near: ' . (\implode(', ', \array_filter([SegmentPlace::isUsable() ? 'segment://' : '', \extension_loaded('apcu') ? 'apcu://' : ''])) ?: 'none')
            . '; disk: ' . (\extension_loaded('pdo_sqlite') ? 'sqlite://, ' : '') . 'file://'
            . '; far: ' . ($far === [] ? 'none' : \implode(', ', $far)),
        );
    }

    private static function opcache(): Finding
    {
        if (!\extension_loaded('Zend OPcache')) {
            return Finding::warn('opcache', 'not loaded: every request compiles all of its code', 'Install it (on Debian type "apt install php-opcache") and restart php-fpm.');
        }
        if (!self::on('opcache.enable')) {
            return Finding::warn('opcache', 'switched off: every request compiles all of its code', 'Set opcache.enable=1 in php.ini and restart php-fpm.');
        }

        return Finding::ok('opcache', 'loaded and switched on for the web' . (self::on('opcache.enable_cli') ? ' and the command line' : ''));
    }

    /** @return iterable<Finding> */
    private static function apcu(Options $options): iterable
    {
        if (!\extension_loaded('apcu')) {
            return;
        }
        $enabled = self::on('apc.enabled');
        if (!$enabled) {
            yield Finding::warn('apc.enabled', 'APCu is loaded and switched off', 'Set apc.enabled=1 in php.ini, or drop near=apcu.');

            return;
        }
        yield Finding::ok('apc.enable_cli', self::on('apc.enable_cli')
            ? 'on: each command has an APCu of its own, which is useful only for tests; it does not show the web\'s APCu'
            : 'off, as it should be: the command line cannot see the web\'s APCu, and Larder tells the web by the journal what changed');
        $size = self::bytes((string) \ini_get('apc.shm_size'));
        $isAsked = $options->near?->scheme === 'apcu' || $options->withoutApcu;
        yield match (true) {
            $size >= self::LEAST_SHARED_MEMORY => Finding::ok('apc.shm_size', ($size >> 20) . ' MiB'),
            $isAsked => Finding::warn('apc.shm_size', ($size >> 20) . ' MiB: APCu forgets everything when it is full', 'Set apc.shm_size=128M in php.ini and restart php-fpm.'),
            default => Finding::note('apc.shm_size', ($size >> 20) . ' MiB, which is little for near=apcu; this cache does not use it'),
        };
        if ($isAsked) {
            yield Finding::warn(
                'near=apcu',
                'APCu\'s lock is not robust: a php-fpm worker that is killed while it writes can leave all others hanging',
                'Make sure that neither request_terminate_timeout nor the memory killer kills workers, and restart php-fpm if they hang; or drop near=apcu.',
            );
        }
    }

    /** Checks the boot id, by which the engines on disk tell whether the machine was restarted since they wrote. */
    private static function boot(): Finding
    {
        $file = MachineBoot::FILE;

        return \is_readable($file)
            ? Finding::ok('boot id', 'readable: after a restart of the machine the disk tier knows that it may be behind')
            : Finding::warn('boot id', $file . ' cannot be read, so Larder recognizes a restart of the machine less reliably', 'Mount /proc for the user of the web server, and add /proc/sys/kernel/random to open_basedir if that is set.');
    }

    private static function on(string $setting): bool
    {
        return \filter_var((string) \ini_get($setting), \FILTER_VALIDATE_BOOL);
    }

    /** Parses PHP's shorthand, as in 32M; a plain number in apc.shm_size means bytes (apcu: apc_globals, OnUpdateShmSize). */
    private static function bytes(string $size): int
    {
        $bytes = (int) $size;

        return match (\strtoupper(\substr($size, -1))) {
            'G' => $bytes << 30,
            'M' => $bytes << 20,
            'K' => $bytes << 10,
            default => $bytes < 1_048_576 ? $bytes << 20 : $bytes,
        };
    }
}
