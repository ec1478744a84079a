<?php

declare(strict_types=1);

namespace Larder\Store\File;

use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalIndex;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\Store\WriteConditions;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\PrivateDirectory;
use Larder\System\Quiet;
use Larder\System\ServerPolicy;

/**
 * Keeps records in files of a directory, shared by the processes of a server. The files outlive the processes.
 *
 *     lock                   the file that a writer locks; holds State and Sizes
 *     log.EPOCH.BASE         the journal, see FileJournal
 *     v.EPOCH/ab/0123…       a record, see RecordFile; named by a hash of its key
 *     v.EPOCH/new            the record that is being written
 *
 * A writer, under the lock, writes the record to `new`, appends the change to the journal, renames `new` to its place, and
 * then raises State::$done. It overwrites a small record in its file instead, after the append. Readers need no lock: every
 * change up to the `done` that a reader saw before it opened the files is in them; a later change may be. A checksum shows
 * a half-written record. A writer that dies on the way leaves a change in the journal that never happened, which costs
 * other processes one read of the file. The next writer, which holds its lock, passes `done` over it.
 *
 * A new epoch begins when the lock file, its State or its journal are deleted, damaged or copied from elsewhere, and after
 * a boot: the file system may have kept an older content of some files than of others.
 */
final class FileStore implements Store
{
    /** The file, in an epoch's directory of records, into which a new record is written. */
    private const NEW = '/new';

    /**
     * Bytes up to which a record is overwritten in its file; a longer one is renamed over it. ext4 writes a file that is
     * renamed over another to the disk at once (mount option auto_da_alloc), which takes 50 times as long.
     */
    private const IN_PLACE = 65_536;

    /** tidy() marks this many of the records read as used, chosen at random. */
    private const MARKED = 64;

    /** Writes after which an object checks the budget by itself, also after a part of its bytes; one Sweep removes at least as many files. */
    private const WRITES = 16;
    private const PART = 16;

    /** In this many calls of tidy(), one removes files of older epochs, and two remove expired records. */
    private const RARELY = 16;

    private readonly Shared $shared;
    private int $reads = 0;
    private int $writes = 0;

    /** Bytes written since the budget was checked. */
    private int $written = 0;

    /** Bytes, once the policy was asked. */
    private ?int $budget = null;

    /** @var array<int, string> paths of records that were read */
    private array $used = [];

    /**
     * @param string $directory created if missing; belongs to this user, and nothing else uses it
     * @param int    $asked     bytes that the files of the records take on the disk
     * @param float  $timeout   seconds that a call waits for other processes, at most
     */
    public function __construct(private readonly string $directory, private readonly int $asked, float $timeout, private readonly ?ServerPolicy $policy = null)
    {
        $this->shared = new Shared($directory, $timeout);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        // The token is the base of the journal's current file. The epoch is checked because it becomes part of a path.
        if (
            $token !== '' && \strlen($epoch) === 16 && \strspn($epoch, '0123456789abcdef') === 16
            && FileJournal::unchanged($this->directory, $epoch, (int) $token, $position)
        ) {
            return new JournalSlice($epoch, $position, $token, true);
        }
        Quiet::begin();
        try {
            $log = $this->shared->follow();
            $end = $log->end();
            $token = $log->token();
            $list = $epoch === $this->shared->epoch() && $position <= $end ? $log->cover($position)->after($position) : null;

            return new JournalSlice($this->shared->epoch(), $end, $token, $list !== null, $list ?? []);
        } finally {
            Quiet::end();
        }
    }

    public function read(array $keys): Snapshot
    {
        Quiet::begin();
        try {
            $state = $this->shared->state();
            $records = [];
            foreach ($keys as $key) {
                $path = $this->path($key);
                $bytes = \file_get_contents($path);
                if ($bytes === false) {
                    continue;
                }
                $found = RecordFile::decode($bytes) ?? $this->settle($path);
                if ($found !== null && $found[0] === $key && $found[1] !== null) {
                    $records[$key] = $found[1];
                    $this->use($path);
                }
            }

            return new Snapshot($state->epoch, $state->done, $records);
        } finally {
            Quiet::end();
        }
    }

