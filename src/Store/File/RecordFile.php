<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Record;
use Larder\System\Clock;

/**
 * The content of a file that holds one record. It contains the key, so that a reader need not trust the file's name, and
 * checksums, so that bytes changed by another program or a failing disk do not pass for a value.
 *
 *     magic 8 | checksum of the head 8 | checksum of the body 8
 *     head: position 8 | expiry 8 | length of the body 8 | length of the key 4 | length of the writer 1 | writer | key
 *     body
 */
final class RecordFile
{
    private const MAGIC = "LARDER\n\2";

    /** Bytes that contain nearly every whole head. */
    private const USUAL = 4096;

    /** Bytes before the writer and the key. */
    private const FIXED = 53;

    public static function encode(string $key, Record $record, int $expiry): string
    {
        $head = \pack('JJJNC', $record->position, $expiry, \strlen($record->body), \strlen($key), \strlen($record->writer))
            . $record->writer . $key;

        return self::MAGIC . \hash('xxh3', $head, true) . \hash('xxh3', $record->body, true) . $head . $record->body;
    }

    /**
     * @param string $bytes the whole file
     *
     * @return ?array{string, ?Record} key, and record or null if it has expired; null: the file is damaged
     */
    public static function decode(string $bytes): ?array
    {
        $head = self::head($bytes);
        if ($head === null) {
            return null;
        }
        [$key, $position, $writer, $expiry, $start, $length] = $head;
        // A longer old record may follow, if the writer died before cutting it off.
        $body = \substr($bytes, $start, $length);
        if (\strlen($body) !== $length || \hash('xxh3', $body, true) !== \substr($bytes, 16, 8)) {
            return null;
        }

        return [$key, $expiry === 0 || $expiry >= Clock::now() ? new Record($body, $position, $writer) : null];
    }

    /**
     * Reads a file's whole head, however long its key is, and at least one byte of the body.
     *
     * @return string '' if there is no file
     */
    public static function start(string $path): string
    {
        $bytes = (string) \file_get_contents($path, length: self::USUAL);
        /** @var array{key: int, writer: int}|false $field */
        $field = \strlen($bytes) < self::USUAL ? false : \unpack('Nkey/Cwriter', $bytes, 48);
        $length = $field === false ? 0 : self::FIXED + $field['writer'] + $field['key'] + 1;

        return $length <= self::USUAL ? $bytes : (string) \file_get_contents($path, length: $length);
    }

    /**
     * @param string $bytes the file; what start() gives is enough
     *
     * @return ?array{string, int, string, int, int, int} key, position, writer, expiry; where the body begins, its length
     */
    public static function head(string $bytes): ?array
    {
        if (\strlen($bytes) < self::FIXED || !\str_starts_with($bytes, self::MAGIC)) {
            return null;
        }
        /** @var array{position: int, expiry: int, body: int, key: int, writer: int}|false $field */
        $field = \unpack('Jposition/Jexpiry/Jbody/Nkey/Cwriter', $bytes, 24);
        if ($field === false) {
            return null;
        }
        $length = 29 + $field['writer'] + $field['key'];
        if (\hash('xxh3', \substr($bytes, 24, $length), true) !== \substr($bytes, 8, 8)) {
            return null;
        }

        return [
            \substr($bytes, self::FIXED + $field['writer'], $field['key']),
            $field['position'],
            \substr($bytes, self::FIXED, $field['writer']),
            $field['expiry'],
            24 + $length,
            $field['body'],
        ];
    }
}
