<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Segment;
use Larder\Store\Journal\JournalSlice;
use Larder\System\Signals;

/**
 * The extension's segment as the near tier: a reader gets values in place, without a copy.
 *
 * Its keys:
 *
 *     <name>:state        array: generation, epoch, position, token
 *     <generation>g       the guard, an int: nothing that was read at an earlier position is taken
 *     <generation>e:…     a copy            <generation>f:… t:…   a marker's position, an int
 *
 * A copy is an array in the segment: `[position, value]`. If it has an expiry or tags, or if its value cannot be shared
 * and stays encoded (it holds objects or references), the copy is
 * `[position, null, value or payload, created, expiry, soft, sure, tags, is it a payload]`.
 *
 * A process that follows the journal first raises the guard and then drops what changed. A process that stores a copy
 * takes the lock of that copy's key and checks the guard under it (Segment::fill()). So no process waits for a common
 * lock, and a copy that was read too early is either refused or dropped.
 *
 * A stored state is always true: its generation's guard stands at or after its position, and the copies of everything
 * that changed up to it are dropped. So a killed process leaves nothing to fix, and two processes that follow at once
 * need no lock. If the guard is evicted or flushed, its generation ends.
 *
 * Values carry no signature here: only this user can write to the segment, and could change the code as well.
 */
final class SegmentNear implements Near
{
    /** Bytes; longer keys get no copy. */
    private const LONGEST = 65000;

    /** Copies that a process stores before it reads the state again, so that the state is not evicted. */
    private const TOUCH = 64;

    /** The prefix of the copies' keys; changes with the generation. */
    public string $prefix = '';

    /** The generation's. */
    private string $epoch = '';
    private readonly string $stateKey;
    private int $errors = 0;
    private int $refused = 0;
    private int $filled = 0;

    public function __construct(
        public readonly Segment $segment,
        string $name,
        private readonly Codec $codec,
    ) {
        $this->stateKey = $name . ':state';
    }

    public function state(): array
    {
        $state = $this->segment->get($this->stateKey);
        if (!\is_array($state) || \count($state) !== 4) {
            $this->enter('', '');

            return ['', 0, ''];
        }
        /** @var array{string, string, int, string} $state */
        $this->enter($state[0], $state[1]);

        return [$state[1], $state[2], $state[3]];
    }

    public function follow(JournalSlice $changes): bool
    {
        $known = $this->prefix;
        [$epoch, $position] = $this->state();
        if ($epoch !== $changes->epoch || !$changes->complete) {
            // Another process may have begun a new generation, or followed further, since this one asked.
            return $epoch === $changes->epoch && ($position > $changes->end || ($position === $changes->end && $known !== $this->prefix))
                || $this->begin($changes);
        }
        if (!$this->segment->raise($this->prefix . 'g', \max($position, $changes->end, $changes->ahead()))) {
            return $this->begin($changes);
        }
        foreach ($changes->list as [$key, $changed]) {
            if ($changed > $position) {
                $this->segment->drop($this->prefix . $key, $changed);
            }
        }
        if ($position > $changes->end) {
            return true;
        }
        $state = [$this->prefix, $epoch, $changes->end, $changes->token];
        if ($this->segment->fill($this->stateKey, $state, 0, $changes->end, $this->prefix . 'g', \PHP_INT_MAX)) {
            return true;
        }
        // Another process has stored a later state or begun a later generation; otherwise the segment had no room.
        [$epoch, $position] = $this->state();

        return $epoch === $changes->epoch && $position >= $changes->end || $this->begin($changes);
    }

    public function open(Window $window, string $prefix): void
    {
        $window->segment = $this->segment;
        $window->prefix = $this->prefix . $prefix;
        $window->near = $this;
    }

    public function get(string $key, Window $window): mixed
    {
        $window->other = null;
        if ($window->version !== $window->current) {
            return null;
        }
        $changes = $window->changes;
        /** @var array{int, mixed}|array{int, null, mixed, int, int, int, int, list<string>, bool}|null $copy */
        $copy = $this->segment->get($window->prefix . $key);

        return $copy === null ? null : $this->kept($key, $window, $copy, $changes);
    }

    public function judge(string $key, Window $window, mixed $copy): mixed
    {
        $window->other = null;

        /** @var array{int, mixed}|array{int, null, mixed, int, int, int, int, list<string>, bool}|null $copy */
        return $copy === null ? null : $this->kept($key, $window, $copy, $window->changes);
    }

    /** @param array{int, mixed}|array{int, null, mixed, int, int, int, int, list<string>, bool} $copy */
    private function kept(string $key, Window $window, array $copy, int $changes): mixed
    {
        if (isset($copy[1]) && $window->admits($key, $copy[0])) {
            (++$window->hits & Window::OFTEN) === 0 && $window->trim();
            // Even a long value costs no copy here: the array only points to its place in the segment.
            $value = $window->values[$key] = $copy[1];
        } else {
            // What decodes must not be left in the middle by a signal's handler.
            $held = Signals::hold();
            [$entry, $position] = self::parse($copy);
            $isSimple = $entry->soft === 0 && $entry->sure === 0 && $entry->tags === [] && ($entry->value !== null || !$entry->isHeld);
            $found = false;
            $value = $isSimple && $window->admits($key, $position, $entry->created, $entry->expiry) ? $window->put($key, $entry, $found) : null;
            if (!$found) {
                $window->other = [$entry, $position, $key];

                return null;
            }
            $window->hits++;
        }
        // Meanwhile a destructor or signal handler may have changed something, perhaps this key.
        $changes === $window->changes || $window->drop($key);

        return $value;
    }

