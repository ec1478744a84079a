<?php

declare(strict_types=1);

namespace Larder\Near;

use Larder\Codec\Codec;
use Larder\Codec\Entry;
use Larder\Store\Journal\JournalSlice;
use Larder\System\FileLock;
use Larder\System\Fork;
use Larder\System\Signals;

/**
 * APCu as the near tier.
 *
 * Its keys, all under the prefix:
 *
 *     <prefix>:state             array: generation, epoch, position, token, ahead
 *     <prefix>:<generation>:e:…  an ApcuCopy       <prefix>:<generation>:f:… t:…   a marker's position, an int
 *
 * `ahead` is the newest change that the journal lists beyond its end (JournalSlice::ahead()). A copy read before it may lack
 * it, so it is refused like a copy read before the position.
 *
 * A gap in the journal, or a new epoch, begins a new generation: older copies cannot be read from then on.
 *
 * Writers hold flock() on a file: APCu's own lock protects only its table, and APCu has no conditional store.
 */
final class ApcuNear implements Near
{
    /** Seconds. APCu adds a life to the time and expires at once what exceeds 32 bits. The body holds the exact time. */
    private const LONGEST_LIFE = 86_400 * 365;

    /** Seconds to wait for the lock, which others hold for a short time. */
    private const PATIENCE = 0.05;

    /** The prefix of the copies' keys; changes with the generation. */
    public string $prefix = '';
    private readonly string $stateKey;
    private string $generation = '';
    private int $ahead = 0;

    /** @var resource|null */
    private $lock = null;
    private int $pid = 0;

    /** True while this object holds the lock. */
    private bool $busy = false;
    private int $errors = 0;
    private int $refused = 0;

    public function __construct(
        private readonly string $name,
        private readonly string $lockFile,
        private readonly int $budget,
    ) {
        $this->stateKey = $name . ':state';
    }

    public function state(): array
    {
        $state = \apcu_fetch($this->stateKey);
        if (!\is_array($state) || \count($state) !== 5) {
            $this->ahead = 0;

            return ['', 0, ''];
        }
        /** @var array{string, string, int, string, int} $state */
        $this->enter($state[0]);
        $this->ahead = $state[4];

        return [$state[1], $state[2], $state[3]];
    }

    public function follow(JournalSlice $changes): bool
    {
        $held = Signals::hold();
        if (!$this->lock()) {
            return false;
        }
        try {
            [$epoch, $position, $token] = $this->state();
            if ($epoch !== $changes->epoch || !$changes->complete) {
                if ($epoch === $changes->epoch && $position > $changes->end) {
                    return true;
                }
                $this->enter(\bin2hex(\random_bytes(4)));
                $ahead = 0;
            } else {
                foreach ($changes->list as [$key, $changed]) {
                    if ($changed > $position && ApcuCopy::position(\apcu_fetch($this->prefix . $key)) < $changed) {
                        \apcu_delete($this->prefix . $key);
                    }
                }
                $ahead = \max($this->ahead, $changes->ahead());
                if ($position > $changes->end) {
                    if ($ahead === $this->ahead) {
                        return true;
                    }
                    $changes = new JournalSlice($epoch, $position, $token, true);
                }
            }
            $this->ahead = $ahead;

            return \apcu_store($this->stateKey, [$this->generation, $changes->epoch, $changes->end, $changes->token, $ahead]);
        } finally {
            $this->unlock();
        }
    }

    public function open(Window $window, string $prefix): void
    {
        $low = \pack('J', $window->floor);
        $high = \pack('J', $window->ceiling + 1);
        $window->low = 's' . $low;
        $window->high = 's' . $high;
        $window->lowEncoded = 'e' . $low;
        $window->highEncoded = 'e' . $high;
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
        $raw = \apcu_fetch($window->prefix . $key);
        // Window::admits(), of a plain string in APCu's form (ApcuCopy).
        if (\is_string($raw) && $raw > $window->low
            && (isset($window->own[$key]) ? \strncmp($raw, 's' . \pack('J', $window->own[$key]), ApcuCopy::BODY) === 0 : $raw < $window->high)) {
            (++$window->hits & Window::OFTEN) === 0 && $window->trim();
            $value = $window->values[$key] = \substr($raw, ApcuCopy::BODY);
            // Meanwhile a signal handler may have changed something, perhaps this key.
            $changes === $window->changes || $window->drop($key);

            return $value;
        }

        return $raw === false ? null : $this->kept($key, $window, $raw, $changes);
    }

    public function judge(string $key, Window $window, mixed $copy): mixed
    {
        $window->other = null;

        return $copy === null ? null : $this->kept($key, $window, $copy, $window->changes);
    }

    private function kept(string $key, Window $window, mixed $raw, int $changes): mixed
    {
        $value = match (true) {
            \is_array($raw) => isset($raw[0], $raw[1]) && \is_int($raw[0]) && $window->admits($key, $raw[0]) ? $raw[1] : null,
            !\is_string($raw) || !isset($raw[ApcuCopy::BODY]) => null,
            $raw[0] === 'e' => $this->encoded($key, $window, $raw),
            default => $window->admits($key, ApcuCopy::position($raw)) ? $window->values[$key] = \substr($raw, ApcuCopy::BODY) : null,
        };
        if ($value === null) {
            $copy = ApcuCopy::parse($raw);
            $window->other = $copy === null ? null : [...$copy, $key];

            return null;
        }
        if (\is_array($raw)) {
            // A long string is read from APCu each time, in half a microsecond, so that memory holds it only once.
            $window->passed[$key] = true;
        }
        (++$window->hits & Window::OFTEN) === 0 && $window->trim();
        $changes === $window->changes || $window->drop($key);

        return $value;
    }

