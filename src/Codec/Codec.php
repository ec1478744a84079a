<?php

declare(strict_types=1);

namespace Larder\Codec;

use Larder\System\Quiet;

/**
 * Turns values into bytes and back without changing them.
 *
 * This folder holds serializers, compressors, signatures and the format of entries. It knows nothing of engines.
 *
 * The first byte tells how to decode the rest, whatever the configuration is by then:
 *
 *      bit 7          bit 6      bits 5 4      bits 3 2 1 0
 *      fingerprint    snapshot   compressor    type
 *
 * A snapshot holds objects or PHP references, so every reader must decode it anew. Any other value may be decoded once and
 * shared. Strings are stored as they are and never reach unserialize().
 *
 * With a fingerprint, the body begins with that of its classes, 8 bytes (see Classes); only php's snapshots have one.
 *
 * A checksum follows the first byte of serialized and compressed values, since igbinary 3.2 crashes the process on some
 * damaged bytes. It costs 3 % of a decode. A compressed body starts with the length of the original (see Compression).
 */
final class Codec
{
    /** The whole first byte of values that need no serializer. */
    public const STRING = "\x00";
    private const INT = "\x01";
    public const NULL = "\x02";
    private const FALSE = "\x03";
    private const TRUE = "\x04";
    private const FLOAT = "\x05";

    /** Types in bits 0 to 3; the string's is 0. */
    private const PHP = 6;
    private const IGBINARY = 7;
    private const MSGPACK = 8;
    private const COMPRESSOR = 0x30;
    private const SNAPSHOT = 0x40;
    private const PRINTED = 0x80;

    /** The least first byte of a snapshot, which each reader must decode anew. */
    public const SNAPSHOTS = "\x40";

    /** First byte, and the checksum's mark, of an array without objects that igbinary has serialized; and how igbinary 2 and 3 begin. */
    private const PLAIN = "\x07";
    private const PLAIN_SUM = self::IGBINARY * 0x9E3779B1 & 0xFFFFFFFF;
    private const IGBINARY_2 = "\x00\x00\x00\x02";

    /** With SNAPSHOT: all objects are stdClass, so that decoding need not check whether their class is loaded. */
    private const PHP_STANDARD = 9;
    private const IGBINARY_STANDARD = 10;

    /** Compression::NONE, for a codec that does not need that class. */
    public const UNCOMPRESSED = 0;

    private const SERIALIZERS = ['php' => self::PHP, 'igbinary' => self::IGBINARY, 'msgpack' => self::MSGPACK];

    private function __construct(
        private readonly int $serializer,
        private readonly int $compressor,
        private readonly int $threshold,
        /** Null: all classes are allowed, whatever is declared in them. */
        private readonly ?Classes $classes,
    ) {}

    /**
     * @param ?string $serializer php, igbinary or msgpack; null: igbinary if it is loaded, else php
     * @param ?string $compressor none, zstd, lz4 or gzip; null: none
     * @param int     $threshold  encoded bytes from which on values are compressed
     * @param ?Classes $classes   judges objects, which php serializes then; if it restricts them, php serializes everything
     *
     * @throws \InvalidArgumentException an unknown name, or an extension that is not loaded
     */
    public static function create(?string $serializer, ?string $compressor, int $threshold = 4096, ?Classes $classes = null): self
    {
        $serializer ??= $classes?->restricts() === true ? 'php' : null;
        // igbinary is the fastest to read and keeps every type; msgpack does not keep all (see encode()).
        $type = $serializer === null ? (\extension_loaded('igbinary') ? self::IGBINARY : self::PHP) : self::SERIALIZERS[$serializer]
            ?? throw new \InvalidArgumentException("Unknown serializer \"{$serializer}\": use php, igbinary or msgpack, or leave it out for the fastest that is loaded.");
        if ($serializer !== null && $type !== self::PHP && !\extension_loaded($serializer)) {
            throw new \InvalidArgumentException("The serializer {$serializer} needs ext-{$serializer}, which this PHP does not have: install it, or leave the option out.");
        }
        $by = $compressor === null ? self::UNCOMPRESSED : Compression::NAMES[$compressor]
            ?? throw new \InvalidArgumentException("Unknown compressor \"{$compressor}\": use none, zstd, lz4 or gzip.");
        $extension = $compressor === null ? null : Compression::missing($by);
        if ($extension !== null) {
            throw new \InvalidArgumentException("The compressor {$compressor} needs ext-{$extension}, which this PHP does not have: install it, or use gzip or none.");
        }
        if ($threshold < 0) {
            throw new \InvalidArgumentException("The compression threshold is {$threshold} bytes: use 0 or more.");
        }

        return new self($type, $by, $threshold, $classes);
    }