    public function write(array $changes): array
    {
        Quiet::begin();
        try {
            [$handle, $state, $log] = $this->shared->hold();
            try {
                $outcomes = [];
                foreach ($changes as $change) {
                    $outcomes[] = $this->apply($change, $handle, $state, $log);
                }
                $state->done = $log->end();
                $this->shared->save($state, $handle);
                $this->writes += \count($changes);
                if ($this->written > 0 && $this->written > $this->budget() / self::PART) {
                    $this->writes = \max($this->writes, self::WRITES);
                }
                for (; $this->writes >= self::WRITES; $this->writes -= self::WRITES) {
                    $this->sweep()->shrink($handle, $this->budget());
                    $this->written = 0;
                }
            } finally {
                $this->shared->release();
            }
        } finally {
            Quiet::end();
        }

        return $outcomes;
    }

    public function now(): int
    {
        return Clock::now();
    }

    public function forgets(): bool
    {
        return true;
    }

    public function tidy(): void
    {
        Quiet::begin();
        try {
            $handle = $this->shared->tryToHold();
            if ($handle === null) {
                return;
            }
            try {
                $sweep = $this->sweep();
                $sweep->used($this->used);
                $turn = \random_int(1, self::RARELY);
                if ($turn <= 2) {
                    $sweep->run($handle, $this->budget());
                } else {
                    $sweep->shrink($handle, $this->budget());
                }
                if ($turn === 1) {
                    $sweep->others($this->directory);
                }
            } finally {
                $this->shared->release();
            }
        } catch (Failure) {
            // The next read or write reports the error.
        } finally {
            $this->used = [];
            $this->reads = 0;
            Quiet::end();
        }
    }

    public function each(): iterable
    {
        for ($i = 0; $i < Sizes::DIRECTORIES; $i++) {
            Quiet::begin();
            $records = [];
            try {
                $this->shared->state();
                $directory = \sprintf('%s/%02x', $this->shared->values(), $i);
                foreach (\is_dir($directory) ? \array_slice(\scandir($directory) ?: [], 2) : [] as $name) {
                    $bytes = \file_get_contents("$directory/$name");
                    $found = $bytes === false ? null : RecordFile::decode($bytes) ?? $this->settle("$directory/$name");
                    if ($found !== null && $found[1] !== null) {
                        $records[] = [$found[0], $found[1]];
                    }
                }
            } finally {
                Quiet::end();
            }
            foreach ($records as [$key, $record]) {
                yield $key => $record;
            }
        }
    }

    public function stats(): array
    {
        Quiet::begin();
        try {
            $this->shared->state();
            $sizes = Sizes::all($this->shared->look());

            return [
                'engine' => 'files',
                'entries' => (int) \array_sum(\array_column($sizes, 1)),
                'bytes' => (int) \array_sum(\array_column($sizes, 0)),
                'budget' => $this->budget(),
            ];
        } finally {
            Quiet::end();
        }
    }

    /** Bytes: what was asked for, as far as the server's policy allows. */
    private function budget(): int
    {
        return $this->budget ??= ($this->policy ?? new ServerPolicy())->atMost($this->asked, 'disk');
    }

    /**
     * @param resource $handle
     *
     * @throws Failure
     */
    private function apply(Change $change, mixed $handle, State $state, FileJournal $log): ChangeResult
    {
        if (!$change->isOf($state->epoch)) {
            return new ChangeResult(false, -1);
        }
        $key = $change->key;
        $path = $this->path($key);
        $record = $this->peek($path, $key);
        // Not a property: it refers to this store, and such a circle keeps files open after the application has dropped its cache.
        $judge = new WriteConditions(
            fn(string $key): ?Record => $this->peek($this->path($key), $key),
            fn(int $limit, ?string $writer): JournalIndex => $this->shared->log()->cover($limit, $writer),
        );
        $conflict = $judge->conflict($change, $record);
        if ($conflict !== null || ($change->body !== null && \strlen($change->body) > $this->budget())) {
            $found = $record === null ? null : RecordFile::decode((string) \file_get_contents($path));
            if ($conflict === null) {
                return ChangeResult::refused($found[1] ?? null);
            }
            [$position, $writer, $kind, $guard] = $conflict;

            return new ChangeResult(false, $position, $writer, 0, $kind, $found[1] ?? null, $guard);
        }
        [$previous, $writer] = WriteConditions::before($key, $record, $log->cover(Change::ALWAYS));
        $end = $log->end();
        $position = $change->logged ? $log->position($change) : ++$state->version;
        $this->replace($change, $position, $path, $handle, $state, $log);

        return new ChangeResult(true, $position, $writer, $previous, WriteConditions::kind($record), step: $change->logged ? $position - $end : 1);
    }

