<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Change;
use Larder\Store\LastChanges;
use Larder\Store\StoreFailure;

/**
 * The log of a directory in one epoch: files to which changes are appended, read without a lock.
 *
 *     log.EPOCH.BASE:  header 32 | frame | frame | … | last frame
 *     frame:           length 4 | checksum 8 | number in this file 4 | kind 1 | length 1, writer | key | length 4
 *
 * A position is where a frame ends: BASE plus its offset. So a file's size alone tells whether anything is new, and
 * a position tells where to read on. The checksum covers the epoch and the position too: nothing that stands in a
 * key passes for a frame, and no offset but a frame's own start reads as one.
 *
 * A file that is full gets a last frame that says so, and is followed by the file whose BASE is its end; the one
 * before it is kept, older ones go. Since a file that has a follower has grown, whoever knows its size notices. Each
 * of these steps can be the last of a process: the next writer goes on with the rest.
 */
final class Log
{
    /** Bytes before the first frame. */
    public const HEADER = 32;

    /** A file is followed by the next after so many changes, or bytes, whichever comes first. */
    private const CHANGES = 10_000;
    private const BYTES = 8_388_608;

    private const MAGIC = "LARDER\n\3";

    /** Kind of a file's last frame. */
    private const FULL = 'F';

    /** @var ?resource */
    private mixed $handle = null;
    private int $base = -1;
    private int $previous = -1;
    /** Offset after the last good frame. */
    private int $offset = 0;
    /** Number of that frame, and whether it is a FULL one. */
    private int $number = 0;
    private bool $full = false;
    private LastChanges $known;
    /** The lowest position that cover() was asked for. */
    private int $asked = \PHP_INT_MAX;

    public function __construct(private readonly string $directory, private readonly string $epoch)
    {
        $this->known = new LastChanges(0);
    }

    /** Whether nothing was written to the log since it ended at this position of this file: one stat. */
    public static function unchanged(string $directory, string $epoch, int $base, int $position): bool
    {
        $path = "$directory/log.$epoch.$base";
        \clearstatcache();

        return \is_file($path) && \filesize($path) === $position - $base;
    }

    /** Begins the file of this base; whatever has its name never came into use. */
    public function create(int $base): bool
    {
        $path = $this->path($base);
        $handle = \fopen($path, 'w');

        return $handle !== false
            && \chmod($path, 0600)
            && \fwrite($handle, $this->header($base)) === self::HEADER;
    }

    /**
     * Reads on to the end.
     *
     * @return bool false if the log is not what the state says: gone, or damaged
     */
    public function follow(State $state): bool
    {
        if (($this->handle === null || $this->base !== $state->base) && !$this->open($state)) {
            return false;
        }
        while (true) {
            $path = $this->path($this->base);
            \clearstatcache();
            if (!\is_file($path) || $this->handle === null) {
                $this->handle = null;

                return false;
            }
            $size = (int) \filesize($path);
            if ($size < $this->offset) {
                return false;
            }
            if ($size > $this->offset) {
                $this->advance($this->handle, $this->offset, $this->known);
            }
            if (!$this->full || !\is_file($this->path($this->end())) || !$this->next()) {
                // What is done was written here before: an end below it means a damaged frame, or a lost file.
                return $this->end() >= $state->done;
            }
        }
    }

    public function end(): int
    {
        return $this->base + $this->offset;
    }

    public function base(): int
    {
        return $this->base;
    }

    /** What is known of the log, from this position on if it reaches back so far. */
    public function cover(int $position): LastChanges
    {
        if ($position >= $this->known->floor() || $position >= $this->asked || $this->handle === null) {
            return $this->known;
        }
        $this->asked = $position;
        $known = null;
        if ($position < $this->base) {
            $this->asked = \PHP_INT_MIN;
            $known = $this->older($position);
        }
        if ($known === null && $position > $this->base + self::HEADER) {
            $known = new LastChanges($position);
            if ($this->scan($this->handle, $this->base, $position - $this->base, $known, $this->offset)[0] === 0) {
                // No frame begins there.
                $known = null;
            }
        } elseif ($known !== null) {
            $this->scan($this->handle, $this->base, self::HEADER, $known, $this->offset);
        }
        if ($known === null) {
            $known = new LastChanges($this->base);
            $this->scan($this->handle, $this->base, self::HEADER, $known, $this->offset);
        }

        return $this->known = $known;
    }

