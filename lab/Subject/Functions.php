<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * The functions of a serializer or of a compressor, there and back.
 *
 * A call by a closure takes some 10 ns more than one by name, and the least that is serialized takes 600. A function
 * whose extension is missing throws when it is called.
 */
final readonly class Functions
{
    /** @param \Closure(mixed): mixed $there */
    private function __construct(public \Closure $there, public \Closure $back) {}

    /** Null for "none". */
    public static function ofSerializer(string $name): ?self
    {
        return match ($name) {
            'none' => null,
            'php' => self::named('serialize', 'unserialize'),
            'igbinary' => self::named('igbinary_serialize', 'igbinary_unserialize'),
            'msgpack' => self::named('msgpack_pack', 'msgpack_unpack'),
            default => throw EngineFailure::unknown('serializer', $name, 'php, igbinary, msgpack or none'),
        };
    }

    /** Null for "none". Both LZ4 write the text's length and one block of liblz4's default compression; horde's puts a letter before them. */
    public static function ofCompressor(string $name): ?self
    {
        $lz4 = \function_exists('lz4_compress') ? 'lz4_' : 'horde_lz4_';

        return match ($name) {
            'none' => null,
            'gzdeflate' => self::named('gzdeflate', 'gzinflate'),
            'zstd' => self::named('zstd_compress', 'zstd_uncompress'),
            'lz4' => self::named($lz4 . 'compress', $lz4 . 'uncompress'),
            default => throw EngineFailure::unknown('compressor', $name, 'none, gzdeflate, zstd or lz4'),
        };
    }

    private static function named(string $there, string $back): self
    {
        return new self(...\array_map(
            static fn(string $name): \Closure => \is_callable($name) ? \Closure::fromCallable($name) : static fn(): never => throw EngineFailure::off("There is no function $name()", 'load its extension'),
            [$there, $back],
        ));
    }
}
