<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

use Larder\Lab\Plan\Need;

/**
 * No engine: a serializer and a compressor by themselves, as often as there are keys.
 *
 * write() makes the bytes, of which only the last are kept; read() makes the value of them again. gzdeflate() and
 * zstd_compress() work at their default level (6, and 3), LZ4 has none.
 */
final class SerializerDriver extends Driver
{
    private readonly string $serializer;
    private readonly string $compressor;
    private readonly Functions $serialize;
    private readonly ?Functions $compress;

    /** What write() made last; null before. */
    private ?string $bytes = null;

    /** @param array<string, string|int> $parameters serializer: php, igbinary or msgpack; compressor: none, gzdeflate, zstd or lz4 */
    public function __construct(array $parameters)
    {
        $given = new Parameters($parameters);
        $this->serializer = $given->serializer();
        $this->compressor = $given->text('compressor', 'none');
        $this->serialize = Functions::ofSerializer($this->serializer) ?? throw EngineFailure::unknown('serializer', 'none', 'php, igbinary or msgpack');
        $this->compress = Functions::ofCompressor($this->compressor);
    }

    /** @throws EngineFailure where an extension is missing */
    public function connect(): void
    {
        foreach (self::needs($this->serializer, $this->compressor) as $need) {
            if (!$need->met) {
                throw EngineFailure::off("There is not $need->what", $need->advice);
            }
        }
    }

    public function size(): int
    {
        return \strlen((string) $this->bytes);
    }

    public function write(array $values): void
    {
        $bytes = $this->bytes;
        $serialize = $this->serialize->there;
        if ($this->compress === null) {
            foreach ($values as $value) {
                $bytes = $serialize($value);
            }
        } else {
            $compress = $this->compress->there;
            foreach ($values as $value) {
                $bytes = $compress($serialize($value));
            }
        }
        $this->bytes = \is_string($bytes) || $bytes === null ? $bytes : throw EngineFailure::refused("$this->serializer:$this->compressor", 'make bytes of it', '');
    }

    public function read(array $keys): mixed
    {
        $bytes = $this->bytes;
        if ($bytes === null) {
            return null;
        }
        $value = null;
        $unserialize = $this->serialize->back;
        if ($this->compress === null) {
            foreach ($keys as $_) {
                $value = $unserialize($bytes);
            }
        } else {
            $uncompress = $this->compress->back;
            foreach ($keys as $_) {
                $value = $unserialize($uncompress($bytes));
            }
        }

        return $value;
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