    /**
     * Cuts off what a dead process left half-written; follow() has been called under the lock.
     *
     * @return bool false if the file is full and cannot be followed by another
     */
    public function prepare(State $state): bool
    {
        if ($this->handle === null) {
            return false;
        }
        \ftruncate($this->handle, \max(0, $this->offset));
        if (!$this->full && ($this->number >= self::CHANGES || $this->offset >= self::BYTES)) {
            $frame = $this->frame(self::FULL, '', '');
            if (!$this->put($frame)) {
                return false;
            }
            $this->full = true;
        }
        if ($this->full && !($this->create($this->end()) && $this->next())) {
            return false;
        }
        if ($state->base !== $this->base) {
            $old = $state->previous;
            $state->previous = $this->previous;
            $state->base = $this->base;
            if ($old >= 0 && \is_file($this->path($old))) {
                \unlink($this->path($old));
            }
        }

        return true;
    }

    /** The position that append() will give to this change. */
    public function position(Change $change): int
    {
        return $this->end() + 22 + \strlen($change->writer) + \strlen($change->key);
    }

    /**
     * Names a change, under the lock.
     *
     * @return int its position
     *
     * @throws StoreFailure when the disk is full; nothing of it is left then
     */
    public function append(Change $change): int
    {
        if (!$this->put($this->frame($change->kind[0] ?? 's', $change->writer, $change->key))) {
            throw StoreFailure::because('files', "cannot write to {$this->path($this->base)}; is the disk full?");
        }
        $this->known->add($change->key, $this->end(), $change->writer, $change->kind);

        return $this->end();
    }

    private function path(int $base): string
    {
        return "$this->directory/log.$this->epoch.$base";
    }

    private function header(int $base): string
    {
        return self::MAGIC . $this->epoch . \pack('J', $base);
    }

    private function frame(string $kind, string $writer, string $key): string
    {
        $payload = \pack('N', $this->number + 1) . $kind . \chr(\strlen($writer)) . $writer . $key;
        $length = \pack('N', \strlen($payload));

        return $length . $this->checksum($payload, $this->end() + \strlen($payload) + 16) . $payload . $length;
    }

    private function checksum(string $payload, int $position): string
    {
        return \hash('xxh3', $this->epoch . \pack('J', $position) . $payload, true);
    }

    private function put(string $frame): bool
    {
        if ($this->handle === null || \fseek($this->handle, $this->offset) !== 0) {
            return false;
        }
        if (\fwrite($this->handle, $frame) !== \strlen($frame)) {
            \ftruncate($this->handle, \max(0, $this->offset));

            return false;
        }
        $this->offset += \strlen($frame);
        $this->number++;

        return true;
    }

    /** Opens the state's file and finds its last frame; what is known of the log begins there. */
    private function open(State $state): bool
    {
        $this->handle = null;
        $path = $this->path($state->base);
        $handle = \is_file($path) ? $this->opened($path, $state->base) : null;
        if ($handle === null) {
            return false;
        }
        $this->base = $state->base;
        $this->previous = $state->previous;
        $this->handle = $handle;
        $this->number = 0;
        $this->full = false;
        $stat = \fstat($handle);
        $size = $stat === false ? 0 : $stat['size'];
        $this->offset = self::HEADER;
        // From the end, or, where that is torn, from the start.
        $this->advance($handle, $this->start($handle, $size) ?? self::HEADER, null);
        $this->known = new LastChanges($this->end());
        $this->asked = \PHP_INT_MAX;

        return true;
    }

