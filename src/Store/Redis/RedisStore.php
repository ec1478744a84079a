<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

use Larder\Driver\Redis\Connection;
use Larder\Driver\Redis\Refused;
use Larder\Store\Change;
use Larder\Store\Journal\JournalSlice;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\Snapshot;
use Larder\Store\Store;
use Larder\System\Clock;
use Larder\System\Failure;

/**
 * Keeps records and their journal in a Redis (5 or newer) or Valkey server, shared by all servers that reach it.
 *
 * This folder holds the store and Script, the atomic steps that the server runs, with the layout of its keys.
 *
 * Why nobody reads anything of a restarted server. Each start gives the server a new run id. A new connection first
 * compares it with the one under which the epoch began, and begins a new epoch if they differ, whatever data the server has
 * loaded. A connection cannot outlive its server, and never reconnects unnoticed. Data lost under a living connection
 * (eviction, FLUSHDB) take the head with them, and every call reads the head in the same step as the records.
 *
 * A server that was set back without a restart has another replication id, which the journal's readers compare. A process
 * that has seen a journal's end, by itself or in an older near tier, finds a lower end, another nonce at that position, or
 * an older epoch: it then begins a new epoch.
 */
final class RedisStore implements Store
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
     * Changes in one round trip: few enough that the network holds all of them at once and the first reply comes soon. With
     * more, the time-out would run until the server has made most of them.
     */
    private const BATCH = 200;

    /** Records that Script::open() may read along; more of them are worth a round trip of MGET. */
    private const MANY = 1000;

    /** Bytes from which a body is sent past Lua, as a key of its own, which costs two more commands. */
    private const LARGE = 1000;

    /**
     * Nanoseconds after which a read that finds a new end compares the journal with the end that was seen before. No server
     * is set back, and then outgrows that end, in so short a time.
     */
    private const COMPARED = 250_000;

    /** Reads that expect another new end after one. */
    private const BUSY = 64;

    /** Milliseconds after which such a body expires if no script has used it. */
    private const UNDER_WAY = '60000';

    private readonly string $head;
    private readonly string $sweep;
    private readonly Script $open;
    private readonly Script $write;
    private readonly Script $put;

    /** Number of the connection on which $epoch was last confirmed; 0: must be confirmed again. */
    private int $connectionNumber = 0;
    private string $epoch = '';
    /** Begins the names of the epoch's keys. */
    private string $base = '';
    /**
     * The newest end that this store has seen in $epoch, and the same end with its nonce. Both are written in one step: a
     * signal handler may throw anywhere, and an end with another end's nonce would look like a server that was set back.
     *
     * @var array{int, string}
     */
    private array $seen = [0, ''];
    /** Milliseconds, at least, that the server's clock is ahead of this machine's; null: not known yet. */
    private ?int $ahead = null;
    /** @var array<string, true> names of markers that were read since the last tidy(), a bounded number */
    private array $markers = [];
    /** hrtime() when the server's journal last agreed with $seen. */
    private int $compared = 0;
    /** Reads left that expect others to have moved the journal's end. */
    private int $moving = 0;
    /** Begins at a random number on each connection, so that no two calls of write() have the same nonce. */
    private int $nonce = 0;
    /** The epoch last returned to the caller, to which the caller's limits belong. */
    private string $told = '';
    /** True: former epochs have left keys. */
    private bool $unswept = false;

    /** @param string $prefix any bytes; distinguishes several caches on one server */
    public function __construct(private readonly Connection $connection, private readonly string $prefix)
    {
        $this->head = $prefix . ':head';
        $this->sweep = $prefix . ':sweep';
        $this->open = Script::open();
        $this->write = Script::write();
        $this->put = Script::put();
    }

    public function since(string $epoch, int $position, string $token): JournalSlice
    {
        $reply = $this->open($epoch, $position, $token, []);
        $list = [];
        if (\is_array($reply[4])) {
            foreach ($reply[4] as $entry) {
                if (\is_array($entry) && \is_string($entry[0] ?? null) && \is_array($entry[1] ?? null)) {
                    [, $key, , $writer, , $kind] = $entry[1] + ['', '', '', '', '', ''];
                    if (\is_string($key) && \is_string($writer) && \is_string($kind)) {
                        $list[] = [$key, (int) $entry[0], \substr($writer, 0, 12), $kind];
                    }
                }
            }
        }

        return new JournalSlice($this->told = $this->epoch, $this->seen[0], $this->seen[1], $reply[3] === 1, $list);
    }

    public function read(array $keys): Snapshot
    {
        $beside = $values = null;
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            if ($this->connection->ready() !== $this->connectionNumber) {
                $values = \array_slice($this->open('', 0, '', \count($keys) > self::MANY ? [] : $keys), 6);
                if (\count($values) > \count($keys)) {
                    $beside = \array_pop($values);
                    break;
                }
            }
            $values = $this->fetch($keys);
            if ($values !== null) {
                break;
            }
            $this->connectionNumber = 0;
        }
        if ($values === null) {
            throw $this->failure('its data are replaced again and again');
        }
        $records = [];
        foreach ($keys as $i => $key) {
            $value = $values[$i] ?? null;
            if (\is_string($value) && \strlen($value) >= Script::HEADER) {
                $records[$key] = new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12));
                if (\strlen($value) === Script::HEADER + 1 && \count($this->markers) < 64) {
                    $this->markers[$this->base . 'r:' . $key] = true;
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

    public function write(array $changes): array
    {
        $outcomes = [];
        foreach (\count($changes) <= self::BATCH ? [$changes] : \array_chunk($changes, self::BATCH) as $some) {
            $made = $this->put($some);
            $others = \array_slice($some, \count($made));
            /** @var non-empty-list<Outcome> $all */
            $all = $others === [] ? $made : [...$made, ...$this->apply($others)];
            $outcomes[] = $all;
        }

        return \count($outcomes) === 1 ? $outcomes[0] : \array_merge(...$outcomes);
    }

    public function now(): int
    {
        if ($this->ahead === null) {
            $this->ready();
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
        try {
            if ($renews) {
                $this->connection->run(\array_map(static fn(string $name): array => ['PEXPIRE', $name, (string) self::MARKER], \array_keys($markers)));
            }
            if (!$this->unswept) {
                return;
            }
            $pattern = self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*';
            $call = ['2', $this->head, $this->sweep, $pattern, (string) \strlen($this->prefix)];
            [$more] = $this->evaluate([[Script::sweep(), $call]]);
            $this->unswept = $more === 1;
        } catch (Failure) {
            $this->unswept = false;
        }
    }

    /** In no order. Yields every key that exists all the while, at least once (the documentation of SCAN). */
    public function each(): iterable
    {
        $cursor = '0';
        do {
            $this->ready();
            $base = $this->base . 'r:';
            [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', self::quote($base) . '*', 'COUNT', '500']]);
            if (!\is_array($page) || !\is_string($page[0] ?? null) || !\is_array($page[1] ?? null)) {
                throw $this->failure('SCAN was answered by something else');
            }
            $cursor = $page[0];
            $keys = [];
            foreach ($page[1] as $name) {
                if (\is_string($name)) {
                    $keys[] = \substr($name, \strlen($base));
                }
            }
            if ($keys !== []) {
                foreach ($this->read($keys)->records as $key => $record) {
                    yield (string) $key => $record;
                }
            }
        } while ($cursor !== '0');
    }

    /** Estimates from a sample if the database has more than a thousand keys. */
    public function stats(): array
    {
        $this->ready();
        [$reply] = $this->evaluate([[Script::stats(), ['0', $this->base . 'r:']]]);
        [$entries, $bytes, $budget] = \is_array($reply) ? $reply + [0, 0, 0] : [0, 0, 0];

        return [
            'engine' => 'redis',
            'entries' => \is_int($entries) ? $entries : 0,
            'bytes' => \is_int($bytes) ? $bytes : 0,
            'budget' => \is_int($budget) ? $budget : 0,
        ];
    }

    /**
     * Removes every key of this prefix, for when nobody uses it any more.
     *
     * @throws Failure
     */
    public function erase(): void
    {
        $this->connection->ready();
        $cursor = '0';
        do {
            $pattern = self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*';
            [$page] = $this->connection->run([['SCAN', $cursor, 'MATCH', $pattern, 'COUNT', '500']]);
            if (!\is_array($page) || !\is_string($page[0] ?? null) || !\is_array($page[1] ?? null)) {
                throw $this->failure('SCAN was answered by something else');
            }
            $cursor = $page[0];
            $own = [];
            foreach ($page[1] as $name) {
                // Another cache's longer prefix may look like this prefix with an epoch.
                if (\is_string($name) && \preg_match('/^[0-9a-f]{16}:([fij]$|[rt]:)/', \substr($name, \strlen($this->prefix) + 1)) === 1) {
                    $own[] = $name;
                }
            }
            if ($own !== []) {
                $this->connection->run([['UNLINK', ...$own]]);
            }
        } while ($cursor !== '0');
        $this->connection->run([['DEL', $this->head, $this->sweep]]);
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
     * @return ?list<mixed> values of the records; null: the epoch must be confirmed again
     *
     * @throws Failure
     */
    private function fetch(array $keys): ?array
    {
        $command = ['MGET', $this->head];
        foreach ($keys as $key) {
            $command[] = $this->base . 'r:' . $key;
        }
        [$end, $seen] = $this->seen;
        if ($this->moving > 0 && $end > 0) {
            --$this->moving;
            [$values, $entry] = $this->connection->run([$command, $this->seeking($end)]);
        } else {
            [$values] = $this->connection->run([$command]);
            $entry = null;
        }
        $head = \is_array($values) ? \array_shift($values) : null;
        if (!\is_array($values) || !\array_is_list($values) || !\is_string($head)) {
            return null;
        }
        $now = (int) \hrtime(true);
        if (!\str_starts_with($head, $this->epoch . ' ' . $seen . ' ')) {
            [$epoch, $last] = \explode(' ', $head) + ['', ''];
            if ($epoch !== $this->epoch || (int) $last <= $end) {
                return null;
            }
            if ($end > 0 && $now - $this->compared > self::COMPARED) {
                $entry ??= $this->connection->run([$this->seeking($end)])[0];
                if ($end . '-' . self::nonceOf($entry) !== $seen) {
                    return null;
                }
            }
            $this->seen = [(int) $last, $last];
            $this->moving = self::BUSY;
        }
        $this->compared = $now;

        return $values;
    }

    /** @return non-empty-list<string> the command that asks for the journal's entry at an end that was seen */
    private function seeking(int $end): array
    {
        return ['XRANGE', $this->base . 'j', $end . '-0', $end . '-0'];
    }

    /**
     * Makes the first of these changes by one call of Script::put(), up to one that must be compared with more than PUT does.
     *
     * @param non-empty-list<Change> $changes
     *
     * @return list<Outcome> of those that were made
     *
     * @throws Failure
     */
    private function put(array $changes): array
    {
        $this->ready();
        if ($this->told === '') {
            $this->told = $this->epoch;
        }
        $knows = $this->told === $this->epoch;
        $nonce = $this->nonce();
        $writer = $changes[0]->writer;
        $records = $this->base . 'r:';
        $keys = [$this->head, $this->base . 'j', $this->base . 'i'];
        $arguments = [$this->epoch . ' ' . $this->seen[1] . ' ', $writer . $nonce];
        $bodies = [];
        foreach ($changes as $change) {
            $limited = $change->limit !== Change::ALWAYS;
            $guards = $change->guards;
            if (!$change->logged || $change->strict || $change->writer !== $writer || ($change->epoch !== '' && $change->epoch !== $this->epoch)
                || (!$knows && ($limited || $guards !== []))) {
                return [];
            }
            $body = $change->body;
            $end = $body === null ? '-' : $this->end($change);
            if ($body !== null && \strlen($body) >= self::LARGE) {
                $bodies[] = $sent = $this->ahead($body);
                $body = $sent[1];
                $end = '@' . $end;
            }
            $keys[] = $records . $change->key;
            $arguments[] = $change->key;
            $arguments[] = $change->kind;
            $arguments[] = $limited ? (string) $change->limit : '';
            $arguments[] = (string) \count($guards);
            $arguments[] = $end;
            $arguments[] = $body ?? '';
            foreach ($guards as $key => $limit) {
                $keys[] = $records . $key;
                $arguments[] = (string) $limit;
            }
        }
        $command = ['EVALSHA', $this->put->sha, (string) \count($keys), ...$keys, ...$arguments];
        try {
            if ($bodies !== [] && \count($changes) > 1) {
                // With several changes it must be known which were made, even if a body is refused.
                $this->connection->run($bodies, \count($bodies));
                $bodies = [];
            }
            $replies = $this->connection->run($bodies === [] ? [$command] : [...$bodies, $command], \count($bodies));
        } catch (Refused) {
            return [];
        }
        $reply = $replies[\count($bodies)];
        if ($reply === null) {
            [$reply] = $this->connection->run([['EVAL', $this->put->lua, ...\array_slice($command, 2)]]);
        }
        if (!\is_string($reply) || $reply === '') {
            $this->connectionNumber = 0;

            return [];
        }
        $told = \explode(' ', $reply);
        $end = (int) $told[0];
        $made = \intdiv(\count($told), 3);
        $outcomes = [];
        for ($i = 1, $position = $end - $made; ++$position <= $end; $i += 3) {
            $outcomes[] = new Outcome(true, $position, $told[$i + 1], (int) $told[$i], $told[$i + 2]);
        }
        if ($outcomes !== [] && $end > $this->seen[0]) {
            $this->seen = [$end, $end . '-' . $nonce];
        }

        return $outcomes;
    }

    /**
     * Makes changes by one call of Script::write() each.
     *
     * @param non-empty-list<Change> $changes
     *
     * @return non-empty-list<Outcome>
     */
    private function apply(array $changes): array
    {
        $outcomes = [];
        $refusal = null;
        $inline = false;
        $nonce = $this->nonce();
        $told = $this->told;
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            $this->ready();
            $calls = $bodies = [];
            foreach ($changes as $i => $change) {
                if (isset($outcomes[$i])) {
                    continue;
                }
                // Limits are positions of the epoch that the caller knows. In another epoch they mean nothing.
                $limited = $change->limit !== Change::ALWAYS || $change->guards !== [];
                if (!$change->isOf($this->epoch) || ($limited && $told !== $this->epoch)) {
                    $outcomes[$i] = new Outcome(false, -1);
                } else {
                    $large = '';
                    if (!$inline && $change->body !== null && \strlen($change->body) >= self::LARGE) {
                        $bodies[] = $sent = $this->ahead($change->body);
                        $large = $sent[1];
                    }
                    $calls[$i] = [$this->write, $this->call($change, $large, $nonce)];
                }
            }
            if ($calls === []) {
                break;
            }
            try {
                if ($bodies !== [] && \count($calls) > 1) {
                    // With several changes it must be known which were made, even if a body is refused.
                    $this->connection->run($bodies, \count($bodies));
                    $bodies = [];
                }
                $replies = $this->evaluate($calls, $bodies);
            } catch (Refused) {
                if (\count($calls) > 1) {
                    $inline = true;
                    continue;
                }
                $outcomes[\array_key_first($calls)] = Outcome::refused();
                break;
            }
            $lost = false;
            foreach ($replies as $i => $reply) {
                if (!\is_array($reply) || $reply[0] === 2) {
                    $lost = true;
                } elseif ($reply[0] === 3) {
                    $error = \is_string($reply[1]) ? $reply[1] : '';
                    // A full server still answers the others.
                    $refusal ??= \str_contains($error, 'OOM') ? null : $error;
                    $outcomes[$i] = Outcome::refused();
                } else {
                    $outcomes[$i] = $this->outcome($changes[$i], $reply, $nonce);
                }
            }
            if (!$lost) {
                break;
            }
            $this->connectionNumber = 0;
        }
        if ($refusal !== null) {
            throw $this->connection->refusal($refusal);
        }
        if (\count($outcomes) !== \count($changes)) {
            throw $this->failure('its data are replaced again and again');
        }
        \ksort($outcomes);

        return \array_values($outcomes);
    }

    private function ready(): void
    {
        if ($this->connection->ready() !== $this->connectionNumber) {
            $this->open('', 0, '', []);
        }
    }

    /**
     * Finds the epoch or begins one. The same round trip brings whatever else Script::open() returns.
     *
     * @param list<string> $keys
     *
     * @return array<int, mixed>
     */
    private function open(string $epoch, int $position, string $token, array $keys): array
    {
        $number = $this->connection->ready();
        $sent = Clock::now();
        [$reply] = $this->evaluate([[$this->open, [
            '2',
            $this->head,
            $this->sweep,
            $this->prefix,
            \substr(\bin2hex(\random_bytes(3)), 1),
            $number === $this->connectionNumber ? '' : '1',
            $this->epoch,
            $this->seen[1],
            $epoch,
            (string) $position,
            $token,
            ...$keys,
        ]]]);
        if (!\is_array($reply) || !\is_string($reply[0] ?? null) || !\is_string($reply[1] ?? null) || !\is_int($reply[5] ?? null)) {
            throw $this->failure('a script was answered by something else');
        }
        if ($this->epoch !== $reply[0]) {
            $this->seen = [0, ''];
            $this->epoch = $reply[0];
            $this->base = $this->prefix . ':' . $this->epoch . ':';
        }
        $this->seen = [(int) $reply[1], $reply[1]];
        $this->compared = (int) \hrtime(true);
        $this->unswept = ($reply[2] ?? 0) === 1;
        $this->learnClock($reply[5], $sent, $number !== $this->connectionNumber);
        $this->nonce = \random_int(1 << 44, 14 << 44);
        $this->connectionNumber = $number;

        return \array_values($reply);
    }

    /**
     * Learns the server's clock, which the server read between the command and its reply. now() is never later than that
     * clock, so that no process counts a record as expired that the server still has. Of several readings the closest one
     * counts, until the server's clock turns out to have been set back.
     */
    private function learnClock(int $time, int $sent, bool $anew): void
    {
        $least = $time - Clock::now() - 1;
        $this->ahead = $this->ahead === null || $anew || $time + 1 - $sent < $this->ahead ? $least : \max($this->ahead, $least);
    }

    /**
     * @param string $large the key that holds the body; '': the call contains it
     *
     * @return non-empty-list<string> keys and arguments of Script::write()
     */
    private function call(Change $change, string $large, string $nonce): array
    {
        $base = $this->base;
        $keys = [$this->head, $base . 'j', $base . 'i', $base . 'r:' . $change->key];
        $guards = [];
        foreach ($change->guards as $key => $limit) {
            $keys[] = $base . 'r:' . $key;
            $guards[] = (string) $key;
            $guards[] = (string) $limit;
        }

        return [
            (string) \count($keys),
            ...$keys,
            $this->epoch,
            $change->key,
            $change->writer,
            $change->kind,
            $change->limit === Change::ALWAYS ? '' : (string) $change->limit,
            $this->end($change),
            $change->logged ? ($change->strict ? 's' : '') : 'u',
            $change->body === null ? '' : ($large === '' ? '1' : '2'),
            $large === '' ? $change->body ?? '' : $large,
            $this->seen[1],
            $nonce,
            ...$guards,
        ];
    }

    /**
     * The command that brings a large body past Lua.
     *
     * @return array{string, string, string, string, string} the second names the key that will hold it
     */
    private function ahead(string $body): array
    {
        return ['SET', $this->base . 't:' . \bin2hex(\random_bytes(8)), \str_repeat('.', Script::HEADER) . $body, 'PX', self::UNDER_WAY];
    }

    /** Of one call of write(): see Script. */
    private function nonce(): string
    {
        return \dechex(++$this->nonce);
    }

    /** The record's expiry on the server, in the form that the scripts take. */
    private function end(Change $change): string
    {
        return match (true) {
            $change->expiry !== 0 => (string) \max(1, \min($change->expiry, self::LONGEST)),
            ($change->body[0] ?? '') === Change::HELD => '',
            \in_array($change->body[0] ?? '', Change::KEPT, true) => '+' . self::MARKER,
            default => '+' . self::LONGEST,
        };
    }

    /** @param array<mixed> $reply of Script::write(), 0 or 1 first */
    private function outcome(Change $change, array $reply, string $nonce): Outcome
    {
        $reply += ['', 0, '', '', '', 0];
        $position = \is_int($reply[1]) ? $reply[1] : -1;
        if ($reply[0] === 1) {
            if ($change->logged && $position > $this->seen[0]) {
                $this->seen = [$position, $position . '-' . $nonce];
            }

            return new Outcome(true, $position, \is_string($reply[3]) ? $reply[3] : '', \is_int($reply[2]) ? $reply[2] : 0, \is_string($reply[4] ?? null) ? $reply[4] : '');
        }

        return new Outcome(
            false,
            $position,
            writer: \is_string($reply[2]) ? $reply[2] : '',
            kind: \is_string($reply[3]) ? $reply[3] : '',
            record: \is_string($reply[4]) && \strlen($reply[4]) >= Script::HEADER ? self::record($reply[4]) : null,
            guard: \is_int($reply[5]) && $reply[5] > 0 ? (string) \array_keys($change->guards)[$reply[5] - 1] : null,
        );
    }

    /**
     * Runs a script for each call, all in one round trip; in two if the server does not know the script yet.
     *
     * @param non-empty-array<int, array{Script, non-empty-list<string>}> $calls  number of keys, keys, arguments
     * @param list<non-empty-list<string>>                                $before commands to send first, in the same round trip
     *
     * @return array<int, mixed> a reply for each
     *
     * @throws Failure
     * @throws Refused      one of $before was
     */
    private function evaluate(array $calls, array $before = []): array
    {
        $commands = $before;
        foreach ($calls as [$script, $call]) {
            $commands[] = ['EVALSHA', $script->sha, ...$call];
        }
        $replies = \array_combine(\array_keys($calls), \array_slice($this->connection->run($commands, \count($before)), \count($before)));
        $commands = $brought = [];
        foreach ($replies as $i => $reply) {
            if ($reply === null) {
                // The first call sends the script, the others name it.
                [$script, $call] = $calls[$i];
                $commands[$i] = isset($brought[$script->sha]) ? ['EVALSHA', $script->sha, ...$call] : ['EVAL', $script->lua, ...$call];
                $brought[$script->sha] = true;
            }
        }
        if ($commands !== []) {
            foreach (\array_combine(\array_keys($commands), $this->connection->run(\array_values($commands))) as $i => $reply) {
                $replies[$i] = $reply;
            }
        }

        return $replies;
    }

    private function failure(string $what): Failure
    {
        return $this->connection->failure($what);
    }

    private static function record(string $value): Record
    {
        return new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12));
    }

    /** The nonce of the journal's entry in a reply of XRANGE. */
    private static function nonceOf(mixed $reply): string
    {
        $entry = \is_array($reply) ? $reply[0] ?? null : null;
        $fields = \is_array($entry) ? $entry[1] ?? null : null;
        $writer = \is_array($fields) ? $fields[3] ?? '' : '';

        return \is_string($writer) ? \substr($writer, 12) : '';
    }

    /** Quotes a name for SCAN's MATCH. */
    private static function quote(string $name): string
    {
        return \addcslashes($name, '\\*?[]');
    }
}
