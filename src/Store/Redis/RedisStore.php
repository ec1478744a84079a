<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

use Larder\Store\Change;
use Larder\Store\Changes;
use Larder\Store\Outcome;
use Larder\Store\Record;
use Larder\Store\Store;
use Larder\Store\StoreFailure;
use Larder\Store\View;

/**
 * Records and their log in a Redis (5 or newer) or Valkey server, shared by all servers that reach it.
 *
 * This folder: the store; Script, the steps that the server does in one piece, and where everything lies there;
 * Connection, one over each library; Endpoint, the address.
 *
 * Why nothing of a restarted server is read: each new connection first compares the server's run id, which is new
 * with each start, with the one under which the epoch began, and begins a new epoch if it differs, whatever data
 * the server has loaded. A connection cannot outlive its server, and never reconnects unseen. What can be lost
 * under a living connection (eviction, FLUSHDB, a replica that takes over another's data) takes the head with it,
 * or sets it back, and every call looks at the head in the same step as at the records.
 */
final class RedisStore implements Store
{
    /** How often a call follows to a new epoch before it gives up. */
    private const ATTEMPTS = 3;

    /** Milliseconds that a record outlives its expiry: clocks differ, and the body has the exact one. */
    private const MARGIN = 5000;

    /**
     * Milliseconds, 317 years: beyond what any expiry means, and within what Redis can add to its clock. Records
     * without an expiry get this one, all but Change::KEPT, so that the policies volatile-* evict them, and never
     * those, nor the head and the log.
     */
    private const LONGEST = 10_000_000_000_000;

    /** Bytes of a body from which it goes past Lua, as a key of its own: it costs two commands more. */
    private const LARGE = 1000;

    /** Milliseconds for which such a body may be under way. */
    private const UNDER_WAY = '60000';

    private readonly string $head;
    private readonly string $sweep;
    private readonly Script $open;
    private readonly Script $write;
    private readonly Script $put;

    /** Number of the connection on which $epoch was last found good; 0: to be asked again. */
    private int $connectionNumber = 0;
    private string $epoch = '';
    /** The newest position that this store has seen in $epoch. */
    private int $seen = 0;
    /** The epoch that was last told to the caller: the one that his limits belong to. */
    private string $told = '';
    /** Former epochs have left keys. */
    private bool $unswept = false;

    /** @param string $prefix any bytes; what several caches on one server differ by */
    public function __construct(private readonly Connection $connection, private readonly string $prefix)
    {
        $this->head = $prefix . ':head';
        $this->sweep = $prefix . ':sweep';
        $this->open = Script::open();
        $this->write = Script::write();
        $this->put = Script::put();
    }

    public function since(string $epoch, int $position, string $token): Changes
    {
        $reply = $this->open($epoch, $position, []);
        $list = [];
        if (\is_array($reply[4])) {
            foreach ($reply[4] as $entry) {
                if (\is_array($entry) && \is_string($entry[0] ?? null) && \is_array($entry[1] ?? null)) {
                    [, $key, , $writer, , $kind] = $entry[1] + ['', '', '', '', '', ''];
                    if (\is_string($key) && \is_string($writer) && \is_string($kind)) {
                        $list[] = [$key, (int) $entry[0], $writer, $kind];
                    }
                }
            }
        }

        return new Changes($this->told = $this->epoch, $this->seen, '', $reply[3] === 1, $list);
    }

    public function read(array $keys): View
    {
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            if ($this->connection->ready() !== $this->connectionNumber) {
                $values = \array_slice($this->open('', 0, $keys), 5);
                if (\count($values) === \count($keys)) {
                    break;
                }
            }
            $command = ['MGET', $this->head];
            $base = $this->base() . 'r:';
            foreach ($keys as $key) {
                $command[] = $base . $key;
            }
            [$values] = $this->connection->run([$command]);
            $head = \is_array($values) ? \array_shift($values) : null;
            if (\is_string($head) && \str_starts_with($head, $this->epoch . ' ')
                && ($end = (int) \substr($head, \strlen($this->epoch) + 1)) >= $this->seen) {
                $this->seen = $end;
                break;
            }
            $values = null;
            $this->connectionNumber = 0;
        }
        if (!\is_array($values ?? null)) {
            throw $this->failure('its data are replaced again and again');
        }
        $records = [];
        foreach ($keys as $i => $key) {
            $value = $values[$i] ?? null;
            if (\is_string($value) && \strlen($value) >= Script::HEADER) {
                $records[$key] = self::record($value);
            }
        }