    /**
     * Encodes a value. msgpack gets an array only if it would return the same: it has no references, and changes objects and
     * some arrays. Other values are serialized by php then.
     *
     * @throws NotStorable
     */
    public function encode(mixed $value): string
    {
        $mark = 0;
        if (\is_string($value)) {
            if ($this->compressor === self::UNCOMPRESSED || \strlen($value) < $this->threshold) {
                return self::STRING . $value;
            }
            $body = $value;
        } elseif (\is_array($value)) {
            $arrays = 0;
            $found = Inspection::glance($value, $arrays);
            $body = $found === Inspection::PLAIN ? $this->plain($value, $mark) : $this->special($value, $mark);
        } elseif (\is_int($value)) {
            return self::INT . $value;
        } elseif ($value === null) {
            return self::NULL;
        } elseif (\is_bool($value)) {
            return $value ? self::TRUE : self::FALSE;
        } elseif (\is_float($value)) {
            return self::FLOAT . \pack('E', $value);
        } else {
            $body = $this->special($value, $mark);
        }
        if ($this->compressor !== self::UNCOMPRESSED && \strlen($body) >= $this->threshold) {
            $short = Compression::shrink($this->compressor, $body);
            if ($short !== null) {
                $mark |= $this->compressor << 4;
                $body = $short;
            } elseif ($mark === 0) {
                return self::STRING . $body;
            }
        }

        return \chr($mark) . self::checksum($mark, $body) . $body;
    }

    /** 4 bytes over the mark and the body. crc32() is the fastest there is: 1.6 microseconds for 37 kB. */
    private static function checksum(int $mark, string $body): string
    {
        return \pack('N', \crc32($body) ^ ($mark * 0x9E3779B1 & 0xFFFFFFFF));
    }

    /** Whether each reader must get its own copy by decode(). */
    public static function isSnapshot(string $data, int $offset = 0): bool
    {
        return isset($data[$offset]) && $data[$offset] >= self::SNAPSHOTS;
    }

    /**
     * Decodes the value from $offset to the end.
     *
     * @throws Undecodable and nothing else; hides PHP's warnings, and those of classes that wake up
     */
    public function decode(string $data, int $offset = 0): mixed
    {
        if (!isset($data[$offset])) {
            throw Undecodable::because('it is empty.');
        }
        $mark = $data[$offset];
        if ($mark === self::STRING) {
            return \substr($data, $offset + 1);
        }
        if ($mark === self::PLAIN && $this->serializer === self::IGBINARY && isset($data[$offset + 9])) {
            // Most arrays: without a call, for its bytes are known to be right, so that igbinary has nothing to warn of.
            $body = \substr($data, $offset + 5);
            if (\substr_compare($data, \pack('N', \crc32($body) ^ self::PLAIN_SUM), $offset + 1, 4) === 0 && \str_starts_with($body, self::IGBINARY_2)) {
                $value = \igbinary_unserialize($body);
                if (\is_array($value)) {
                    return $value;
                }
            }
        }
        if ($mark > self::FLOAT) {
            return $this->body(\ord($mark), $data, $offset + 1);
        }
        $rest = \substr($data, $offset + 1);
        if ($mark === self::INT) {
            $int = (int) $rest;
            if ((string) $int === $rest) {
                return $int;
            }
        } elseif ($mark === self::FLOAT) {
            $float = \strlen($rest) === 8 ? \unpack('E', $rest) : false;
            if ($float !== false) {
                return $float[1];
            }
        } elseif ($rest === '') {
            return $mark === self::NULL ? null : $mark === self::TRUE;
        }
        throw Undecodable::because('its bytes are damaged.');
    }

