<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Codec\Undecodable;
use Larder\Near\Window;
use Larder\System\Signals;

/**
 * The request tier of one space: holds copies that end with the request.
 *
 * $values holds the values that may be handed out as they are. Encoded in $entries lie values that each reader must
 * decode anew (with objects or references), nulls, arrays not asked for yet, and values whose soft expiry has passed. In $waiting lies what a prefetch has read,
 * until the first get decodes it. Cache binds $values by reference, so a hit costs one array look-up.
 */
final class RequestTier extends Window
{
    /** With more copies, or bytes, than this in one space, the older half is dropped. */
    private const MANY = 20000;
    private const BYTES = 33554432;

    /** @var array<array-key, Entry> */
    public array $entries = [];

    /** @var array<array-key, string> valid bodies without conditions (Entry::isPlain()); none of a key in $values or $entries counts */
    public array $waiting = [];

    /** Gets, and those of them that were no look-up here, of all Cache objects of this space. */
    public int $gets = 0;
    public int $lookups = 0;

    /** Grows when the application adds or drops a copy. */
    private int $turn = 0;
    private int $bytes = 0;

    public function __construct(
        private readonly Codec $codec,
        private readonly History $history,
        private readonly Truth $truth,
        /** The prefix of the space's keys in the stores. */
        private readonly string $names,
    ) {}

    public function __destruct()
    {
        $this->own === [] || $this->history->forgetOwn($this->own);
    }

    public function put(string $key, Entry $entry, mixed &$found = null): mixed
    {
        $before = \memory_get_usage();
        $value = $this->value($key, $entry, $found);
        if (!$found) {
            return null;
        }
        if ($value === null || Codec::isSnapshot($entry->payload) || $this->isStale($entry)) {
            $this->keep($key, $entry);
        } else {
            // An array may take twenty times the memory of its encoded form.
            $this->room(\is_array($value) ? \memory_get_usage() - $before : \strlen($key) + \strlen($entry->payload));
            unset($this->entries[$key], $this->waiting[$key]);
            $this->values[$key] = $value;
            $this->ending($key, $entry);
        }

        return $value;
    }

    /**
     * Keeps bodies without conditions (Entry::isPlain()) until readers ask for them.
     *
     * @param array<array-key, string> $bodies
     */
    public function await(array $bodies, int $bytes): void
    {
        $this->waiting = $bodies + $this->waiting;
        $this->room($bytes);
    }

    /** The value of a body that has waited. If it cannot be decoded, returns null and sets $found to false. */
    public function arrive(string $key, mixed &$found): mixed
    {
        $turn = $this->turn;
        $changes = $this->changes;
        $body = $this->waiting[$key] ?? null;
        if ($body === null) {
            // Dropped since the caller looked for it.
            $found = false;

            return null;
        }
        if ($body[Entry::PLAIN] === Codec::STRING) {
            // Without calls: on a page that was asked for before, most keys come here once.
            unset($this->waiting[$key]);
            $found = true;
            $value = $this->values[$key] = \substr($body, Entry::PLAIN + 1);
        } else {
            $held = Signals::hold();
            unset($this->waiting[$key]);
            $this->bytes -= \strlen($body);
            $value = $this->putBody($key, $body, Entry::PLAIN, 0, $found);
        }
        if ($turn !== $this->turn || $changes !== $this->changes) {
            // Meanwhile the value's own code, a destructor or signal handler has replaced or dropped this copy, or learned that another has changed it.
            $this->drop($key);
        }

        return $value;
    }

