<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\Store\Journal\JournalIndex;
use Larder\Store\Journal\JournalSlice;
use Larder\System\Clock;
use Larder\System\Failure;
use Larder\System\FileLock;
use Larder\System\Quiet;

/**
 * Keeps records in APCu, shared by the processes of one php-fpm master, or by one command and its forks. They end with
 * the last of these processes.
 *
 *     PREFIX.state         epoch 16, end 8, done 8, version 8, format 1
 *     PREFIX.EPOCH.l.SLOT  a change: position 8, kind 1, length 1, writer, key; position modulo 4096 is the slot
 *     PREFIX.EPOCH.r.KEY   a record: position 8, expiry 8, length 1, writer, body
 *
 * Everything is a string, which APCu copies as it is and never serializes. A writer holds a file lock, which ends with its
 * holder; APCu's own lock does not. The writer stores the change in its slot, raises `end`, stores the record, and then
 * raises `done`. Readers need no lock: every change up to the `done` that a reader saw before it fetched the records is in
 * them. A writer that dies on the way leaves a change that never happened. The next writer, which holds its lock, passes
 * `done` over it.
 *
 * APCu may evict anything at any time. An evicted state begins a new epoch; an evicted record is absent; an evicted change
 * makes the journal unknown up to its position.
 */
final class ApcuStore implements Store
{
    /** Changes that the journal keeps. */
    private const RING = 4096;

    /** Format of the records. A release with another format begins an epoch of its own. */
    private const FORMAT = "\2";

    /** Seconds; for a longer life APCu gets no ttl, since its sum of time and ttl must not overflow. */
    private const LONGEST = 2_592_000;

    /** Bytes from which a body is compared with the size of the shared memory. */
    private const LARGE = 65_536;

    private readonly FileLock $lock;
    private string $epoch = '';
    private int $end = 0;
    private int $done = 0;
    private int $version = 0;
    /** The epoch's changes up to $read; begins where this object first read the journal, or further back if a caller asks. */
    private JournalIndex $known;
    private int $read = 0;
    private int $asked = 0;
    private int $room = 0;

    /**
     * @param string $prefix   of all keys in APCu; stores with the same prefix share their records
     * @param string $lockFile created if missing; the same for the same prefix
     * @param float  $timeout  seconds that a write waits for other processes, at most
     *
     * @throws Failure if APCu is missing or not usable
     */
    public function __construct(private readonly string $prefix, string $lockFile, float $timeout)
    {
        if (!\extension_loaded('apcu')) {
            throw Failure::because('apcu', 'the extension is not loaded; install php-apcu, or use sqlite: instead');
        }
        if (!\apcu_enabled()) {
            throw Failure::because('apcu', \PHP_SAPI === 'cli'
                ? 'it is off on the command line; run php with -d apc.enable_cli=1'
                : 'it is off; set apc.enabled=1 in php.ini');
        }
        if (\in_array(\ini_get('apc.slam_defense'), ['1', 'on', 'On'], true)) {
            throw Failure::because('apcu', 'apc.slam_defense drops writes at random; set it to 0 in php.ini');
        }
        $this->lock = new FileLock('apcu', $lockFile, $timeout);
        $this->known = new JournalIndex(0);
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $this->look();
        if ($epoch !== $this->epoch || $position > $this->end) {
            return new JournalSlice($this->epoch, $this->end, '', false);
        }
        $end = $this->end;
        $list = $position === $end ? [] : $this->cover($position)->after($position);

        return new JournalSlice($epoch, $end, '', $list !== null, $list ?? []);
    }

    public function read(array $keys): Snapshot
    {
        // First: the records are sure to contain only the changes done before they were fetched.
        $this->look();
        $start = "$this->prefix.$this->epoch.r.";
        $records = [];
        foreach ($keys as $key) {
            $bytes = \apcu_fetch($start . $key, $found);
            if ($found && \is_string($bytes)) {
                [$record, $isOver] = self::decode($bytes);
                if (!$isOver) {
                    $records[$key] = $record;
                }
            }
        }

        return new Snapshot($this->epoch, $this->done, $records);
    }