    /** @throws Undecodable */
    private function body(int $mark, string $data, int $offset): mixed
    {
        $body = \substr($data, $offset + 4);
        if (\substr($data, $offset, 4) !== self::checksum($mark, $body)) {
            throw Undecodable::because('its bytes are damaged.');
        }
        Quiet::begin();
        Quiet::$reason = '';
        try {
            if (($mark & self::COMPRESSOR) !== 0) {
                $body = Compression::expand(($mark & self::COMPRESSOR) >> 4, $body);
                if (($mark & ~self::COMPRESSOR) === 0) {
                    return $body;
                }
            }
            $type = $mark & ~self::COMPRESSOR;
            if ($this->classes !== null && $type !== self::PHP) {
                $value = $this->judged($this->classes, $type, $body);
            } else {
                $value = match ($type) {
                    self::IGBINARY, self::IGBINARY_STANDARD | self::SNAPSHOT => self::igbinary($body),
                    self::PHP => \unserialize($body, ['allowed_classes' => false]),
                    self::PHP_STANDARD | self::SNAPSHOT => \unserialize($body, ['allowed_classes' => ['stdClass']]),
                    self::MSGPACK => self::msgunpack($body),
                    self::IGBINARY | self::SNAPSHOT, self::PHP | self::SNAPSHOT => self::objects($type, $body),
                    self::PHP | self::SNAPSHOT | self::PRINTED => self::objects($type, \substr($body, Classes::LENGTH)),
                    default => null,
                };
            }
        } catch (Undecodable $e) {
            throw $e;
        } catch (\Throwable $e) {
            throw Undecodable::because($e::class . ': ' . $e->getMessage(), $e);
        } finally {
            Quiet::end();
        }
        // Only arrays and objects are ever serialized, so any other result means that the serializer failed.
        if (!\is_array($value) && !\is_object($value)) {
            // @phpstan-ignore identical.alwaysTrue (PHP's warnings set it)
            throw Undecodable::because(Quiet::$reason === '' ? 'its bytes are damaged.' : Quiet::$reason);
        }

        return $value;
    }

    /**
     * The value of what is no plain array of php's, if its classes are as they must be.
     *
     * @throws \Throwable
     */
    private function judged(Classes $classes, int $type, string $body): mixed
    {
        if ($type === (self::PHP | self::SNAPSHOT | self::PRINTED)) {
            return self::objects($type, \substr($body, Classes::LENGTH), $classes, \substr($body, 0, Classes::LENGTH));
        }
        if ($type === (self::PHP | self::SNAPSHOT) || $type === (self::PHP_STANDARD | self::SNAPSHOT)) {
            return self::objects($type, $body, $classes);
        }
        if (!$classes->restricts() && ($type === self::IGBINARY || $type === (self::IGBINARY_STANDARD | self::SNAPSHOT))) {
            return self::igbinary($body);
        }
        if (!$classes->restricts() && $type === self::MSGPACK) {
            return self::msgunpack($body);
        }
        throw Undecodable::outdated('only what php has serialized tells its classes; it was serialized by another.');
    }

    /**
     * Calls unserialize(). An object whose class cannot be loaded makes the whole value a miss: PHP would return a
     * __PHP_Incomplete_Class, which the application cannot use.
     *
     * @param ?string $print see Classes::unserialize()
     *
     * @throws \Throwable
     */
    private static function objects(int $type, string $body, ?Classes $classes = null, ?string $print = null): mixed
    {
        // Some hosts disable ini_set().
        $before = \function_exists('ini_set') ? \ini_set('unserialize_callback_func', self::class . '::refuse') : false;
        try {
            if ($classes !== null) {
                return $classes->unserialize($body, $print);
            }

            return $type === (self::IGBINARY | self::SNAPSHOT) ? self::igbinary($body) : \unserialize($body);
        } finally {
            if ($before !== false) {
                \ini_set('unserialize_callback_func', $before);
            }
        }
    }

    /**
     * Called by unserialize() for a class that no autoloader knows.
     *
     * @internal
     *
     * @throws Undecodable
     */
    public static function refuse(string $class): never
    {
        throw Undecodable::outdated("the class {$class} is not loaded here.");
    }

    /** @throws Undecodable */
    private static function igbinary(string $body): mixed
    {
        return \function_exists('igbinary_unserialize') ? \igbinary_unserialize($body) : throw self::gone('igbinary');
    }