    public function putBody(string $key, string $body, int $at, int $left, mixed &$found): mixed
    {
        $bytes = \strlen($body);
        if ($body[$at] === Codec::STRING) {
            $value = \substr($body, $at + 1);
        } elseif ($body[$at] === Codec::NULL || $body[$at] >= Codec::SNAPSHOTS) {
            $found = false;
            $entry = Entry::fromBody($body);

            return $entry === null ? null : $this->put($key, $entry, $found);
        } else {
            $before = \memory_get_usage();
            try {
                $value = $this->codec->decode($body, $at);
            } catch (Undecodable $undecodable) {
                $found = false;
                $this->report($key, $undecodable);

                return null;
            }
            if (\is_array($value)) {
                $bytes = \max(0, \memory_get_usage() - $before);
            }
        }
        $found = true;
        $this->bytes += $bytes;
        if ($this->bytes > self::BYTES || \count($this->values) + \count($this->entries) + \count($this->waiting) >= self::MANY) {
            $this->room(0);
        }
        unset($this->entries[$key], $this->waiting[$key]);
        if ($left === 0) {
            unset($this->ends[$key]);
        } else {
            $this->endIn($key, $left, \hrtime(true));
        }

        return $this->values[$key] = $value;
    }

    /** Keeps a value that the application still holds. An array is kept encoded, since the application may change it through references. */
    public function keepValue(string $key, mixed $value, Entry $entry): void
    {
        $this->turn++;
        if (!\is_scalar($value)) {
            $this->keep($key, $entry);

            return;
        }
        $this->room(\strlen($key) + \strlen($entry->payload));
        unset($this->entries[$key], $this->waiting[$key], $this->ends[$key]);
        $this->values[$key] = $value;
        ($entry->expiry === 0 && $entry->soft === 0 && $entry->sure === 0) || $this->ending($key, $entry);
    }

    /** Keeps an entry encoded; decode() decodes it when a reader asks for it. */
    public function keep(string $key, Entry $entry): void
    {
        $entry->given = null;
        $this->room(\strlen($key) + \strlen($entry->payload));
        unset($this->values[$key], $this->waiting[$key]);
        $this->entries[$key] = $entry;
        $this->ending($key, $entry);
    }

    /** The value of an encoded copy. If it cannot be decoded, returns null, sets $found to false and drops the copy. */
    public function decode(string $key, mixed &$found = null): mixed
    {
        $turn = $this->turn;
        $entry = $this->entries[$key] ?? null;
        if ($entry === null) {
            // Dropped since the caller looked for it.
            $found = false;

            return null;
        }
        $before = \memory_get_usage();
        $value = $this->value($key, $entry, $found);
        if (!$found) {
            $this->bytes -= \strlen($entry->payload);
            unset($this->entries[$key]);
        } elseif ($value !== null && !Codec::isSnapshot($entry->payload) && !$this->isStale($entry)) {
            $bytes = \memory_get_usage() - $before;
            unset($this->entries[$key]);
            $this->values[$key] = $value;
            $this->room($bytes - \strlen($entry->payload));
        }
        if ($turn !== $this->turn) {
            // Meanwhile a destructor or signal handler has replaced or dropped this copy.
            $this->drop($key);
        }

        return $value;
    }

    /** Whether a reader may have the key's copy, and remember() is to ask whether it renews the value. */
    public function renews(string $key): bool
    {
        return isset($this->entries[$key]) && $this->isStale($this->entries[$key]);
    }

    private function isStale(Entry $entry): bool
    {
        return $entry->soft !== 0 && $entry->stale($this->truth->now());
    }

    protected function compare(): int
    {
        $now = $this->truth->now();
        $this->ahead = $this->truth->ahead;
        $this->compared = $this->truth->compared;

        return $now;
    }

    /** Whether the request has read it here or near. */
    public function shows(string $key): bool
    {
        return $this->has($key) || isset($this->passed[$key]);
    }

    public function has(string $key): bool
    {
        return isset($this->values[$key]) || isset($this->entries[$key]) || isset($this->waiting[$key]);
    }

    public function drop(string $key): void
    {
        $this->turn++;
        // shows(), without its calls.
        if (isset($this->values[$key]) || isset($this->entries[$key]) || isset($this->waiting[$key]) || isset($this->passed[$key])) {
            $this->history->found($this->names . $key);
        }
        unset($this->values[$key], $this->entries[$key], $this->waiting[$key], $this->ends[$key]);
    }

