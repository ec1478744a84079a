<?php

declare(strict_types=1);

namespace Larder\Config;

/** The PHP extensions that Larder can use, and how to install them. */
final class Extension
{
    /** Extension to its purpose, its Debian package ('': none), its PECL package ('': comes with PHP). */
    public const KNOWN = [
        'pdo_sqlite' => ['the default disk tier', 'php-sqlite3', ''],
        'larder' => ['the near tier in shared memory, read in place (near=segment)', '', ''],
        'apcu' => ['a near tier in shared memory (near=apcu)', 'php-apcu', 'apcu'],
        'redis' => ['the far tier over Redis or Valkey', 'php-redis', 'redis'],
        'igbinary' => ['smaller values, read faster', 'php-igbinary', 'igbinary'],
        'msgpack' => ['a serializer that other languages can read', 'php-msgpack', 'msgpack'],
        'zstd' => ['fast compression to small sizes', '', 'zstd'],
        'lz4' => ['the fastest compression', '', 'lz4'],
        'zlib' => ['compression with gzip', 'php-common', ''],
        'posix' => ['telling which user this process runs as', 'php-common', ''],
        'pcntl' => ['a live display that exits cleanly', 'php-cli', ''],
    ];

    public static function advice(string $extension): string
    {
        if ($extension === 'larder') {
            return 'To install it, type "pie install larder/ext:' . SegmentPlace::SERIES . '*" (in a checkout of Larder "make ext", and load ext/modules/larder.so in php.ini); then restart php-fpm.';
        }
        [, $debian, $pecl] = self::KNOWN[$extension] ?? ['', '', $extension];
        $ways = [];
        if ($debian !== '') {
            $ways[] = 'on Debian or Ubuntu type "apt install ' . $debian . '"';
        }
        if ($pecl !== '') {
            $ways[] = ($debian === '' ? '' : 'elsewhere ') . 'type "pecl install ' . $pecl . '"';
        } else {
            $ways[] = 'elsewhere enable it in php.ini, as it comes with PHP';
        }

        return 'To install it, ' . \implode(', ', $ways) . '; then restart php-fpm.';
    }
}