    /** @throws Undecodable */
    private static function msgunpack(string $body): mixed
    {
        return \function_exists('msgpack_unpack') ? \msgpack_unpack($body) : throw self::gone('msgpack');
    }

    private static function gone(string $extension): Undecodable
    {
        return Undecodable::because("it was serialized with {$extension}, which this PHP does not have; install ext-{$extension}, or flush.");
    }

    /**
     * An array without objects.
     *
     * @param array<mixed> $value
     */
    private function plain(array $value, int &$mark): string
    {
        $mark = $this->serializer;
        if ($this->serializer === self::IGBINARY) {
            $body = (string) \igbinary_serialize($value);
            // 0x25 is igbinary's mark of a reference; 0x01 to 0x03 after it mean that it occurred before (igbinary.c,
            // igbinary_type_ref and _array_ref8 to 32). A reference that occurs once is not shared: PHP dissolves it when
            // the array is separated (zend_hash.c, zend_array_dup_element).
            if (\preg_match('/%[\x01-\x03]/', $body) === 1 && Inspection::holdsReference($value)) {
                $mark = ($this->classes === null ? self::IGBINARY : self::PHP) | self::SNAPSHOT;

                return $this->classes === null ? $body : self::php($value);
            }

            return $body;
        }
        $php = self::php($value);
        // Search 'R:' alone first: it is much rarer than ';'.
        if (\str_contains($php, 'R:') && \str_contains($php, ';R:') && Inspection::holdsReference($value)) {
            $mark = self::PHP | self::SNAPSHOT;

            return $php;
        }
        if ($this->serializer === self::MSGPACK) {
            $body = self::msgpack($value, $php);
            if ($body !== null) {
                return $body;
            }
            $mark = self::PHP;
        }

        return $php;
    }

    /**
     * Encodes objects, arrays with objects, and the arrays that Inspection::glance() finds doubtful.
     *
     * @throws NotStorable
     */
    private function special(mixed $value, int &$mark): string
    {
        $objects = Inspection::thorough($value);
        if ($objects === [] && \is_array($value) && !Inspection::holdsReference($value)) {
            return $this->plain($value, $mark);
        }
        // Classes may warn while they are serialized, and PHP may warn about the result of their __sleep().
        Quiet::begin();
        Quiet::$reason = '';
        try {
            $standard = $objects === [\stdClass::class];
            $byIgbinary = $this->serializer === self::IGBINARY && $this->classes === null;
            $mark = self::SNAPSHOT | ($byIgbinary
                ? ($standard ? self::IGBINARY_STANDARD : self::IGBINARY)
                : ($standard ? self::PHP_STANDARD : self::PHP));
            $body = $byIgbinary ? (string) \igbinary_serialize($value) : self::php($value);
        } catch (\Throwable $e) {
            throw Inspection::refusal($value, $e);
        } finally {
            Quiet::end();
        }
        // PHP writes null in the place of such an object.
        if (\preg_match('/([^ ]+::__sleep\(\)) should return an array/', Quiet::$reason, $found) === 1) {
            throw NotStorable::at('', "holds an object whose $found[1] returns no list of properties");
        }
        $print = $this->classes?->seal($body) ?? '';
        $mark |= $print === '' ? 0 : self::PRINTED;

        return $print . $body;
    }

    /** serialize(), with full floats even if php.ini sets fewer digits. */
    private static function php(mixed $value): string
    {
        $precision = (int) \ini_get('serialize_precision');
        if ($precision === -1 || $precision >= 17 || !\function_exists('ini_set')) {
            return \serialize($value);
        }
        \ini_set('serialize_precision', '-1');
        try {
            return \serialize($value);
        } finally {
            \ini_set('serialize_precision', (string) $precision);
        }
    }

    /**
     * The msgpack bytes; null: msgpack would return another value.
     *
     * @param array<mixed> $value
     * @param string       $php   the value as serialize() writes it, in which every difference shows
     */
    private static function msgpack(array $value, string $php): ?string
    {
        Quiet::begin();
        try {
            $body = \msgpack_pack($value);

            return self::php(\msgpack_unpack($body)) === $php ? $body : null;
        } finally {
            Quiet::end();
        }
    }
}
