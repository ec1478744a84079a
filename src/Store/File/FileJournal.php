<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Change;
use Larder\Store\Journal\JournalIndex;
use Larder\System\Failure;

/**
 * The journal of a directory in one epoch: files named log.EPOCH.BASE. Writers append to them under the lock; readers need
 * no lock.
 *
 * A position is where a change's frame ends: BASE plus its offset. So a file's size alone tells whether anything is new,
 * and a position tells where to read on. A full file gets a last frame that says so, and the file whose BASE is its end
 * follows it. The file before the current one is kept, older ones are deleted. The last frame makes the full file grow, so
 * a reader that knew its size notices that there is more. A writer may die after any of these steps: the next one continues.
 */
final class FileJournal
{
    /** Changes, or bytes, after which the next file follows, whichever comes first. */
    private const CHANGES = 10_000;
    private const BYTES = 8_388_608;

    private ?JournalFile $file = null;
    /** Base of the file before the current one; -1: none. */
    private int $previous = -1;
    /** Offset after the last whole frame; bytes that follow are half a frame. */
    private int $offset = 0;
    private bool $torn = false;
    /** Number of the last frame, and whether it is a FULL one. */
    private int $number = 0;
    private bool $full = false;
    private JournalIndex $known;
    /** The lowest position that a caller has passed to cover(). */
    private int $asked = \PHP_INT_MAX;

    public function __construct(private readonly string $directory, private readonly string $epoch)
    {
        $this->known = new JournalIndex(0);
    }

    /** Whether nothing was appended to the journal since it ended at this position of this file. Costs one stat. */
    public static function unchanged(string $directory, string $epoch, int $base, int $position): bool
    {
        $path = "$directory/log.$epoch.$base";
        \clearstatcache();

        return \is_file($path) && \filesize($path) === $position - $base;
    }

    /** Begins the journal. */
    public function create(): bool
    {
        return JournalFile::create($this->path(0), $this->epoch, 0);
    }

    /**
     * Reads on to the end.
     *
     * @return bool false: the journal does not match the state, because it was deleted or damaged
     */
    public function follow(State $state): bool
    {
        if ($this->base() !== $state->base && !$this->open($state)) {
            return false;
        }
        while ($this->file !== null) {
            $path = $this->path($this->file->base);
            \clearstatcache();
            $size = \is_file($path) ? (int) \filesize($path) : 0;
            if ($size < $this->offset) {
                break;
            }
            if ($size > $this->offset) {
                $this->advance($this->file, $this->offset, $this->known);
            }
            $this->torn = $size > $this->offset;
            if (!$this->full || !$this->next()) {
                // Every change up to `done` was appended before, so an end below it means a damaged frame or a lost file.
                return $this->end() >= $state->done;
            }
        }
        $this->file = null;

        return false;
    }

    public function end(): int
    {
        return $this->base() + $this->offset;
    }

    /**
     * The current file's base, for unchanged(). Empty while a full file has no follower: then its size does not tell whether
     * anything comes after it.
     */
    public function token(): string
    {
        return $this->full ? '' : (string) $this->base();
    }

    /**
     * The journal's changes, from this position on if it reaches back so far.
     *
     * @param ?string $writer whose own changes need not be known
     */
    public function cover(int $position, ?string $writer = null): JournalIndex
    {
        if ($position >= $this->known->floor($writer) || $position >= $this->asked || $this->file === null) {
            return $this->known;
        }
        $this->asked = $position;
        $known = null;
        if ($position < $this->file->base) {
            $this->asked = \PHP_INT_MIN;
            $known = $this->older($position);
        }
        $offset = $known === null ? \max($position - $this->file->base, JournalFile::HEADER) : JournalFile::HEADER;
        $known ??= new JournalIndex($offset === JournalFile::HEADER ? $this->file->base : $position);
        if (!$this->file->reaches($offset, $known, $this->offset)) {
            // No frame begins at the position, or a frame is damaged: read the whole file.
            $known = new JournalIndex($this->file->base);
            if (!$this->file->reaches(JournalFile::HEADER, $known, $this->offset)) {
                $known = new JournalIndex($this->end());
            }
        }

        // What this object has seen may reach further back than the files, for changes of $writer.
        return $known->floor($writer) > $this->known->floor($writer) ? $this->known : $this->known = $known;
    }