    /** The value of an encoded copy without conditions but an expiry, as most are: without an entry, and for strings without calls. */
    private function encoded(string $key, Window $window, string $raw): mixed
    {
        // Window::admits(), as in get().
        if ($raw <= $window->lowEncoded
            || !(isset($window->own[$key]) ? \strncmp($raw, 'e' . \pack('J', $window->own[$key]), ApcuCopy::BODY) === 0 : $raw < $window->highEncoded)) {
            return null;
        }
        $left = $uptime = 0;
        if ($raw[ApcuCopy::BODY] === 'v') {
            $at = ApcuCopy::BODY + Entry::PLAIN;
        } else {
            $uptime = \intdiv(\hrtime(true), 1_000_000);
            $at = Entry::timed($raw, $uptime < $window->compared ? $uptime + $window->ahead : $window->now(), $left, ApcuCopy::BODY);
        }
        $type = $raw[$at] ?? Codec::NULL;
        if ($at === 0 || ($left !== 0 && $window->unchecked > 0) || $type === Codec::NULL || $type >= Codec::SNAPSHOTS) {
            return null;
        }
        if ($type !== Codec::STRING) {
            // What decodes must not be left in the middle by a signal's handler.
            $held = Signals::hold();
            $found = false;

            return $window->putBody($key, $raw, $at, $left, $found);
        }
        if ($left !== 0) {
            $window->ends[$key] = $end = ($uptime + ($left < Window::LONGEST ? $left : Window::LONGEST)) * 1_000_000;
            if ($end < $window->end) {
                $window->end = $end;
                $window->due = $end < $window->due ? $end : $window->due;
            }
        }

        return $window->values[$key] = \substr($raw, $at + 1);
    }

    public function copy(string $key): ?array
    {
        return ApcuCopy::parse(\apcu_fetch($this->prefix . $key));
    }

    public function marker(string $key): ?int
    {
        $position = \apcu_fetch($this->prefix . $key);

        return \is_int($position) ? $position : null;
    }

    public function put(array $copies, string $epoch): void
    {
        $raws = [];
        foreach ($copies as [$key, $entry, $position, $at, $life]) {
            $raws[$key] = [ApcuCopy::of($entry, $position), $position, $at, $life];
        }
        $this->store($raws, $epoch);
    }

    public function putMarker(string $key, int $position, int $at, string $epoch): void
    {
        $this->store([$key => [$position, $position, $at, 0]], $epoch);
    }

    public function drop(string $key): void
    {
        \apcu_delete($this->prefix . $key);
    }

    public function stats(): array
    {
        /** @var array{num_entries?: int, mem_size?: int}|false $info */
        $info = \apcu_enabled() ? \apcu_cache_info(true) : false;

        return [
            'engine' => 'apcu',
            'entries' => $info['num_entries'] ?? 0,
            'bytes' => (int) ($info['mem_size'] ?? 0),
            'budget' => $this->budget,
            'errors' => $this->errors,
            'refused' => $this->refused,
        ];
    }

    /** @param non-empty-array<string, array{mixed, int, int, int}> $raws by key: what APCu is to hold, position, at, life */
    private function store(array $raws, string $epoch): void
    {
        $held = Signals::hold();
        if (!$this->lock()) {
            foreach ($raws as $key => $_) {
                $this->drop((string) $key);
            }

            return;
        }
        try {
            $prefix = $this->prefix;
            $state = \apcu_fetch($this->stateKey);
            $from = !\is_array($state) || $state[0] !== $this->generation || $state[1] !== $epoch ? \PHP_INT_MAX : \max($state[2], $state[4]);
            foreach ($raws as $key => [$raw, $position, $at, $life]) {
                $key = $prefix . $key;
                $there = ApcuCopy::position(\apcu_fetch($key));
                if ($from > $at || $there > $position) {
                    $this->refused++;
                    $there < $position && \apcu_delete($key);
                } elseif (!\apcu_store($key, $raw, \min(self::LONGEST_LIFE, $life))) {
                    $this->errors++;
                    \apcu_delete($key);
                }
            }
        } finally {
            $this->unlock();
        }
    }

    private function enter(string $generation): void
    {
        $this->generation = $generation;
        $this->prefix = $this->name . ':' . $generation . ':';
    }

    private function lock(): bool
    {
        if ($this->busy) {
            // A destructor that runs inside another call: it would take the same lock and release it too early.
            return false;
        }
        $this->busy = true;
        $pid = Fork::pid();
        if ($this->lock === null || $this->pid !== $pid || (\fstat($this->lock)['nlink'] ?? 0) === 0) {
            // A lock belongs to its file handle. A handle inherited over a fork would share the parent's lock; a handle
            // of a deleted file would not meet the locks of processes that came later.
            $this->pid = $pid;
            $this->lock = FileLock::file($this->lockFile);
        }
        if ($this->lock !== null && FileLock::take($this->lock, self::PATIENCE)) {
            return true;
        }
        $this->busy = false;
        $this->errors++;

        return false;
    }

    private function unlock(): void
    {
        $this->busy = false;
        if ($this->lock !== null) {
            \flock($this->lock, \LOCK_UN);
        }
    }
}