    public function clear(): void
    {
        $this->turn++;
        $this->values = $this->entries = $this->waiting = $this->ends = $this->passed = [];
        $this->bytes = 0;
        $this->end = \PHP_INT_MAX;
    }

    /**
     * Drops the expired copies.
     *
     * @param int $due hrtime() of the view's next check
     */
    public function expire(int $now, int $due): void
    {
        if ($now < $this->end && $this->ends !== []) {
            $this->due = \min($due, $this->end);

            return;
        }
        $next = \PHP_INT_MAX;
        foreach ($this->ends as $key => $end) {
            if ($end <= $now) {
                $this->drop((string) $key);
                $this->history->gone($this->names . $key);
            } elseif ($end < $next) {
                $next = $end;
            }
        }
        $this->end = $next;
        $this->due = \min($due, $next);
    }

    /** @return iterable<string> every key that was read and may still have a copy */
    public function names(): iterable
    {
        foreach ([$this->values, $this->entries, $this->waiting, $this->passed] as $copies) {
            foreach ($copies as $name => $_) {
                yield (string) $name;
            }
        }
    }

    public function count(): int
    {
        return \count($this->values) + \count($this->entries) + \count($this->waiting);
    }

    public function bytes(): int
    {
        return $this->bytes;
    }

    public function trim(): void
    {
        if (\count($this->passed) > self::MANY) {
            $this->passed = [];
            $this->history->goneAll();
        }
        if (\count($this->values) > self::MANY) {
            $this->values = \array_slice($this->values, \intdiv(\count($this->values), 2), null, true);
            $this->ends = \array_intersect_key($this->ends, $this->values + $this->entries);
            $this->history->goneAll();
        }
    }

    private function value(string $key, Entry $entry, mixed &$found): mixed
    {
        $found = true;
        try {
            return $entry->isHeld ? $entry->value : $this->codec->decode($entry->payload);
        } catch (Undecodable $undecodable) {
            $found = false;
            $this->report($key, $undecodable);

            return null;
        }
    }

    /** An application that misses a key each time must be able to learn why. */
    private function report(string $key, Undecodable $undecodable): void
    {
        $undecodable->isOutdated || $this->truth->guard->report('gives', \sprintf('The key "%s" is a miss. %s', \strlen($key) > 100 ? \substr($key, 0, 100) . '…' : $key, $undecodable->getMessage()));
    }

    private function ending(string $key, Entry $entry): void
    {
        if ($entry->expiry === 0 && $entry->soft === 0 && $entry->sure === 0) {
            unset($this->ends[$key]);

            return;
        }
        // First, so that a process that is stopped between the two looks at the clock keeps no copy for longer.
        $start = \hrtime(true);
        $now = $this->truth->now();
        $end = $entry->sure > $now ? $entry->sure : ($entry->expiry > 0 ? $entry->expiry : \PHP_INT_MAX);
        if ($entry->soft > $now && $entry->soft < $end) {
            $end = $entry->soft;
        }
        $this->endIn($key, $end - $now, $start);
    }

    /**
     * @param int $left milliseconds
     * @param int $from hrtime()
     */
    private function endIn(string $key, int $left, int $from): void
    {
        $this->ends[$key] = $due = $from + \min(self::LONGEST, $left) * 1000000;
        if ($due < $this->end) {
            $this->end = $due;
            $this->due = \min($this->due, $due);
        }
    }

    private function room(int $bytes): void
    {
        $this->bytes += $bytes > 0 ? $bytes : 0;
        if ($this->bytes > self::BYTES || \count($this->values) + \count($this->entries) + \count($this->waiting) >= self::MANY) {
            $this->values = \array_slice($this->values, \intdiv(\count($this->values), 2), null, true);
            $this->entries = \array_slice($this->entries, \intdiv(\count($this->entries), 2), null, true);
            $this->waiting = \array_slice($this->waiting, \intdiv(\count($this->waiting), 2), null, true);
            $this->ends = \array_intersect_key($this->ends, $this->values + $this->entries);
            $this->bytes = \intdiv($this->bytes, 2);
            $this->history->goneAll();
        }
    }
}
