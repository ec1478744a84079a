<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

use Larder\Driver\Redis\ErrorReply;
use Larder\Driver\Redis\Moved;
use Larder\Driver\Redis\RedisConnection;
use Larder\Driver\Redis\Refused;
use Larder\Store\Change;
use Larder\Store\ChangeResult;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Markers;
use Larder\Store\ReadsOne;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\System\Clock;
use Larder\System\Failure;

/**
 * Keeps records and their journal in a Redis (5 or newer) or Valkey server, shared by all servers that reach it.
 *
 * This folder holds the store; Script, the atomic steps that the server runs, with the layout of its keys; and Watermark, which
 * takes the run id's place where an endpoint hides it.
 *
 * Why no client reads anything of a restarted server. Each start gives the server a new run id. A new connection first
 * compares it with the one under which the epoch began, and begins a new epoch if they differ, whatever data the server has
 * loaded. A connection cannot outlive its server, and never reconnects unnoticed. Data lost under a living connection
 * (eviction, FLUSHDB) take the head with them, and every call reads the head in the same step as the records.
 *
 * A server that was set back without a restart has another replication id, which the journal's readers compare. A process
 * that has seen a journal's end, by itself or in an older near tier, finds a lower end, another nonce at that position, or
 * an older epoch: it then begins a new epoch.
 *
 * A single endpoint hides its run id, and its connections outlive the servers behind it. There each web server keeps such an end
 * in its Watermark, for all of its processes.
 */
final class RedisStore implements ReadsOne
{
    /** New epochs that a call follows before it gives up. */
    private const ATTEMPTS = 3;

    /**
     * Milliseconds, 317 years: beyond any real expiry, and within what Redis can add to its clock. Records without an expiry
     * get this one, so that the volatile-* policies may evict them; intents, head and journal get none.
     */
    private const LONGEST = 10_000_000_000_000;

    /**
     * Milliseconds, 30 days, for which a marker of a flush or a tag's invalidation stays after its last use, which is now and then
     * noted: a write that depends on it, or a read (Script has the same number). A missing marker is made anew, and what it covers
     * counts as invalidated. So no marker must stay for ever, and the server may evict it.
     */
    private const MARKER = 2_592_000_000;

    /** One in this many requests renews the markers that it has read. */
    private const RENEWAL = 64;

    /**
     * Changes in one round trip, as 200 values and a new tag of each: few enough that the network holds all of them at once
     * and the first reply comes soon. With more, the time-out would run until the server has made most of them.
     */
    private const BATCH = 400;

    /** Records whose sizes stats() asks for. */
    private const WEIGHED = 100;

    /** Records that Script::OPEN may read along; more of them are worth a round trip of MGET. */
    private const MANY = 1000;

    /** Keys of records in one command to a single endpoint, which takes 1,000 in all. */
    private const DECLARED = 990;

    /** Bytes from which a body is sent past Lua, as a key of its own, which costs two more commands. */
    private const LARGE = 1000;

    /**
     * Nanoseconds after which a read that finds a new end compares the journal with the end that was seen before. No server
     * is set back, and then outgrows that end, in so short a time. Behind a single endpoint another one may have done so for
     * others already.
     */
    private const COMPARED = 250_000;

    /** Reads that expect another new end after one. */
    private const BUSY = 64;

    /** Before such a body, to be replaced by its header. */
    private const ROOM = '.............................................';

    /** Milliseconds after which such a body expires if no script has used it. */
    private const UNDER_WAY = '60000';

    private readonly string $head;

    /** Number of the connection on which $epoch was last confirmed; 0: must be confirmed again. */
    private int $connectionNumber = 0;
    private string $epoch = '';
    /** Begins the names of the epoch's keys, and of its records. */
    private string $names = '';
    private string $base = '';
    /**
     * The newest end that this store has seen in $epoch, and how the head began then: epoch, end and nonce. Both are written in one step: a
     * signal handler may throw anywhere, and an end with another end's nonce would look like a server that was set back.
     *
     * @var array{int, string}
     */
    private array $seen = [0, ''];
    /** Milliseconds, at least, that the server's clock is ahead of this machine's; null: not known yet. */
    private ?int $ahead = null;
    /** False: the time has not been asked for yet, and $ahead is by hrtime(), which costs less than Clock and stands still while the machine sleeps. */
    private bool $isByClock = false;
    /** @var array<string, true> names of markers that were read since the last tidy(), a bounded number */
    private array $markers = [];
    /** hrtime() when the server's journal last agreed with $seen. */
    private int $compared = 0;
    /** Reads left that expect others to have moved the journal's end. */
    private int $moving = 0;
    /** Begins at a random number on each connection, so that no two calls of write() have the same nonce. */
    private int $nonce = 0;
    /** @var array{list<array-key>, string} the guards of the last change by put(), which most later ones have too, and what pack() makes of them */
    private array $guards = [[], ''];
    /** Names this connection: no two bodies under way have the same name. */
    private string $sender = '';
    /** The server's: see Script::OPEN. */
    private string $ids = '';
    /** The epoch last returned to the caller, to which the caller's limits belong. */
    private string $told = '';
    /** True: former epochs have left keys. */
    private bool $unswept = false;
    /** The id of $mark. */
    private string $id = '';

