<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;

/** The subjects of the scenario `serializers`: each serializer with each compressor, and the segment, which needs neither. */
final class SerializerSubjects
{
    private const SERIALIZERS = ['php', 'igbinary', 'msgpack'];
    private const COMPRESSORS = ['none', 'gzdeflate', 'zstd', 'lz4'];

    /** The extensions' own defaults, in case a php.ini says otherwise; the second is what objects come back by. */
    private const INI = [
        'memory_limit' => '1G',
        'display_errors' => 'stderr',
        'opcache.enable' => 1,
        'opcache.enable_cli' => 1,
        'igbinary.compact_strings' => 1,
        'msgpack.php_only' => 1,
    ];

    /** @return list<Subject> */
    public static function all(): array
    {
        $subjects = [];
        foreach (self::SERIALIZERS as $serializer) {
            foreach (self::COMPRESSORS as $compressor) {
                $subjects[] = new Subject(
                    "$serializer:$compressor",
                    $serializer,
                    Cell::PROCESS,
                    $serializer,
                    $compressor,
                    self::needs($serializer, $compressor),
                    SerializerDriver::class,
                    ['serializer' => $serializer, 'compressor' => $compressor],
                    null,
                    self::INI,
                );
            }
        }

        $subjects[] = new Subject(
            'segment:none',
            'segment',
            Cell::PROCESS,
            'segment',
            'none',
            [LarderExtension::need()],
            SegmentFormDriver::class,
            ['serializer' => 'none', 'shared' => 1],
            null,
            LarderExtension::ini() + self::INI,
        );

        return $subjects;
    }

    /** @return list<Need> what the two take, there or not */
    public static function needs(string $serializer, string $compressor): array
    {
        $needs = $serializer === 'php' ? [] : [Need::extension($serializer)];

        return \array_merge($needs, match ($compressor) {
            'gzdeflate' => [Need::extension('zlib', 'a PHP built --with-zlib, as all of Debian\'s are')],
            'zstd' => [Need::extension('zstd', self::zstd())],
            'lz4' => [Need::that(\extension_loaded('lz4') || \extension_loaded('horde_lz4'), 'the PHP extension lz4 or horde_lz4', self::lz4())],
            default => [],
        });
    }

    /** Debian's package is made for the one PHP of its suite. */
    private static function zstd(): string
    {
        return self::php() === '8.4'
            ? 'apt-get install php8.4-zstd (Debian has it from version 13, trixie, on), elsewhere pecl install zstd'
            : \sprintf('apt-get install php-pear php%s-dev && pecl install zstd (Debian has a package, php8.4-zstd, from version 13, trixie, on)', self::php());
    }

    /** No Debian package has the extension lz4 itself. */
    private static function lz4(): string
    {
        return match (self::php()) {
            '8.2' => 'apt-get install php-horde-lz4 (Debian 12, bookworm), elsewhere pie install kjdev/lz4',
            '8.4' => 'pie install kjdev/lz4, or apt-get install php-horde-lz4 (Debian sid; version 13, trixie, does not have it)',
            default => 'pie install kjdev/lz4',
        };
    }

    private static function php(): string
    {
        return \PHP_MAJOR_VERSION . '.' . \PHP_MINOR_VERSION;
    }
}