    public function write(array $changes): array
    {
        Quiet::begin();
        try {
            $this->lock->exclusive();
            try {
                if (!$this->load()) {
                    $this->start();
                }
                $outcomes = [];
                foreach ($changes as $change) {
                    $outcomes[] = $this->apply($change);
                }
                $this->done = $this->end;
                $this->save();
            } finally {
                $this->lock->release();
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
        // APCu by itself removes expired records, and evicts when it needs memory.
    }

    public function each(): iterable
    {
        $this->look();
        $start = "$this->prefix.$this->epoch.r.";
        $all = new \APCUIterator('/\A' . \preg_quote($start, '/') . '/', \APC_ITER_KEY | \APC_ITER_VALUE);
        foreach ($all as $name => $entry) {
            if (\is_array($entry) && \is_string($entry['value'])) {
                [$record, $isOver] = self::decode($entry['value']);
                if (!$isOver) {
                    yield \substr((string) $name, \strlen($start)) => $record;
                }
            }
        }
    }

    public function stats(): array
    {
        $this->look();
        $all = new \APCUIterator('/\A' . \preg_quote("$this->prefix.$this->epoch.r.", '/') . '/', \APC_ITER_MEM_SIZE);

        return [
            'engine' => 'apcu',
            'entries' => $all->getTotalCount(),
            'bytes' => $all->getTotalSize(),
            'budget' => $this->room(),
        ];
    }

    private function apply(Change $change): Outcome
    {
        if (!$change->isOf($this->epoch)) {
            return new Outcome(false, -1);
        }
        $key = $change->key;
        $name = "$this->prefix.$this->epoch.r.$key";
        [$record, $isOver] = $this->fetch($key);
        // Made anew each time: two objects that refer to each other would keep their file open.
        $conflict = (new WriteConditions(fn(string $key): ?Record => $this->fetch($key)[0], $this->cover(...)))->conflict($change, $record);
        if ($conflict === null && $change->body !== null && \strlen($change->body) > self::LARGE && \strlen($change->body) > $this->room() >> 1) {
            // APCu would drop everything before it finds that this body is too large (apc_cache.c, default expunge).
            $conflict = [-1, '', '', null];
        }
        if ($conflict !== null) {
            return new Outcome(false, $conflict[0], $conflict[1], 0, $conflict[2], $isOver ? null : $record, $conflict[3]);
        }
        [$previous, $writer] = WriteConditions::before($key, $record, $this->cover(Change::ALWAYS));
        if ($change->logged) {
            $position = $this->announce($change);
        } else {
            $position = ++$this->version;
            $this->save();
        }
        if ($change->body === null) {
            \apcu_delete($name);
        } elseif (!\apcu_store($name, \pack('JJC', $position, $change->expiry, \strlen($change->writer)) . $change->writer . $change->body, self::ttl($change->expiry))) {
            // No memory: the write is refused, and the old record, which must no longer be read, is deleted.
            \apcu_delete($name);

            return Outcome::refused();
        }

        return new Outcome(true, $position, $writer, $previous, WriteConditions::kind($record));
    }

    /** Bytes of one segment of shared memory. */
    private function room(): int
    {
        if ($this->room === 0) {
            $memory = \apcu_sma_info(true);
            $size = \is_array($memory) ? $memory['seg_size'] ?? 0 : 0;
            $this->room = \is_numeric($size) ? (int) $size : 0;
        }

        return $this->room;
    }

    /** Appends the change to the journal. */
    private function announce(Change $change): int
    {
        $position = $this->end + 1;
        $kind = $change->kind[0] ?? 's';
        $entry = \pack('J', $position) . $kind . \chr(\strlen($change->writer)) . $change->writer . $change->key;
        if (!\apcu_store($this->slot($position), $entry)) {
            throw Failure::because('apcu', 'it has no memory left for the journal; raise apc.shm_size');
        }
        $this->end = $position;
        $this->save();
        if ($this->read === $position - 1) {
            $this->known->add($change->key, $position, $change->writer, $kind);
            $this->read = $position;
        }

        return $position;
    }

    /** @throws Failure */
    private function save(): void
    {
        if (!\apcu_store("$this->prefix.state", $this->epoch . \pack('JJJ', $this->end, $this->done, $this->version) . self::FORMAT)) {
            throw Failure::because('apcu', 'it has no memory left; raise apc.shm_size');
        }
    }

    /**
     * Reads the shared state; takes the lock only if there is none.
     *
     * @throws Failure
     */
    private function look(): void
    {
        if ($this->load()) {
            return;
        }
        Quiet::begin();
        try {
            $this->lock->exclusive();
            try {
                $this->load() || $this->start();
            } finally {
                $this->lock->release();
            }
        } finally {
            Quiet::end();
        }
    }

    /** @phpstan-impure */
    private function load(): bool
    {
        $state = \apcu_fetch("$this->prefix.state");
        if (!\is_string($state) || \strlen($state) !== 41 || $state[40] !== self::FORMAT) {
            return false;
        }
        /** @var array{epoch: string, end: int, done: int, version: int} $field */
        $field = \unpack('a16epoch/Jend/Jdone/Jversion', $state);
        if ($field['epoch'] !== $this->epoch) {
            $this->known = new JournalIndex($field['end']);
            $this->read = $this->asked = $field['end'];
            $this->epoch = $field['epoch'];
        }
        $this->end = $field['end'];
        $this->done = $field['done'];
        $this->version = $field['version'];

        return true;
    }

    /** Begins a new epoch. Nobody reads the old one's records again; APCu evicts them when it needs memory. */
    private function start(): void
    {
        $this->epoch = \bin2hex(\random_bytes(8));
        $this->end = $this->done = $this->version = $this->read = $this->asked = 0;
        $this->known = new JournalIndex(0);
        $this->save();
    }

    /**
     * The journal's changes up to its end, from this position on if it reaches back so far.
     *
     * @param ?string $writer whose own changes need not be known
     */
    private function cover(int $position, ?string $writer = null): JournalIndex
    {
        if ($position < $this->known->floor($writer) && $position < $this->asked) {
            $from = \max($position, $this->end - self::RING, 0);
            $this->asked = $position < $from ? \PHP_INT_MIN : $position;
            // What this object has seen may reach further back than the ring, for changes of $writer.
            if ($from < $this->known->floor($writer)) {
                $this->known = new JournalIndex($from, self::RING);
                $this->read = $from;
            }
        }
        while ($this->read < $this->end) {
            $position = $this->read + 1;
            $entry = \apcu_fetch($this->slot($position));
            if (!\is_string($entry) || \substr($entry, 0, 8) !== \pack('J', $position)) {
                // APCu has evicted the slot, or a newer change has replaced it: everything up to it is unknown.
                $this->known = new JournalIndex($position, self::RING);
            } else {
                $length = \ord($entry[9]);
                $this->known->add(\substr($entry, 10 + $length), $position, \substr($entry, 10, $length), $entry[8]);
            }
            $this->read = $position;
        }

        return $this->known;
    }

    private function slot(int $position): string
    {
        return "$this->prefix.$this->epoch.l." . $position % self::RING;
    }

    /** @return array{?Record, bool} a key's record, and whether it has expired: an expired record still counts as a change */
    private function fetch(string $key): array
    {
        $bytes = \apcu_fetch("$this->prefix.$this->epoch.r.$key", $found);

        return $found && \is_string($bytes) ? self::decode($bytes) : [null, false];
    }

    /** @return array{Record, bool} a record, without its body if it has expired; and whether it has */
    private static function decode(string $bytes): array
    {
        /** @var array{position: int, expiry: int, writer: int} $head */
        $head = \unpack('Jposition/Jexpiry/Cwriter', $bytes);
        $isOver = $head['expiry'] !== 0 && $head['expiry'] < Clock::now();

        return [new Record($isOver ? '' : \substr($bytes, 17 + $head['writer']), $head['position'], \substr($bytes, 17, $head['writer'])), $isOver];
    }

    /** Seconds to live for APCu, some more than needed; 0: no expiry. */
    private static function ttl(int $expiry): int
    {
        if ($expiry === 0) {
            return 0;
        }
        // With apc.use_request_time APCu counts from the start of the request (apc.c, apc_time()), so count from the earlier
        // of the two times. The record holds the exact expiry; APCu's may only be later.
        $now = \time();
        $from = $_SERVER['REQUEST_TIME'] ?? $now;
        $ttl = \intdiv($expiry - Clock::now(), 1000) + 2 + $now - \min($now, \is_int($from) ? $from : $now);

        return $ttl > self::LONGEST ? 0 : \max(1, $ttl);
    }
}