    /** Goes on with the file that follows the current one. */
    private function next(): bool
    {
        $base = $this->end();
        $handle = $this->opened($this->path($base), $base);
        if ($handle === null) {
            return false;
        }
        $this->previous = $this->base;
        $this->base = $base;
        $this->handle = $handle;
        $this->offset = self::HEADER;
        $this->number = 0;
        $this->full = false;

        return true;
    }

    /** @return ?resource null if it is not (or not yet) the file of this base */
    private function opened(string $path, int $base): mixed
    {
        $handle = \fopen($path, 'r+');
        if ($handle === false) {
            return null;
        }
        \stream_set_read_buffer($handle, 0);

        return \fread($handle, self::HEADER) === $this->header($base) ? $handle : null;
    }

    /**
     * Where the last frame starts, if it is a good one.
     *
     * @param resource $handle
     */
    private function start(mixed $handle, int $size): ?int
    {
        $length = $size < self::HEADER + 22 ? '' : $this->bytes($handle, $size - 4, 4);
        $start = \strlen($length) === 4 ? $size - 16 - self::number($length) : 0;

        return $start >= self::HEADER && $this->scan($handle, $this->base, $start, null, $size)[0] === $size - $start ? $start : null;
    }

    /**
     * What the file before the current one knows, if a position is in it or before it.
     *
     * @return ?LastChanges null if it is gone, or not whole
     */
    private function older(int $position): ?LastChanges
    {
        $path = $this->path($this->previous);
        $handle = $this->previous >= 0 && \is_file($path) ? $this->opened($path, $this->previous) : null;
        if ($handle === null) {
            return null;
        }
        $size = $this->base - $this->previous;
        foreach ([$position - $this->previous, self::HEADER] as $offset) {
            $known = new LastChanges($offset > self::HEADER ? $position : $this->previous);
            if ($offset >= self::HEADER && $this->scan($handle, $this->previous, $offset, $known, $size)[0] === $size - $offset) {
                return $known;
            }
        }

        return null;
    }

    /**
     * Reads the current file from an offset to its last good frame.
     *
     * @param resource $handle
     */
    private function advance(mixed $handle, int $offset, ?LastChanges $into): void
    {
        [$length, $number, $full] = $this->scan($handle, $this->base, $offset, $into, \PHP_INT_MAX);
        if ($length > 0) {
            $this->offset = $offset + $length;
            $this->number = $number;
            $this->full = $full;
        }
    }

    /** @param resource $handle */
    private function bytes(mixed $handle, int $offset, int $length): string
    {
        $bytes = \fseek($handle, $offset) === 0 ? \stream_get_contents($handle, $length) : false;

        return $bytes === false ? '' : $bytes;
    }

    /**
     * Reads the frames between two offsets.
     *
     * @param resource     $handle
     * @param ?LastChanges $into   takes the changes
     *
     * @return array{int, int, bool} bytes that were good frames; the last one's number, and whether it is a FULL one
     */
    private function scan(mixed $handle, int $base, int $offset, ?LastChanges $into, int $until): array
    {
        $bytes = $this->bytes($handle, $offset, \min($until - $offset, 2 * self::BYTES));
        $size = \strlen($bytes);
        $at = $number = 0;
        $full = false;
        while ($at + 22 <= $size) {
            $length = self::number($bytes, $at);
            $end = $at + $length + 16;
            if ($length < 6 || $end > $size) {
                break;
            }
            $payload = \substr($bytes, $at + 12, $length);
            if (\substr($bytes, $at + 4, 8) !== $this->checksum($payload, $base + $offset + $end)) {
                break;
            }
            $number = self::number($payload);
            $full = $payload[4] === self::FULL;
            if ($into !== null && !$full) {
                $writer = \ord($payload[5]);
                $into->add(\substr($payload, 6 + $writer), $base + $offset + $end, \substr($payload, 6, $writer), $payload[4]);
            }
            $at = $end;
        }

        return [$at, $number, $full];
    }

    private static function number(string $bytes, int $at = 0): int
    {
        return (\ord($bytes[$at]) << 24) | (\ord($bytes[$at + 1]) << 16) | (\ord($bytes[$at + 2]) << 8) | \ord($bytes[$at + 3]);
    }
}