    /**
     * Makes a change that was judged.
     *
     * @param resource $handle
     *
     * @throws Failure
     */
    private function replace(Change $change, int $position, string $path, mixed $handle, State $state, FileJournal $log): void
    {
        $values = $this->shared->values();
        \clearstatcache();
        $there = \is_file($path);
        $before = $there ? (int) \filesize($path) : 0;
        $bytes = $change->body === null ? '' : RecordFile::encode($change->key, new Record($change->body, $position, $change->writer), $change->expiry);
        $size = \strlen($bytes);
        $this->written += $size;
        $inPlace = $there && $size > 0 && $size <= self::IN_PLACE;
        if ($size > 0 && !$inPlace) {
            $this->put($values, $bytes);
        }
        if ($change->logged) {
            $log->append($change);
        } else {
            // Save the version before any process can read the record: no version is given twice.
            $this->shared->save($state, $handle);
        }
        if ($inPlace) {
            $this->overwrite($path, $bytes, $before);
        } elseif ($size > 0) {
            $new = $values . self::NEW;
            if (!\rename($new, $path) && !(PrivateDirectory::make(\dirname($path)) && \rename($new, $path))) {
                throw Failure::because('files', "cannot write $path: " . Quiet::$reason);
            }
        } elseif ($there && !\unlink($path)) {
            throw Failure::because('files', "cannot remove $path: " . Quiet::$reason);
        }
        $bytes = Sizes::taken($size) - Sizes::taken($before);
        $files = ($size > 0 ? 1 : 0) - ($there ? 1 : 0);
        if ($bytes !== 0 || $files !== 0) {
            Sizes::add($handle, (int) \hexdec(\substr($path, \strlen($values) + 1, 2)), $bytes, $files);
        }
    }

    /** @throws Failure after deleting the half-written file */
    private function put(string $values, string $bytes): void
    {
        $path = $values . self::NEW;
        $handle = \fopen($path, 'we');
        if ($handle === false && PrivateDirectory::make($values)) {
            $handle = \fopen($path, 'we');
        }
        if ($handle === false || !\chmod($path, 0600) || \fwrite($handle, $bytes) !== \strlen($bytes) || !\fclose($handle)) {
            $failure = $this->shared->unwritable();
            \is_file($path) && \unlink($path);

            throw $failure;
        }
    }

    /**
     * Overwrites a small record in its file. A reader that finds it half written waits for the lock, see settle().
     *
     * @throws Failure after deleting the half-written file
     */
    private function overwrite(string $path, string $bytes, int $before): void
    {
        $handle = \fopen($path, 'ce');
        if ($handle === false || \fwrite($handle, $bytes) !== \strlen($bytes) || ($before > \strlen($bytes) && !\ftruncate($handle, \strlen($bytes)))) {
            $failure = Failure::because('files', "cannot write $path: " . Quiet::$reason);
            \is_file($path) && \unlink($path);

            throw $failure;
        }
    }

    private function sweep(): Sweep
    {
        return new Sweep($this->shared->values(), fn(string $marker): int => $this->peek($this->path($marker), $marker)->position ?? 0);
    }

    private function path(string $key): string
    {
        $hash = \hash('xxh128', $key);

        return $this->shared->values() . "/$hash[0]$hash[1]/" . \substr($hash, 2);
    }

    /** A key's record with the first byte of its body, or without a body if it has expired; null also if the file holds another key's record. */
    private function peek(string $path, string $key): ?Record
    {
        $bytes = RecordFile::start($path);
        $head = RecordFile::head($bytes);

        return $head !== null && $head[0] === $key
            ? new Record($head[3] === 0 || $head[3] >= Clock::now() ? \substr($bytes, $head[4], 1) : '', $head[1], $head[2])
            : null;
    }

    private function use(string $path): void
    {
        // Each of the records read has the same chance, however many there are (reservoir sampling).
        $place = $this->reads < self::MARKED ? $this->reads : \mt_rand(0, $this->reads);
        $this->reads++;
        if ($place < self::MARKED) {
            $this->used[$place] = $path;
        }
    }

    /**
     * Reads a file again under the lock, after it was not whole: a writer was at work, or the file is damaged and is deleted.
     *
     * @return ?array{string, ?Record}
     *
     * @throws Failure
     */
    private function settle(string $path): ?array
    {
        $this->shared->hold();
        try {
            $bytes = \file_get_contents($path);
            $found = $bytes === false ? null : RecordFile::decode($bytes);
            if ($found === null && $bytes !== false) {
                \unlink($path);
            }

            return $found;
        } finally {
            $this->shared->release();
        }
    }
}
