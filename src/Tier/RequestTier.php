<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Codec\Undecodable;

/**
 * The request tier of one space: copies that die with the request.
 *
 * $values holds what may be handed out as it is. What must be decoded anew for each reader (objects, references), a
 * null, and an array not asked for yet wait encoded in $entries. The front door binds $values by reference, so that
 * a hit costs it no more than an array look-up.
 */
final class RequestTier
{
    /** More copies, or bytes, than this in one space: the older half goes. */
    private const MANY = 20000;
    private const BYTES = 33554432;

    /** Milliseconds, 253 years: as nanoseconds since the machine's start they still are an integer. */
    private const LONGEST = 8000000000000;

    /** @var array<array-key, mixed> never null, object or reference */
    public array $values = [];

    /** @var array<array-key, Entry> */
    public array $entries = [];

    /** @var array<array-key, true> what was read from a near tier and not kept here */
    public array $passed = [];

    /** @var array<array-key, int> positions at which this request changed keys: no older near copy is asked; PHP_INT_MAX: none. Empty without a near tier */
    public array $own = [];

    /** hrtime() at which the next copy ends. */
    public int $due = \PHP_INT_MAX;

    /** Grows when a copy is given, or taken away, by what the application does. */
    private int $turn = 0;

    /** @var array<array-key, int> hrtime(): a clock that is set back must not let a copy live longer */
    private array $ends = [];
    private int $bytes = 0;

    public function __construct(
        private readonly Codec $codec,
        private readonly RequestHistory $history,
        private readonly Truth $truth,
        /** What the space's keys begin with in the stores. */
        private readonly string $prefix,
    ) {}

    public function __destruct()
    {
        $this->own === [] || $this->history->forgetOwn($this->own);
    }

    /** Keeps an entry and gives its value; null (and $found false) where it cannot be decoded. */
    public function put(string $key, Entry $entry, mixed &$found = null): mixed
    {
        $before = \memory_get_usage();
        $value = $this->value($entry, $found);
        if (!$found) {
            return null;
        }
        if ($value === null || Codec::isSnapshot($entry->payload)) {
            $this->keep($key, $entry);
        } else {
            // An array may take twenty times the room of its encoded form.
            $this->room(\is_array($value) ? \memory_get_usage() - $before : \strlen($entry->payload));
            unset($this->entries[$key]);
            $this->values[$key] = $value;
            $this->ending($key, $entry);
        }

        return $value;
    }

    /** Keeps a value that the application still holds: an array may be changed through its references, so not as it is. */
    public function keepValue(string $key, mixed $value, Entry $entry): void
    {
        $this->turn++;
        if (!\is_scalar($value)) {
            $this->keep($key, $entry);

            return;
        }
        $this->room(\strlen($entry->payload));
        unset($this->entries[$key]);
        $this->values[$key] = $value;
        $this->ending($key, $entry);
    }

    /** Keeps an entry encoded; it is decoded when asked for. */
    public function keep(string $key, Entry $entry): void
    {
        $entry->given = null;
        $this->room(\strlen($entry->payload));
        unset($this->values[$key]);
        $this->entries[$key] = $entry;
        $this->ending($key, $entry);
    }

    /** The value of an encoded copy; null (and $found false) where it cannot be decoded, and then the copy goes. */
    public function decode(string $key, mixed &$found = null): mixed
    {
        $turn = $this->turn;
        $entry = $this->entries[$key] ?? null;
        if ($entry === null) {
            // Taken away since it was looked for.
            $found = false;

            return null;
        }
        $before = \memory_get_usage();
        $value = $this->value($entry, $found);
        if (!$found) {
            $this->bytes -= \strlen($entry->payload);
            unset($this->entries[$key]);
        } elseif ($value !== null && !Codec::isSnapshot($entry->payload)) {
            $bytes = \memory_get_usage() - $before;
            unset($this->entries[$key]);
            $this->values[$key] = $value;
            $this->room($bytes - \strlen($entry->payload));
        }
        if ($turn !== $this->turn) {
            // A destructor or signal handler has put another one there meanwhile, or taken this one away.
            $this->drop($key);
        }

        return $value;
    }

    public function has(string $key): bool
    {
        return isset($this->values[$key]) || isset($this->entries[$key]);
    }

    public function drop(string $key): void
    {
        $this->turn++;
        unset($this->values[$key], $this->entries[$key], $this->ends[$key]);
    }

    public function clear(): void
    {
        $this->turn++;
        $this->values = $this->entries = $this->ends = $this->passed = [];
        $this->bytes = 0;
        $this->due = \PHP_INT_MAX;
    }

    /** Drops the copies whose time is over. */
    public function expire(): void
    {
        $now = \hrtime(true);
        $next = \PHP_INT_MAX;
        foreach ($this->ends as $key => $end) {
            if ($end <= $now) {
                $this->drop((string) $key);
                $this->history->gone($this->prefix . $key);
            } elseif ($end < $next) {
                $next = $end;
            }
        }
        $this->due = $next;
    }

    /** @return iterable<string> of all that was read, and may still be here */
    public function names(): iterable
    {
        foreach ([$this->values, $this->entries, $this->passed] as $copies) {
            foreach ($copies as $name => $_) {
                yield (string) $name;
            }
        }
    }

    public function count(): int
    {
        return \count($this->values) + \count($this->entries);
    }

    public function bytes(): int
    {
        return $this->bytes;
    }

    /** The front door put copies into $values by itself: keep the bound. */
    public function trim(): void
    {
        if (\count($this->passed) > self::MANY) {
            $this->passed = [];
            $this->history->goneAll();
        }
        if (\count($this->values) > self::MANY) {
            $this->values = \array_slice($this->values, \intdiv(\count($this->values), 2), null, true);
            $this->history->goneAll();
        }
    }

    private function value(Entry $entry, mixed &$found): mixed
    {
        $found = true;
        try {
            return $entry->isHeld ? $entry->value : $this->codec->decode($entry->payload);
        } catch (Undecodable) {
            $found = false;

            return null;
        }
    }

    private function ending(string $key, Entry $entry): void
    {
        if ($entry->expiry === 0 && $entry->soft === 0 && $entry->sure === 0) {
            unset($this->ends[$key]);

            return;
        }
        $now = $this->truth->now();
        $end = $entry->sure > $now ? $entry->sure : ($entry->expiry > 0 ? $entry->expiry : \PHP_INT_MAX);
        if ($entry->soft > $now && $entry->soft < $end) {
            $end = $entry->soft;
        }
        $this->ends[$key] = $due = \hrtime(true) + \min(self::LONGEST, $end - $now) * 1000000;
        if ($due < $this->due) {
            $this->due = $due;
        }
    }

    private function room(int $bytes): void
    {
        $this->bytes += \max(0, $bytes);
        if ($this->bytes > self::BYTES || \count($this->values) + \count($this->entries) >= self::MANY) {
            $this->values = \array_slice($this->values, \intdiv(\count($this->values), 2), null, true);
            $this->entries = \array_slice($this->entries, \intdiv(\count($this->entries), 2), null, true);
            $this->ends = \array_intersect_key($this->ends, $this->values + $this->entries);
            $this->bytes = \intdiv($this->bytes, 2);
            $this->history->goneAll();
        }
    }
}