        return new View($this->told = $this->epoch, $this->seen, $records);
    }

    public function write(array $changes): array
    {
        $outcomes = [];
        $refusal = null;
        $again = false;
        for ($attempt = 0; $attempt < self::ATTEMPTS; ++$attempt) {
            $this->ready();
            $calls = $bodies = [];
            foreach ($changes as $i => $change) {
                if (isset($outcomes[$i])) {
                    continue;
                }
                // Limits are positions of the epoch that the caller knows; in another they mean nothing.
                $limited = $change->limit !== Change::ALWAYS || $change->guards !== [];
                if ($limited && ($attempt > 0 || ($this->told !== '' && $this->told !== $this->epoch))) {
                    $outcomes[$i] = new Outcome(false, -1);
                } else {
                    $large = '';
                    if ($change->body !== null && \strlen($change->body) >= self::LARGE) {
                        $large = $this->base() . 't:' . \bin2hex(\random_bytes(8));
                        $room = \str_repeat('.', Script::HEADER);
                        $bodies[] = ['SET', $large, $room . $change->body, 'PX', self::UNDER_WAY];
                    }
                    // Of several, one that went the long way after all would come after the others.
                    $isShort = !$again && !$limited && $large === '' && $change->logged && !$change->strict && \count($changes) === 1;
                    $calls[$i] = $isShort ? [$this->put, $this->shortCall($change)] : [$this->write, $this->call($change, $large)];
                }
            }
            if ($calls === []) {
                break;
            }
            $lost = $again = false;
            foreach ($this->evaluate($calls, $bodies) as $i => $reply) {
                if (!\is_array($reply) || $reply[0] === 2) {
                    $lost = true;
                } elseif ($reply[0] === 4) {
                    $again = true;
                } elseif ($reply[0] === 3) {
                    $refusal ??= \is_string($reply[1]) ? $reply[1] : '';
                    $outcomes[$i] = Outcome::refused();
                } else {
                    $outcomes[$i] = $this->outcome($changes[$i], $reply);
                }
            }
            if ($lost) {
                $this->connectionNumber = 0;
            } elseif (!$again) {
                break;
            }
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

    /** What is evicted is for the server's maxmemory-policy to say, today or tomorrow; and a full one drops (Script). */
    public function forgets(): bool
    {
        return true;
    }

    public function tidy(): void
    {
        if (!$this->unswept || !$this->connection->isOpen()) {
            return;
        }
        try {
            $pattern = self::quote($this->prefix) . ':' . \str_repeat('?', 16) . ':*';
            $call = ['2', $this->head, $this->sweep, $pattern, (string) \strlen($this->prefix)];
            [$more] = $this->evaluate([[Script::sweep(), $call]]);
            $this->unswept = $more === 1;
        } catch (StoreFailure) {
            $this->unswept = false;
        }
    }

    /** In no order; a key that is there all the while is given at least once (the documentation of SCAN). */
    public function each(): iterable
    {
        $cursor = '0';
        do {
            $this->ready();
            $base = $this->base() . 'r:';
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

    /** Of more than a thousand keys in the database a sample is counted and weighed. */
    public function stats(): array
    {
        $this->ready();
        [$reply] = $this->evaluate([[Script::stats(), ['0', $this->base() . 'r:']]]);
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
     * @throws StoreFailure
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
                // A longer prefix may look like this one with an epoch.
                if (\is_string($name) && \preg_match('/^[0-9a-f]{16}:([ji]$|[rt]:)/', \substr($name, \strlen($this->prefix) + 1)) === 1) {
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

    private function ready(): void
    {
        if ($this->connection->ready() !== $this->connectionNumber) {
            $this->open('', 0, []);
        }
    }

    /**
     * Finds the epoch or begins one, and whatever else Script::open() can tell in the same round trip.
     *
     * @param list<string> $keys
     *
     * @return array<int, mixed>
     */
    private function open(string $epoch, int $position, array $keys): array
    {
        $number = $this->connection->ready();
        [$reply] = $this->evaluate([[$this->open, [
            '2',
            $this->head,
            $this->sweep,
            $this->prefix,
            \bin2hex(\random_bytes(8)),
            $number === $this->connectionNumber ? '' : '1',
            $this->epoch,
            (string) $this->seen,
            $epoch,
            (string) $position,
            ...$keys,
        ]]]);
        if (!\is_array($reply) || !\is_string($reply[0] ?? null) || !\is_int($reply[1] ?? null)) {
            throw $this->failure('a script was answered by something else');
        }
        [$this->epoch, $this->seen] = $reply;
        $this->unswept = ($reply[2] ?? 0) === 1;
        $this->connectionNumber = $number;

        return \array_values($reply + [2 => 0, 3 => 0, 4 => []]);
    }

    /**
     * @param string $large the key that has the body, '' if it goes along
     *
     * @return non-empty-list<string> what Script::write() wants to know
     */
    private function call(Change $change, string $large): array
    {
        $base = $this->base();
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
            $this->left($change),
            $change->logged ? ($change->strict ? 's' : '') : 'u',
            $change->body === null ? '' : ($large === '' ? '1' : '2'),
            $large === '' ? $change->body ?? '' : $large,
            (string) $this->seen,
            ...$guards,
        ];
    }

    /** @return non-empty-list<string> what Script::put() wants to know */
    private function shortCall(Change $change): array
    {
        $base = $this->base();

        return [
            '4',
            $this->head,
            $base . 'j',
            $base . 'i',
            $base . 'r:' . $change->key,
            $this->epoch,
            $change->key,
            $change->writer,
            $change->kind,
            $this->left($change),
            $change->body === null ? '' : '1',
            $change->body ?? '',
            (string) $this->seen,
        ];
    }

    /** Milliseconds until the server may remove the record; '0': never. */
    private function left(Change $change): string
    {
        if ($change->expiry !== 0) {
            $now = (int) (\microtime(true) * 1000);

            return (string) (\min(\max($change->expiry - $now, 1), self::LONGEST) + self::MARGIN);
        }

        return \in_array($change->body[0] ?? '', Change::KEPT, true) ? '0' : (string) self::LONGEST;
    }

    /** @param array<mixed> $reply of Script::write(), 0 or 1 first */
    private function outcome(Change $change, array $reply): Outcome
    {
        $reply += ['', 0, '', '', '', 0];
        $position = \is_int($reply[1]) ? $reply[1] : -1;
        if ($reply[0] === 1) {
            if ($change->logged && $position > $this->seen) {
                $this->seen = $position;
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
     * Runs a script for each call, all in one round trip; in two if the server does not know it yet.
     *
     * @param non-empty-array<int, array{Script, non-empty-list<string>}> $calls  number of keys, keys, arguments
     * @param list<non-empty-list<string>>                                $before commands that go ahead in the same round trip
     *
     * @return array<int, mixed> a reply for each
     */
    private function evaluate(array $calls, array $before = []): array
    {
        $commands = $before;
        foreach ($calls as [$script, $call]) {
            $commands[] = ['EVALSHA', $script->sha, ...$call];
        }
        $replies = \array_combine(\array_keys($calls), \array_slice($this->connection->run($commands), \count($before)));
        $commands = $brought = [];
        foreach ($replies as $i => $reply) {
            if ($reply === null) {
                // The first one brings the script, the others find it.
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

    private function base(): string
    {
        return $this->prefix . ':' . $this->epoch . ':';
    }

    private function failure(string $what): StoreFailure
    {
        return $this->connection->failure($what);
    }

    private static function record(string $value): Record
    {
        return new Record(\substr($value, Script::HEADER), (int) \substr($value, 0, 16), \substr($value, 32, 12));
    }

    /** As it is for SCAN's MATCH. */
    private static function quote(string $name): string
    {
        return \addcslashes($name, '\\*?[]');
    }
}