    /**
     * Makes room for changes, and cuts off a frame that a dead process left half written. The caller has called follow()
     * under the lock. The state may change.
     *
     * @return bool false: the disk is full
     */
    public function prepare(State $state): bool
    {
        if ($this->file === null) {
            return false;
        }
        if ($this->torn) {
            $this->file->cut($this->offset);
            $this->torn = false;
        }
        if (!$this->full && ($this->number >= self::CHANGES || $this->offset >= self::BYTES)) {
            $this->full = $this->put(JournalFile::FULL, '', '');
            if (!$this->full) {
                return false;
            }
        }
        if ($this->full && !(JournalFile::create($this->path($this->end()), $this->epoch, $this->end()) && $this->next())) {
            return false;
        }
        if ($state->base !== $this->base()) {
            $old = $state->previous;
            $state->previous = $this->previous;
            $state->base = $this->base();
            if ($old >= 0 && \is_file($this->path($old))) {
                \unlink($this->path($old));
            }
        }

        return true;
    }

    /** The position that append() will give to this change. */
    public function position(Change $change): int
    {
        return $this->end() + JournalFile::FRAME + \strlen($change->writer) + \strlen($change->key);
    }

    /**
     * Appends a change. The caller holds the lock and has called prepare().
     *
     * @throws Failure if the disk is full; the half-written frame is cut off
     */
    public function append(Change $change): void
    {
        $kind = $change->kind[0] ?? 's';
        if (!$this->put($kind, $change->writer, $change->key)) {
            throw Failure::because('files', "cannot write to the journal in $this->directory; is the disk full?");
        }
        $this->known->add($change->key, $this->end(), $change->writer, $kind);
    }

    /** Base of the current file, -1 before follow(). */
    private function base(): int
    {
        return $this->file === null ? -1 : $this->file->base;
    }

    private function path(int $base): string
    {
        return "$this->directory/log.$this->epoch.$base";
    }

    private function put(string $kind, string $writer, string $key): bool
    {
        $frame = $this->file?->frame($this->offset, $this->number + 1, $kind, $writer, $key) ?? '';
        if ($this->file === null || !$this->file->put($this->offset, $frame)) {
            return false;
        }
        $this->offset += \strlen($frame);
        $this->number++;

        return true;
    }

    /** Opens the state's file and finds its last frame; changes are known from there on. */
    private function open(State $state): bool
    {
        $file = JournalFile::open($this->path($state->base), $this->epoch, $state->base);
        $this->enter($file, $state->previous);
        if ($file === null) {
            return false;
        }
        // Read from the last frame or, if that is damaged, from the start.
        $this->advance($file, $file->last($file->size()) ?? JournalFile::HEADER, null);
        $this->known = new JournalIndex($this->end());
        $this->asked = \PHP_INT_MAX;

        return true;
    }

    /** Enters the file that follows the current one, if there is one. */
    private function next(): bool
    {
        $next = JournalFile::open($this->path($this->end()), $this->epoch, $this->end());
        if ($next === null) {
            return false;
        }
        $this->enter($next, $this->base());

        return true;
    }

    private function enter(?JournalFile $file, int $previous): void
    {
        $this->file = $file;
        $this->previous = $previous;
        $this->offset = JournalFile::HEADER;
        $this->number = 0;
        $this->full = $this->torn = false;
    }

    /** Reads from an offset to the last whole frame. */
    private function advance(JournalFile $file, int $offset, ?JournalIndex $into): void
    {
        [$length, $number, $full] = $file->scan($offset, $into, \PHP_INT_MAX);
        if ($length > 0) {
            $this->offset = $offset + $length;
            $this->number = $number;
            $this->full = $full;
        }
    }

    /**
     * The changes in the file before the current one, if a position lies in it or before it.
     *
     * @return ?JournalIndex null: that file was deleted, or is damaged
     */
    private function older(int $position): ?JournalIndex
    {
        $file = $this->previous < 0 ? null : JournalFile::open($this->path($this->previous), $this->epoch, $this->previous);
        $size = $this->base() - $this->previous;
        foreach ([$position - $this->previous, JournalFile::HEADER] as $offset) {
            $known = new JournalIndex($offset > JournalFile::HEADER ? $position : $this->previous);
            if ($offset >= JournalFile::HEADER && $file?->reaches($offset, $known, $size) === true) {
                return $known;
            }
        }

        return null;
    }
}
