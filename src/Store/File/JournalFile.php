<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Journal\JournalIndex;
use Larder\System\Ownership;

/**
 * One file of a FileJournal: a header and frames.
 *
 *     header 32:  magic 8 | epoch 16 | base 8
 *     frame:      length 4 | checksum 8 | number in this file 4 | kind 1 | length 1, writer | key | length 4
 *
 * The checksum covers the epoch and the position at which the frame ends, so that no bytes in a key pass for a frame, and
 * no offset but a frame's own start reads as one. The length stands at the end as well, so that a reader finds the last
 * frame without reading the others.
 */
final class JournalFile
{
    /** Bytes before the first frame. */
    public const HEADER = 32;

    /** Bytes of a frame beside its writer and key. */
    public const FRAME = 22;

    /** Kind of the last frame of a file that is followed by another. */
    public const FULL = 'F';

    private const MAGIC = "LARDER\n\3";

    /** @param resource $handle */
    private function __construct(private readonly mixed $handle, private readonly string $epoch, public readonly int $base) {}

    /** Begins a file, and replaces one of the same path, which was never in use. */
    public static function create(string $path, string $epoch, int $base): bool
    {
        \is_link($path) && \unlink($path);
        $handle = \fopen($path, 'we');

        return $handle !== false && \chmod($path, 0600) && \fwrite($handle, self::header($epoch, $base)) === self::HEADER;
    }

    /** @return ?self null: the file is not, or not yet, that of this epoch and base */
    public static function open(string $path, string $epoch, int $base): ?self
    {
        $handle = \is_file($path) && Ownership::flaw($path) === null ? \fopen($path, 'r+e') : false;
        if ($handle === false) {
            return null;
        }
        \stream_set_read_buffer($handle, 0);

        return \fread($handle, self::HEADER) === self::header($epoch, $base) ? new self($handle, $epoch, $base) : null;
    }

    public function size(): int
    {
        $stat = \fstat($this->handle);

        return $stat === false ? 0 : $stat['size'];
    }

    public function frame(int $offset, int $number, string $kind, string $writer, string $key): string
    {
        $payload = \pack('N', $number) . $kind . \chr(\strlen($writer)) . $writer . $key;
        $length = \pack('N', \strlen($payload));

        return $length . $this->checksum($payload, $offset + \strlen($payload) + 16) . $payload . $length;
    }

    /** Writes at an offset. If the disk is full, cuts off what was written. */
    public function put(int $offset, string $bytes): bool
    {
        if (\fseek($this->handle, $offset) === 0 && \fwrite($this->handle, $bytes) === \strlen($bytes)) {
            return true;
        }
        $this->cut($offset);

        return false;
    }

    public function cut(int $offset): void
    {
        \ftruncate($this->handle, \max(0, $offset));
    }

    /** The offset at which the last frame starts; null: it is damaged. */
    public function last(int $size): ?int
    {
        $length = $size < self::HEADER + self::FRAME ? '' : $this->bytes($size - 4, 4);
        $start = \strlen($length) === 4 ? $size - 16 - self::number($length) : 0;

        return $start >= self::HEADER && $this->reaches($start, null, $size) ? $start : null;
    }

    /** Whether whole frames fill the stretch between two offsets. */
    public function reaches(int $offset, ?JournalIndex $into, int $until): bool
    {
        return $this->scan($offset, $into, $until)[0] === $until - $offset;
    }

    /**
     * Reads the frames between two offsets.
     *
     * @param ?JournalIndex $into takes the changes
     *
     * @return array{int, int, bool} bytes of whole frames; the last one's number, and whether it is a FULL one
     */
    public function scan(int $offset, ?JournalIndex $into, int $until): array
    {
        $bytes = $this->bytes($offset, $until - $offset);
        $size = \strlen($bytes);
        $at = $number = 0;
        $full = false;
        while ($at + self::FRAME <= $size) {
            $length = self::number($bytes, $at);
            $end = $at + $length + 16;
            if ($length < 6 || $end > $size) {
                break;
            }
            $payload = \substr($bytes, $at + 12, $length);
            if (\substr($bytes, $at + 4, 8) !== $this->checksum($payload, $offset + $end)) {
                break;
            }
            $number = self::number($payload);
            $full = $payload[4] === self::FULL;
            if ($into !== null && !$full) {
                $writer = \ord($payload[5]);
                $into->add(\substr($payload, 6 + $writer), $this->base + $offset + $end, \substr($payload, 6, $writer), $payload[4]);
            }
            $at = $end;
        }

        return [$at, $number, $full];
    }

    private static function header(string $epoch, int $base): string
    {
        return self::MAGIC . $epoch . \pack('J', $base);
    }

    private function checksum(string $payload, int $offset): string
    {
        return \hash('xxh3', $this->epoch . \pack('J', $this->base + $offset) . $payload, true);
    }

    private function bytes(int $offset, int $length): string
    {
        $length = \min($length, $this->size() - $offset);
        $bytes = $length > 0 && \fseek($this->handle, $offset) === 0 ? \stream_get_contents($this->handle, $length) : false;

        return $bytes === false ? '' : $bytes;
    }

    private static function number(string $bytes, int $at = 0): int
    {
        return (\ord($bytes[$at]) << 24) | (\ord($bytes[$at + 1]) << 16) | (\ord($bytes[$at + 2]) << 8) | \ord($bytes[$at + 3]);
    }
}
