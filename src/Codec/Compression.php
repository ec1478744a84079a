<?php

declare(strict_types=1);

namespace Larder\Codec;

/**
 * The compressors. Every compressed body starts with the original's length in 4 bytes, big-endian. Decompression stops
 * there, so that a few hostile or damaged bytes cannot take all of the memory.
 */
final class Compression
{
    public const NONE = Codec::UNCOMPRESSED;
    public const ZSTD = 1;
    public const LZ4 = 2;
    public const GZIP = 3;

    public const NAMES = ['none' => self::NONE, 'zstd' => self::ZSTD, 'lz4' => self::LZ4, 'gzip' => self::GZIP];

    /** Bytes of the longest original; a longer one is stored uncompressed. */
    public const LONGEST = 536_870_912;

    /** The function that must exist, and the extension that provides it. */
    private const NEEDS = [
        self::ZSTD => ['zstd_uncompress', 'zstd'],
        self::LZ4 => ['lz4_uncompress', 'lz4'],
        self::GZIP => ['gzinflate', 'zlib'],
    ];

    /** The extension to install for this compressor; null: the compressor can be used. */
    public static function missing(int $compressor): ?string
    {
        $needs = self::NEEDS[$compressor] ?? null;

        return $needs === null || \function_exists($needs[0]) ? null : $needs[1];
    }

    /** The compressed body; null: it would not become shorter. */
    public static function shrink(int $compressor, string $body): ?string
    {
        $length = \strlen($body);
        if ($length > self::LONGEST) {
            return null;
        }
        $short = match ($compressor) {
            self::ZSTD => \zstd_compress($body),
            // PHPStan has no stub of this extension.
            // @phpstan-ignore function.notFound
            self::LZ4 => \lz4_compress($body),
            // Level 1: higher ones cost several times as much for a few per cent.
            self::GZIP => \gzdeflate($body, 1),
            default => false,
        };

        return \is_string($short) && \strlen($short) + 4 < $length ? \pack('N', $length) . $short : null;
    }

    /**
     * Returns the original. May raise PHP warnings, which the caller must hide.
     *
     * @throws Undecodable
     */
    public static function expand(int $compressor, string $data): string
    {
        $extension = self::missing($compressor);
        if ($extension !== null) {
            throw Undecodable::because("it was compressed with {$extension}, which this PHP does not have; install ext-{$extension}, or flush.");
        }
        $head = \strlen($data) >= 4 ? \unpack('N', $data) : false;
        $length = $head === false ? null : $head[1];
        if (!\is_int($length) || $length > self::LONGEST) {
            throw Undecodable::because('its length is damaged or above 512 MB.');
        }
        $short = \substr($data, 4);
        $body = match ($compressor) {
            self::ZSTD => self::zstdLength($short) === $length ? \zstd_uncompress($short) : false,
            // The extension puts the length in 4 bytes, little-endian, before the block and allocates that much.
            // @phpstan-ignore function.notFound
            self::LZ4 => \substr($short, 0, 4) === \pack('V', $length) ? \lz4_uncompress($short) : false,
            self::GZIP => \gzinflate($short, $length),
            default => false,
        };
        if (!\is_string($body) || \strlen($body) !== $length) {
            throw Undecodable::because('its compressed bytes are damaged.');
        }

        return $body;
    }

    /**
     * The content size that a zstd frame declares (RFC 8878 section 3.1.1.1), which is what the extension allocates;
     * null if it declares none: then the extension would decompress without a bound.
     */
    private static function zstdLength(string $frame): ?int
    {
        if (\strlen($frame) < 18) {
            $frame = \str_pad($frame, 18, "\0");
        }
        if (\substr($frame, 0, 4) !== "\x28\xB5\x2F\xFD") {
            return null;
        }
        $descriptor = \ord($frame[4]);
        $single = ($descriptor >> 5) & 1;
        $at = 5 + (1 - $single) + [0, 1, 2, 4][$descriptor & 3];
        [$code, $plus] = match ($descriptor >> 6) {
            0 => [$single === 1 ? 'C' : '', 0],
            1 => ['v', 256],
            2 => ['V', 0],
            default => ['P', 0],
        };
        $size = $code === '' ? false : \unpack($code, $frame, $at);

        return $size !== false && \is_int($size[1]) ? $size[1] + $plus : null;
    }
}