    /**
     * @param string $prefix   any bytes; distinguishes several caches on one server
     * @param bool   $confirms whether a primary that has lost its replicas (min-replicas-to-write) counts as down
     * @param ?Watermark $mark of a single endpoint, which hides its run id and wants all keys of a script declared
     */
    public function __construct(private readonly RedisConnection $connection, private readonly string $prefix, private readonly bool $confirms = false, private readonly ?Watermark $mark = null)
    {
        $this->head = $prefix . ':head';
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $this->connection->begin();
        $reply = $this->open($epoch, $position, $token, []);
        $list = [];
        foreach (\is_array($reply[4]) ? $reply[4] : [] as $entry) {
            $change = self::change($entry);
            $list[] = [\substr($change, Script::HEADER + 12), (int) \substr($change, 0, 16), \substr($change, 32, 12), $change[44] ?? ''];
        }

        return new JournalSlice($this->told = $this->epoch, $this->seen[0], \substr($this->seen[1], 17), $reply[3] === 1, $list);
    }

    public function read(array $keys): Snapshot
    {
        $this->connection->begin();

        return $this->snapshot($keys);
    }

    /**
     * Reads within the call that has begun.
     *
     * @param non-empty-list<string> $keys
     *
     * @throws Failure
     */
    private function snapshot(array $keys): Snapshot
    {
        if ($this->mark !== null && \count($keys) > self::DECLARED) {
            return $this->parts($keys);
        }
        $beside = null;
        for ($attempt = 0; ($values = $this->fetch($keys)) === null; ++$attempt) {
            if ($attempt === self::ATTEMPTS) {
                throw $this->failure('its data are replaced again and again');
            }
            if ($this->connection->ready() !== $this->connectionNumber) {
                $values = \array_slice($this->open('', 0, '', \count($keys) > self::MANY ? [] : $keys), 6);
                if (\count($values) > \count($keys) + 1) {
                    $beside = \array_pop($values);
                    break;
                }
            }
        }
        $records = [];
        foreach ($keys as $i => $key) {
            $value = $values[$i + 1] ?? null;
            if (\is_string($value) && ($length = \strlen($value)) >= Script::HEADER) {
                $records[$key] = new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12));
                if ($length === Script::HEADER + 1 && \count($this->markers) < 64) {
                    $this->markers[$this->base . $key] = true;
                }
            }
        }

        if (!\is_array($beside)) {
            return new Snapshot($this->told = $this->epoch, $this->seen[0], $records);
        }
        $names = [];
        foreach (\array_chunk($beside, 2) as $pair) {
            [$name, $value] = $pair + [1 => null];
            if (\is_string($name) && !isset($records[$name])) {
                $names[] = $name;
                if (\is_string($value) && \strlen($value) >= Script::HEADER) {
                    $records[$name] = self::record($value);
                }
            }
        }

        return new Snapshot($this->told = $this->epoch, $this->seen[0], $records, $names);
    }

    /**
     * Reads more than a single endpoint takes at once. Whatever is read later is at least as new as the snapshot says.
     *
     * @param non-empty-list<string> $keys
     *
     * @throws Failure
     */
    private function parts(array $keys): Snapshot
    {
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            $chunks = \array_chunk($keys, self::DECLARED);
            $whole = $this->snapshot(\array_shift($chunks));
            foreach ($chunks as $some) {
                $this->connection->begin();
                $part = $this->snapshot($some);
                if ($part->epoch !== $whole->epoch) {
                    continue 2;
                }
                $whole->records += $part->records;
            }

            return $whole;
        }
        throw $this->failure('its data are replaced again and again');
    }

    public function readOne(string $key): array|Snapshot
    {
        // What others have moved, and a connection that is not ready, is read()'s.
        try {
            $values = $this->moving > 0 ? false : $this->connection->ask(['MGET', $this->head, $this->base . $key], $this->connectionNumber);
        } catch (Failure $failure) {
            $values = $this->mayHaveMoved($failure) ? false : throw $failure;
        }
        if (!\is_array($values) || !isset($values[0]) || !\is_string($values[0]) || !\str_starts_with($values[0], $this->seen[1])) {
            return $values === false ? $this->read([$key]) : $this->snapshot([$key]);
        }
        $this->compared = $this->connection->used;
        $this->told = $this->epoch;
        $value = $values[1] ?? null;

        return \is_string($value) && isset($value[Script::HEADER - 1])
            ? [\substr($value, Script::HEADER), (int) \substr($value, 0, 16), $this->epoch]
            : [null, $this->seen[0], $this->epoch];
    }

    public function write(array $changes): array
    {
        $this->connection->primary?->change();
        if (\count($changes) === 1 && ($this->mark === null || \count($changes[0]->guards) < self::DECLARED - 1)) {
            $outcome = $this->put($changes[0]);

            return $outcome === null ? $this->apply($changes) : [$outcome];
        }
        $outcomes = $some = [];
        $declared = 0;
        foreach ($changes as $change) {
            $more = $this->mark === null ? 0 : \count($change->guards) + 2;
            if ($more > self::DECLARED) {
                throw $this->failure('an entry has more tags than a single endpoint takes keys in one command; give it fewer than ' . self::DECLARED);
            }
            $declared += $more;
            if ($some !== [] && ($change->writer !== $some[0]->writer || \count($some) === self::BATCH || $declared > self::DECLARED)) {
                $outcomes[] = $this->apply($some);
                $some = [];
                $declared = $more;
            }
            $some[] = $change;
        }
        $last = $this->apply($some);

        return $outcomes === [] ? $last : \array_merge(...$outcomes, ...[$last]);
    }

    public function now(): int
    {
        if ($this->ahead === null || !$this->isByClock) {
            $this->connection->begin();
            if ($this->ahead === null || Clock::behind() !== 0) {
                // This machine has slept, perhaps since the server told its time.
                $this->isByClock = true;
                $this->ahead = null;
                $this->open('', 0, '', []);
            }
            $this->isByClock = true;
        }

        return Clock::now() + (int) $this->ahead;
    }

    /** True: the server's maxmemory-policy decides what it evicts, and may change; and on a full server Script drops records. */
    public function forgets(): bool
    {
        return true;
    }

    public function tidy(): void
    {
        $markers = $this->markers;
        $this->markers = [];
        $renews = $markers !== [] && \random_int(1, self::RENEWAL) === 1;
        if ((!$this->unswept && !$renews) || !$this->connection->isOpen()) {
            return;
        }
        $this->connection->begin();
        try {
            if ($renews) {
                $this->connection->run(\array_map(static fn(string $name): array => ['PEXPIRE', $name, (string) self::MARKER], \array_keys($markers)));
            }
            if (!$this->unswept) {
                return;
            }
            $this->unswept = $this->sweep();
        } catch (Failure $failure) {
            $this->unswept = false;
            // After any other failure the next call connects anew, and finds out which server is the primary.
            $this->connection->isOver() && throw $failure;
        }
    }

    /**
     * Removes keys that former epochs have left, one page of the server's keys a call.
     *
     * @return bool whether there may be more
     */
    private function sweep(): bool
    {
        $sweep = "$this->prefix:sweep";
        // Others may have removed it. In one answer: phpredis tells a missing value from no answer there alone.
        [$both] = $this->connection->run([['MGET', $sweep, $this->head]]);
        [$cursor, $head] = \is_array($both) ? $both : [false, false];
        if (!\is_string($cursor) || !\is_string($head)) {
            return false;
        }
        [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*', 'COUNT', '500']]);
        [$cursor, $names] = $this->connection->page($page);
        // Only older ones: a newer epoch may have begun since the head was read.
        $old = \array_values(\array_filter($this->own($names), fn(string $name): bool => \substr($name, \strlen($this->prefix) + 1, 16) < \substr($head, 0, 16)));
        $commands = [$cursor === '0' ? ['DEL', $sweep] : ['SET', $sweep, $cursor]];
        foreach (\array_chunk($old, self::DECLARED) as $some) {
            $commands[] = ['UNLINK', ...$some];
        }
        $this->connection->run($commands);

        return $cursor !== '0';
    }

    /**
     * Those of the names that are keys of an epoch of this cache: another cache's longer prefix may look like this prefix with
     * an epoch, and the rest of the name tells.
     *
     * @param list<string> $names
     *
     * @return list<string>
     */
    private function own(array $names): array
    {
        return \array_values(\array_filter($names, fn(string $name): bool => \preg_match('/^[0-9a-f]{16}:([ijw]$|[rt]:)/', \substr($name, \strlen($this->prefix) + 1)) === 1));
    }

    /** In no order. Yields every key that exists all the while, at least once (the documentation of SCAN). */
    public function each(): iterable
    {
        $this->connection->begin();
        $this->ready();
        $base = $this->base;
        foreach ($this->scan(self::quote($base) . '*') as $names) {
            foreach ($this->read(\array_map(static fn(string $name): string => \substr($name, \strlen($base)), $names))->records as $key => $record) {
                yield (string) $key => $record;
            }
        }
    }

    /**
     * The names of keys that match a pattern, some at a time.
     *
     * @return iterable<non-empty-list<string>>
     *
     * @throws Failure
     */
    private function scan(string $pattern): iterable
    {
        $cursor = '0';
        do {
            $this->connection->begin();
            $this->connection->ready();
            [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', $pattern, 'COUNT', '500']]);
            [$cursor, $names] = $this->connection->page($page);
            if ($names !== []) {
                yield $names;
            }
        } while ($cursor !== '0');
    }

    /** Estimates from a sample if the database has more than a thousand keys. A single endpoint may not tell more than a record's length. */
    public function stats(): array
    {
        $this->connection->begin();
        $this->ready();
        [$page, $all] = $this->connection->run([['SCAN', '0', 'COUNT', '1000'], ['DBSIZE']]);
        [$cursor, $names] = $this->connection->page($page);
        $own = \array_values(\array_filter($names, fn(string $name): bool => \str_starts_with($name, $this->base)));
        $weighed = \array_slice($own, 0, self::WEIGHED);
        $sizes = $weighed === [] ? [] : $this->connection->run(\array_map(fn(string $name): array => $this->mark === null ? ['MEMORY', 'USAGE', $name] : ['STRLEN', $name], $weighed), \count($weighed));
        $entries = $cursor === '0' || $names === [] || !\is_int($all) ? \count($own) : (int) \round($all * \count($own) / \count($names));
        $bytes = $weighed === [] ? 0 : \array_sum(\array_filter($sizes, \is_int(...))) / \count($weighed) * $entries;
        try {
            $budget = (int) ($this->connection->info('memory')['maxmemory'] ?? 0);
        } catch (ErrorReply) {
            // The ACL user may not ask.
            $budget = 0;
        }

        return [
            'engine' => 'redis',
            'entries' => $entries,
            'bytes' => (int) $bytes,
            'budget' => $budget,
        ];
    }

    /**
     * Removes every key of this prefix, for when it is not used any more.
     *
     * @throws Failure
     */
    public function erase(): void
    {
        foreach ($this->scan(self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*') as $names) {
            foreach (\array_chunk($this->own($names), self::DECLARED) as $own) {
                $this->connection->run([['UNLINK', ...$own]]);
            }
        }
        $this->connection->run([['DEL', $this->head, "$this->prefix:sweep"]]);
        $this->connectionNumber = 0;
    }

    /**
     * Reads records, and in the same step the head, which tells whether the journal is still the one that was seen.
     *
     * As long as its end is the one that was seen, nothing else is compared. An end that others have moved costs a second
     * round trip at first. Where others write, they will again: the next reads send both commands at once.
     *
     * @param non-empty-list<string> $keys
     *
     * @return ?array<mixed> the head and the values of the records; null: the epoch must be confirmed again
     *
     * @throws Failure
     */
    private function fetch(array $keys): ?array
    {
        $command = ['MGET', $this->head];
        foreach ($keys as $key) {
            $command[] = $this->base . $key;
        }
        [$end, $seen] = $this->seen;
        $entry = null;
        try {
            if ($this->moving > 0 && $end > 0) {
                --$this->moving;
                if ($this->connection->ready() !== $this->connectionNumber) {
                    return null;
                }
                [$values, $entry] = $this->connection->run([$command, $this->seeking($end)]);
            } else {
                $values = $this->connection->ask($command, $this->connectionNumber, false);
            }
        } catch (Failure $failure) {
            return $this->mayHaveMoved($failure) ? null : throw $failure;
        }
        // The store has no command that answers with false: another connection is needed.
        if ($values === false) {
            return null;
        }
        $head = \is_array($values) ? $values[0] ?? null : null;
        if (!\is_array($values) || !\is_string($head)) {
            $this->connectionNumber = 0;

            return null;
        }
        $now = (int) \hrtime(true);
        if (!\str_starts_with($head, $seen)) {
            $last = (int) \substr($head, 17, 16);
            $lost = !\str_starts_with($head, $this->epoch . ' ') || $last <= $end;
            if (!$lost && $end > 0 && ($now - $this->compared > self::COMPARED || $this->mark !== null)) {
                $entry ??= $this->connection->run([$this->seeking($end)])[0];
                $lost = \substr(self::change(\is_array($entry) ? $entry[0] ?? null : null), Script::HEADER, 12) !== \substr($seen, 34);
            }
            if ($lost) {
                $this->connectionNumber = 0;

                return null;
            }
            $this->seen = [$last, \substr($head, 0, 46)];
            $this->moving = self::BUSY;
        }
        $this->compared = $now;

        return $values;
    }

    /** @return non-empty-list<string> the command that asks for the journal's entry at an end that was seen */
    private function seeking(int $end): array
    {
        return ['XRANGE', $this->prefix . ':' . $this->epoch . ':j', (string) $end, (string) $end];
    }

    /**
     * Makes one change by the short way of Script::WRITE, if it may be one for it. If anything is in its way there, the same
     * call goes the long way.
     *
     * @return ?ChangeResult null: nothing was done, and apply() must be asked
     *
     * @throws Failure
     */
    private function put(Change $change): ?ChangeResult
    {
        $epoch = $this->epoch;
        [$end, $seen] = $this->seen;
        $body = $change->body;
        $limit = $change->limit;
        $key = $change->key;
        // Not a marker, whose position the head has too; nor what trims the journal, or the call in sixteen that renews markers.
        if ($this->told !== $epoch || $epoch === '' || ($change->epoch !== '' && $change->epoch !== $epoch) || !$change->logged || $change->strict
            || ($limit !== Change::ALWAYS && ($limit > $end || $limit < 0)) || $key[0] === 'f' || $key[0] === 't'
            || ($body !== null && ($body === '' || \in_array($body[0], Change::KEPT, true)))
            || (++$end & Script::TRIMMED - 1) === 0 || (($this->nonce + 1 & 15) === 0 && $change->guards !== [])) {
            return null;
        }
        $next = \str_pad((string) $end, 16, '0', \STR_PAD_LEFT);
        $at = self::limit($limit);
        $guards = '';
        if ($change->guards !== []) {
            foreach ($change->guards as $position) {
                if ($position !== $limit) {
                    return null;
                }
            }
            $markers = \array_keys($change->guards);
            if ($markers !== $this->guards[0]) {
                foreach ($markers as $marker) {
                    if (!Markers::is((string) $marker)) {
                        return null;
                    }
                }
                $this->guards = [$markers, self::pack($markers)];
            }
            $guards = \str_repeat($at, \count($markers)) . $this->guards[1];
        }
        $nonce = \dechex(++$this->nonce);
        $mode = $limit === Change::ALWAYS && $change->kind === 's' ? 'B' : 'F';
        $count = $guards === '' ? "\0\0" : \pack('n', \count($change->guards));
        $expiry = $change->expiry;
        $isLarge = isset($body[self::LARGE - 1]);
        $place = $body === null ? "-$count " : ($isLarge ? '2' : '1') . $count . ($expiry === 0 ? '+' : '=');
        $command = ['EVALSHA', Script::WRITE_HASH, '1', $this->head, "$seen$next-$nonce", $this->names, "$mode$place$at$change->writer$change->kind$nonce$key"];
        $underWay = $this->names . 't:' . $this->sender . $nonce;
        if ($body !== null) {
            $command[] = $isLarge ? $underWay : $body;
            $command[] = $expiry === 0 ? (string) self::LONGEST : (string) \max(1, \min($expiry, self::LONGEST));
        }
        if ($guards !== '') {
            $command[] = $guards;
        }
        if ($this->mark !== null) {
            $command = $this->declare($command, [$change], $isLarge ? [['SET', $underWay]] : []);
        }
        try {
            if ($isLarge) {
                $this->connection->begin();
                if ($this->connection->ready() !== $this->connectionNumber) {
                    return null;
                }
                $reply = $this->evaluate(Script::WRITE, $command, [['SET', $underWay, self::ROOM . $body, 'PX', self::UNDER_WAY]]);
            } else {
                $reply = $this->connection->ask($command, $this->connectionNumber) ?? $this->connection->run([self::whole(Script::WRITE, $command)])[0];
            }
        } catch (Refused) {
            return ChangeResult::refused();
        } catch (Moved) {
            return null;
        }
        if (\is_string($reply) && isset($reply[15]) && $reply[0] !== '+' && $reply[0] !== '-' && $reply[0] !== 'r') {
            $at = isset($reply[16]) ? \substr($reply, 0, 16) : $reply;
            $position = (int) $at;
            $this->seen = [$position, "$epoch $at-$nonce"];
            $this->mark?->made($epoch, "$at-$nonce");

            return isset($reply[16])
                ? new ChangeResult(true, $position, \substr($reply, 48, 12), (int) \substr($reply, 16, 16), isset($reply[16 + Script::HEADER]) ? $reply[60] : '')
                : new ChangeResult(true, $position);
        }
        if ($reply === false) {
            return null;
        }

        return $this->outcomes($reply, [$change], [0], $nonce)[0] ?? null;
    }

    /**
     * The keys of a change's guards, as Script::WRITE takes them.
     *
     * @param list<array-key> $keys
     */
    private static function pack(array $keys): string
    {
        $packed = '';
        foreach ($keys as $key) {
            $packed .= \substr(\pack('N', \strlen((string) $key)), 1) . $key;
        }

        return $packed;
    }

    /**
     * Makes changes by one call of Script::WRITE.
     *
     * @param non-empty-list<Change> $changes of one writer
     *
     * @return non-empty-list<ChangeResult>
     *
     * @throws Failure
     */
    private function apply(array $changes): array
    {
        $outcomes = [];
        $large = self::LARGE;
        $this->connection->begin();
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            if ($this->connectionNumber === 0) {
                $this->ready();
            }
            $epoch = $this->epoch;
            $this->told === '' && $this->told = $epoch;
            // Of one call: see Script.
            $nonce = \dechex(++$this->nonce);
            $command = ['EVALSHA', Script::WRITE_HASH, '1', $this->head, $this->seen[1] . \sprintf('%016d-%s', $this->seen[0] + 1, $nonce), $this->names];
            $bodies = $asked = [];
            foreach ($changes as $i => $change) {
                // Limits are positions of the epoch that the caller knows. In another epoch they mean nothing.
                if (($change->epoch !== '' && $change->epoch !== $epoch) || ($this->told !== $epoch && ($change->limit !== Change::ALWAYS || $change->guards !== []))) {
                    $outcomes[$i] = new ChangeResult(false, -1);
                    continue;
                }
                $asked[] = $i;
                $this->add($command, $change, $nonce, $large, $bodies);
            }
            if ($asked === []) {
                break;
            }
            if ($this->mark !== null) {
                $command = $this->declare($command, $changes, $bodies);
            }
            try {
                if ($bodies !== [] && \count($asked) > 1) {
                    // With several changes it must be known which were made, even if a body is refused.
                    $this->ready();
                    $this->connection->run($bodies, \count($bodies));
                    $bodies = [];
                }
                $reply = $bodies === [] ? $this->connection->ask($command, $this->connectionNumber, false) : false;
                if ($reply === false) {
                    $this->ready();
                    if ($this->epoch !== $epoch) {
                        continue;
                    }
                    $reply = $this->evaluate(Script::WRITE, $command, $bodies);
                } elseif ($reply === null) {
                    $reply = $this->connection->run([self::whole(Script::WRITE, $command)])[0];
                }
            } catch (Moved) {
                // Nothing was done.
                $outcomes = [];
                continue;
            } catch (Refused) {
                if (\count($asked) > 1) {
                    $large = \PHP_INT_MAX;
                    continue;
                }
                $outcomes[$asked[0]] = ChangeResult::refused();
                break;
            }
            $judged = $this->outcomes($reply, $changes, $asked, $nonce);
            if ($judged !== []) {
                $outcomes += $judged;
                break;
            }
        }
        if (\count($outcomes) !== \count($changes)) {
            throw $this->failure('its data are replaced again and again');
        }
        if (\count($outcomes) > 1) {
            \ksort($outcomes);
        }

        return \array_values($outcomes);
    }

    /**
     * Adds to a command what tells Script::WRITE of one change.
     *
     * @param non-empty-list<string>       $command
     * @param int                          $large  bytes from which a body is sent past Lua
     * @param list<non-empty-list<string>> $bodies takes the command for such a body
     */
    private function add(array &$command, Change $change, string $nonce, int $large, array &$bodies): void
    {
        $body = $change->body;
        $place = '-';
        $life = ' ';
        $until = '';
        if ($body !== null) {
            $place = '1';
            if ($change->expiry !== 0) {
                $life = '=';
                $until = (string) \max(1, \min($change->expiry, self::LONGEST));
            } elseif ($body === '' || !\in_array($body[0], Change::KEPT, true)) {
                $life = '+';
                $until = (string) self::LONGEST;
            } elseif ($body[0] !== Change::HELD) {
                $life = '+';
                $until = (string) self::MARKER;
            }
            if (\strlen($body) >= $large) {
                $place = '2';
                $key = $this->names . 't:' . $this->sender . $nonce . \count($bodies);
                $bodies[] = ['SET', $key, self::ROOM . $body, 'PX', self::UNDER_WAY];
                $body = $key;
            }
        }
        // Without a record, a set that compares nothing does not ask what was before: as by the short way.
        $mode = $change->logged ? ($change->strict ? 's' : ($change->limit === Change::ALWAYS && $change->kind === 's' ? 'b' : '-')) : 'u';
        $command[] = $mode . $place . \pack('n', \count($change->guards)) . $life . self::limit($change->limit) . $change->writer . $change->kind . $nonce . $change->key;
        if ($body !== null) {
            $command[] = $body;
            $command[] = $until;
        }
        if ($change->guards !== []) {
            $command[] = \implode('', \array_map(self::limit(...), $change->guards)) . self::pack(\array_keys($change->guards));
        }
    }

    /**
     * A call of Script::WRITE with all keys that it may touch.
     *
     * @param non-empty-list<string>       $command
     * @param non-empty-list<Change>       $changes
     * @param list<non-empty-list<string>> $bodies  commands for bodies past Lua
     *
     * @return non-empty-list<string>
     */
    private function declare(array $command, array $changes, array $bodies): array
    {
        $names = $this->names;
        $keys = ["{$names}j", "{$names}i", "{$names}w", ...\array_column($bodies, 1)];
        foreach ($changes as $change) {
            foreach ([$change->key, ...\array_keys($change->guards)] as $key) {
                $keys[] = $this->base . $key;
            }
        }
        $keys = \array_unique($keys);

        return ['EVALSHA', $command[1], (string) (\count($keys) + 1), $this->head, ...$keys, $command[4] . $this->id, ...\array_slice($command, 5)];
    }

    /** A limit, as Script::WRITE takes it. */
    private static function limit(int $limit): string
    {
        return $limit === Change::ALWAYS ? Script::LIMITLESS : \sprintf('%016d', $limit);
    }

    /**
     * What Script::WRITE says of the changes that went the long way.
     *
     * @param non-empty-list<Change> $changes
     * @param non-empty-list<int>    $asked   those that it was asked to make
     *
     * @return array<int, ChangeResult> of each that it was asked to make; none: the epoch must be confirmed again
     */
    private function outcomes(mixed $reply, array $changes, array $asked, string $nonce): array
    {
        $conflicts = \is_array($reply) && \is_array($reply[1] ?? null) ? $reply[1] : [];
        $words = \is_array($reply) ? $reply[0] ?? '' : $reply;
        if (!\is_string($words) || \strlen($words) !== \count($asked) * 46) {
            $this->connectionNumber = 0;

            return [];
        }
        $outcomes = [];
        $end = 0;
        foreach ($asked as $n => $i) {
            $word = $asked === [0] ? $words : \substr($words, $n * 46, 46);
            if ($word[0] === '+') {
                $position = (int) \substr($word, 1, 16);
                if ($changes[$i]->logged) {
                    $end = $position;
                }
                $previous = (int) \substr($word, 17, 16);
                $outcomes[$i] = new ChangeResult(true, $position, $previous === 0 ? '' : \substr($word, 33, 12), $previous, $word[45] === ' ' ? '' : $word[45]);
            } else {
                $outcomes[$i] = $word[0] === '-' ? self::conflict($changes[$i], \array_shift($conflicts)) : ChangeResult::refused();
            }
        }
        if ($end > $this->seen[0]) {
            $at = \str_pad((string) $end, 16, '0', \STR_PAD_LEFT) . '-' . $nonce;
            $this->seen = [$end, "$this->epoch $at"];
            $this->mark?->made($this->epoch, $at);
        }

        return $outcomes;
    }

    /** Milliseconds since this machine's boot. */
    private function uptime(): int
    {
        return $this->isByClock ? Clock::now() : \intdiv(\hrtime(true), 1_000_000);
    }

    private function ready(): void
    {
        if ($this->connection->ready() !== $this->connectionNumber) {
            $this->open('', 0, '', []);
        }
    }

    /**
     * Finds the epoch or begins one. The same round trip brings whatever else Script::OPEN returns.
     *
     * @param list<string> $keys
     *
     * @return array<mixed>
     */
    private function open(string $epoch, int $position, string $token, array $keys): array
    {
        $number = $this->connection->ready();
        $anew = $number !== $this->connectionNumber;
        $chance = \bin2hex(\random_bytes(17));
        $sent = $this->uptime();
        $mark = $this->mark?->read();
        try {
            $reply = $this->opening($chance, $anew, $mark, $epoch, $position, $token, $keys);
        } catch (Failure $failure) {
            if (!$failure instanceof Moved && ($anew || $failure instanceof ErrorReply)) {
                throw $failure;
            }
            // The primary is elsewhere, or the server has closed the connection. The call's time limits this too.
            $number = $this->connection->ready();
            $anew = true;
            $sent = $this->uptime();
            $reply = $this->opening($chance, $anew, $mark, $epoch, $position, $token, $keys);
        }
        if (!\is_array($reply) || !\is_string($found = $reply[0] ?? null) || !\is_string($end = $reply[1] ?? null) || !\is_int($time = $reply[5] ?? null)) {
            throw $this->failure('a script was answered by something else');
        }
        if ($this->epoch !== $found) {
            $this->seen = [0, ''];
            $this->epoch = $found;
            $this->names = "$this->prefix:$found:";
            $this->base = $this->names . 'r:';
        }
        $this->seen = [(int) $end, "$found $end"];
        if ($this->mark !== null && $mark !== null) {
            $this->id = $mark[0];
            [$found, $end] === [$mark[1], $mark[2]] || $this->mark->found($found, $end, $mark[1]);
        }
        $this->connection->primary?->settle();
        $this->ids = \is_string($reply[6] ?? null) ? $reply[6] : '';
        $this->compared = $this->connection->used;
        $this->unswept = ($reply[2] ?? 0) === 1;
        // The server's clock, which it read between the command and its reply. now() is never later than that clock, so that no
        // process counts a record as expired that the server still has. Of several readings the closest one counts, until the
        // server's clock turns out to have been set back.
        $least = $time - $this->uptime() - 1;
        $this->ahead = $this->ahead === null || $anew || $time + 1 - $sent < $this->ahead ? $least : \max($this->ahead, $least);
        $this->nonce = (1 << 44) + (int) \hexdec(\substr($chance, 5, 12)) % (13 << 44);
        $this->sender = \substr($chance, 17, 16);
        $this->connectionNumber = $number;

        return $reply;
    }

    /**
     * Runs Script::OPEN.
     *
     * @param ?array{string, string, string, int} $mark of Watermark::read()
     * @param list<string>                        $keys
     */
    private function opening(string $chance, bool $anew, ?array $mark, string $epoch, int $position, string $token, array $keys): mixed
    {
        $rest = [$this->epoch, \substr($this->seen[1], 17), $epoch, (string) $position, $token, ...$keys];
        if ($mark === null) {
            return $this->evaluate(Script::OPEN, [
                'EVALSHA', Script::OPEN_HASH, '2', $this->head, "$this->prefix:sweep", $this->prefix, \substr($chance, 0, 5) . ($this->confirms ? '1' : ''),
                $anew ? $this->ask() : $this->ids, ...$rest,
            ]);
        }
        $expected = \max($this->epoch, $mark[1]);
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            $new = self::after($chance, $expected, $this->epoch, $epoch, $mark[1]);
            $names = ["$this->prefix:$new:i", "$this->prefix:$new:w"];
            if ($expected !== '') {
                $base = "$this->prefix:$expected:";
                \array_push($names, "{$base}j", "{$base}w", ...\array_map(static fn(string $key): string => "{$base}r:$key", $keys));
            }
            $reply = $this->evaluate(Script::OPEN, [
                'EVALSHA', Script::OPEN_HASH, (string) (\count($names) + 2), $this->head, "$this->prefix:sweep", ...$names,
                $this->prefix, $new, "!$expected $mark[1] $mark[2] $mark[3] $mark[0]", ...$rest,
            ]);
            if (!\is_string($reply)) {
                return $reply;
            }
            $expected = $reply;
        }
        throw $this->failure('its data are replaced again and again');
    }

    /** The name of a new epoch, newer than these, as far as they are names of this world. */
    private static function after(string $chance, string ...$epochs): string
    {
        $now = $start = (int) (\microtime(true) * 1000);
        foreach ($epochs as $epoch) {
            $begun = \preg_match('/^[0-9a-f]{16}$/D', $epoch) === 1 ? (int) \hexdec(\substr($epoch, 0, 11)) : 0;
            $start = $begun < $now + 86_400_000 ? \max($start, $begun + 1) : $start;
        }

        return \sprintf('%011x', $start) . \substr($chance, 0, 5);
    }

    /** Whether a read may go on elsewhere: where another server may take this one's place, a closed connection is no more than that. */
    private function mayHaveMoved(Failure $failure): bool
    {
        return $failure instanceof Moved || (($this->connection->primary ?? $this->mark) !== null && !$failure instanceof ErrorReply);
    }

    /** What Script::OPEN takes in the place of the server's ids, over a new connection. */
    private function ask(): string
    {
        return '?' . ($this->connection->primary?->since() ?: '');
    }

    /** @param mixed $told of Script::WRITE */
    private static function conflict(Change $change, mixed $told): ChangeResult
    {
        [$position, $writer, $kind, $record, $guard] = (\is_array($told) ? $told : []) + [-1, '', '', null, 0];

        return new ChangeResult(
            false,
            \is_int($position) ? $position : -1,
            writer: \is_string($writer) ? $writer : '',
            kind: \is_string($kind) ? $kind : '',
            record: \is_string($record) && \strlen($record) >= Script::HEADER ? self::record($record) : null,
            guard: \is_int($guard) && $guard > 0 ? (string) \array_keys($change->guards)[$guard - 1] : null,
        );
    }

    /**
     * Runs a script, in a second round trip if the server does not know it yet.
     *
     * @param non-empty-list<string>       $command EVALSHA
     * @param list<non-empty-list<string>> $before  commands to send first, in the same round trip
     *
     * @throws Failure
     * @throws Refused one of $before was
     */
    private function evaluate(string $script, array $command, array $before = []): mixed
    {
        $attempts = \count($before);
        $before[] = $command;
        $reply = $this->connection->run($before, $attempts)[$attempts];

        return $reply ?? $this->connection->run([self::whole($script, $command)])[0];
    }

    /**
     * The same call with the script's text.
     *
     * @param non-empty-list<string> $command EVALSHA
     *
     * @return non-empty-list<string>
     */
    private static function whole(string $script, array $command): array
    {
        return ['EVAL', $script, ...\array_slice($command, 2)];
    }

    private function failure(string $what): Failure
    {
        return $this->connection->failure($what);
    }

    private static function record(string $value): Record
    {
        return new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12));
    }

    /** The field of an entry of the journal: see Script. */
    private static function change(mixed $entry): string
    {
        $fields = \is_array($entry) ? $entry[1] ?? null : null;
        $change = \is_array($fields) ? $fields[1] ?? null : null;

        return \is_string($change) ? $change : '';
    }

    /** Quotes a name for SCAN's MATCH. */
    private static function quote(string $name): string
    {
        return \addcslashes($name, '\\*?[]');
    }
}
