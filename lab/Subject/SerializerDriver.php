<?php

declare(strict_types=1);

namespace Larder\Lab\Subject;

/**
 * No engine: a serializer and a compressor by themselves, as often as there are keys.
 *
 * write() makes the bytes, of which only the last are kept; read() makes the value of them again. gzdeflate() and
 * zstd_compress() work at their default level (6, and 3 as it is written here), LZ4 has none.
 *
 * LZ4 is the extension lz4, or horde_lz4 where there is only that one, which Debian has: both write the text's length
 * and one block of liblz4's default compression; the latter puts a letter before them, so its size is a byte more.
 */
final class SerializerDriver implements Sized
{
    private const ZSTD_LEVEL = 3;

    /** @var string serializer and compressor, joined by a colon */
    private readonly string $form;

    /** @var \Closure(string): string the one or the other LZ4; a call by it costs some 30 ns more, of microseconds */
    private readonly \Closure $compress;

    /** @var \Closure(string): string */
    private readonly \Closure $uncompress;

    /** What write() made last; false where it did not. */
    private string|false|null $bytes = null;

    /** @param array<string, string|int> $parameters serializer: php, igbinary or msgpack; compressor: none, gzdeflate, zstd or lz4 */
    public function __construct(array $parameters)
    {
        $given = new Parameters($parameters);
        $serializer = $given->serializer();
        $compressor = $given->text('compressor', 'none');
        if ($serializer === 'none') {
            throw EngineFailure::unknown('serializer', $serializer, 'php, igbinary or msgpack');
        }
        if (!\in_array($compressor, ['none', 'gzdeflate', 'zstd', 'lz4'], true)) {
            throw EngineFailure::unknown('compressor', $compressor, 'none, gzdeflate, zstd or lz4');
        }
        $this->form = "$serializer:$compressor";
        $prefix = \function_exists('lz4_compress') ? 'lz4_' : 'horde_lz4_';
        $this->compress = self::lz4($prefix . 'compress');
        $this->uncompress = self::lz4($prefix . 'uncompress');
    }

    /** @throws EngineFailure where an extension is missing, which a call would only find as an \Error */
    public function connect(): void
    {
        [$serializer, $compressor] = \explode(':', $this->form);
        foreach (SerializerSubjects::needs($serializer, $compressor) as $need) {
            if (!$need->met) {
                throw EngineFailure::off("There is not $need->what", $need->advice);
            }
        }
    }

    public function disconnect(): void {}

    public function begin(): void {}

    /** @return int<0, max> bytes that the last write() made of one value; 0 before the first */
    public function size(): int
    {
        return \strlen((string) $this->bytes);
    }

    public function write(array $keys, mixed $value): void
    {
        $bytes = $this->bytes;
        $compress = $this->compress;
        switch ($this->form) {
            case 'php:none':
                foreach ($keys as $_) {
                    $bytes = \serialize($value);
                }
                break;
            case 'php:gzdeflate':
                foreach ($keys as $_) {
                    $bytes = \gzdeflate(\serialize($value));
                }
                break;
            case 'php:zstd':
                foreach ($keys as $_) {
                    $bytes = \zstd_compress(\serialize($value), self::ZSTD_LEVEL);
                }
                break;
            case 'php:lz4':
                foreach ($keys as $_) {
                    $bytes = $compress(\serialize($value));
                }
                break;
            case 'igbinary:none':
                foreach ($keys as $_) {
                    $bytes = \igbinary_serialize($value);
                }
                break;
            case 'igbinary:gzdeflate':
                foreach ($keys as $_) {
                    $bytes = \gzdeflate((string) \igbinary_serialize($value));
                }
                break;
            case 'igbinary:zstd':
                foreach ($keys as $_) {
                    $bytes = \zstd_compress((string) \igbinary_serialize($value), self::ZSTD_LEVEL);
                }
                break;
            case 'igbinary:lz4':
                foreach ($keys as $_) {
                    $bytes = $compress((string) \igbinary_serialize($value));
                }
                break;
            case 'msgpack:none':
                foreach ($keys as $_) {
                    $bytes = \msgpack_pack($value);
                }
                break;
            case 'msgpack:gzdeflate':
                foreach ($keys as $_) {
                    $bytes = \gzdeflate(\msgpack_pack($value));
                }
                break;
            case 'msgpack:zstd':
                foreach ($keys as $_) {
                    $bytes = \zstd_compress(\msgpack_pack($value), self::ZSTD_LEVEL);
                }
                break;
            default:
                foreach ($keys as $_) {
                    $bytes = $compress(\msgpack_pack($value));
                }
        }
        $this->bytes = \is_string($bytes) || $keys === [] ? $bytes : throw EngineFailure::refused($this->form, 'make bytes of it', '');
    }

    public function read(array $keys): mixed
    {
        $bytes = $this->bytes;
        if (!\is_string($bytes)) {
            return null;
        }
        $value = null;
        $uncompress = $this->uncompress;
        switch ($this->form) {
            case 'php:none':
                foreach ($keys as $_) {
                    $value = \unserialize($bytes);
                }
                break;
            case 'php:gzdeflate':
                foreach ($keys as $_) {
                    $value = \unserialize((string) \gzinflate($bytes));
                }
                break;
            case 'php:zstd':
                foreach ($keys as $_) {
                    $value = \unserialize((string) \zstd_uncompress($bytes));
                }
                break;
            case 'php:lz4':
                foreach ($keys as $_) {
                    $value = \unserialize($uncompress($bytes));
                }
                break;
            case 'igbinary:none':
                foreach ($keys as $_) {
                    $value = \igbinary_unserialize($bytes);
                }
                break;
            case 'igbinary:gzdeflate':
                foreach ($keys as $_) {
                    $value = \igbinary_unserialize((string) \gzinflate($bytes));
                }
                break;
            case 'igbinary:zstd':
                foreach ($keys as $_) {
                    $value = \igbinary_unserialize((string) \zstd_uncompress($bytes));
                }
                break;
            case 'igbinary:lz4':
                foreach ($keys as $_) {
                    $value = \igbinary_unserialize($uncompress($bytes));
                }
                break;
            case 'msgpack:none':
                foreach ($keys as $_) {
                    $value = \msgpack_unpack($bytes);
                }
                break;
            case 'msgpack:gzdeflate':
                foreach ($keys as $_) {
                    $value = \msgpack_unpack((string) \gzinflate($bytes));
                }
                break;
            case 'msgpack:zstd':
                foreach ($keys as $_) {
                    $value = \msgpack_unpack((string) \zstd_uncompress($bytes));
                }
                break;
            default:
                foreach ($keys as $_) {
                    $value = \msgpack_unpack($uncompress($bytes));
                }
        }

        return $value;
    }

    /** @return \Closure(string): string */
    private static function lz4(string $function): \Closure
    {
        if (\is_callable($function)) {
            /** @var \Closure(string): string */
            return \Closure::fromCallable($function);
        }

        return static fn(): never => throw EngineFailure::off("There is no function $function()", 'load the extension lz4 or horde_lz4');
    }
}