    public function copy(string $key): ?array
    {
        $copy = $this->segment->get($this->prefix . $key);

        return \is_array($copy) ? self::parse($copy) : null;
    }

    /**
     * Decodes what the segment holds for a key, in one of the forms above.
     *
     * @param array<mixed> $copy
     *
     * @return array{Entry, int} with the position of the copy
     */
    private static function parse(array $copy): array
    {
        if (\count($copy) === 2) {
            /** @var array{int, mixed} $copy */
            return [Entry::held($copy[1]), $copy[0]];
        }

        /** @var array{int, null, mixed, int, int, int, int, list<string>, bool} $copy */
        return [self::entry($copy), $copy[0]];
    }

    /** @param array{int, null, mixed, int, int, int, int, list<string>, bool} $copy */
    private static function entry(array $copy): Entry
    {
        [, , $value, $created, $expiry, $soft, $sure, $tags, $encoded] = $copy;

        return $encoded && \is_string($value)
            ? new Entry($value, $created, $expiry, $soft, $sure, $tags)
            : Entry::held($value, $created, $expiry, $soft, $sure, $tags);
    }

    public function marker(string $key): ?int
    {
        $position = $this->segment->get($this->prefix . $key);

        return \is_int($position) ? $position : null;
    }

    public function put(array $copies, string $epoch): void
    {
        foreach ($copies as [$key, $entry, $position, $at, $life]) {
            $this->keep($key, $entry, $position, $at, $epoch, $life);
        }
    }

    private function keep(string $key, Entry $entry, int $position, int $at, string $epoch, int $life): void
    {
        try {
            $encoded = Codec::isSnapshot($entry->payload);
            $value = match (true) {
                $encoded => $entry->payload,
                $entry->isHeld => $entry->value,
                default => $entry->given ?? $this->codec->decode($entry->payload),
            };
            if ($encoded || $entry->tags !== [] || $entry->until() !== 0) {
                $value = [$position, null, $value, $entry->created, $entry->expiry, $entry->soft, $entry->sure, $entry->tags, $encoded];
            } else {
                $value = [$position, $value];
            }
            $this->fill($key, $value, $life, $position, $at, $epoch);
        } catch (\Throwable) {
            $this->errors++;
            $this->drop($key);
        }
    }

    public function putMarker(string $key, int $position, int $at, string $epoch): void
    {
        // PHP_INT_MAX means that this request does not know the marker's position: no other request may read that.
        if ($position !== \PHP_INT_MAX) {
            $this->fill($key, $position, 0, $position, $at, $epoch);
        }
    }

    public function drop(string $key): void
    {
        $this->segment->delete($this->prefix . $key);
    }

    public function stats(): array
    {
        /** @var array{entries: int, bytes_used: int, bytes_total: int} $stats */
        $stats = $this->segment->stats();

        return [
            'engine' => 'segment',
            'entries' => $stats['entries'],
            'bytes' => $stats['bytes_used'],
            'budget' => $stats['bytes_total'],
            'errors' => $this->errors,
            'refused' => $this->refused,
        ];
    }

    private function fill(string $key, mixed $copy, int $seconds, int $position, int $at, string $epoch): void
    {
        // Note the prefix before the epoch is checked: a destructor that uses the cache may change both.
        $prefix = $this->prefix;
        if ($this->epoch !== $epoch) {
            $this->refused++;

            return;
        }
        if (++$this->filled % self::TOUCH === 0) {
            // Reading the state protects it from eviction, which would end the generation.
            $this->segment->get($this->stateKey);
        }
        if ($prefix === '' || \strlen($key) > self::LONGEST
            || $this->segment->fill($prefix . $key, $copy, $seconds, $position, $prefix . 'g', $at)) {
            return;
        }
        $this->refused++;
        if (!$this->segment->has($prefix . 'g')) {
            $state = $this->segment->get($this->stateKey);
            if (\is_array($state) && ($state[0] ?? '') === $prefix) {
                // The guard was evicted, so no copy can be stored: the next request begins a new generation.
                $this->segment->delete($this->stateKey);
            }
        }
    }

    /** Begins an empty generation under a new name. */
    private function begin(JournalSlice $changes): bool
    {
        $before = $this->prefix;
        $prefix = \random_bytes(8);
        if (!$this->segment->set($prefix . 'g', \max($changes->end, $changes->ahead()))
            || !$this->segment->set($this->stateKey, [$prefix, $changes->epoch, $changes->end, $changes->token])) {
            $this->errors++;
            $this->enter('', '');

            return false;
        }
        $this->enter($prefix, $changes->epoch);
        if ($before !== '') {
            // Processes that still use the old generation can store neither copies nor a state in it.
            $this->segment->delete($before . 'g');
        }

        return true;
    }

    private function enter(string $prefix, string $epoch): void
    {
        $this->epoch = '';
        $this->prefix = $prefix;
        $this->epoch = $epoch;
    }
}
