<?php

declare(strict_types=1);

namespace Larder\Request;

use Larder\Events\Listener;
use Larder\System\Coroutine;
use Larder\System\CountLog;
use Larder\System\Failure;
use Larder\System\FailureLog;
use Larder\System\Fork;

/**
 * Sees what requests do, for its users: counts it for all processes (the option `metrics`), and tells the
 * application (the option `events`). Without a user there is none.
 */
final class Observer
{
    /** What the log's path ends with, after what Request::$local says. */
    public const FILE = '-counts';

    // Names of counts; the times are in nanoseconds. Others are `writes|VERDICT|` and `gets|TIER|RESULT|GROUP`.
    public const COMPUTATIONS = 'computations|';
    public const COMPUTING = 'computing|';
    public const WAITS = 'waits|';
    public const WAITING = 'waiting|';
    public const CALLS = 'calls|';

    /** Groups of one process that are counted apart. */
    private const GROUPS = 500;

    /** @var array<string, Tally> by path */
    private array $tallies = [];

    /** @var array<string, int> by name, as in the log */
    private array $counts = [];

    /** @var array<string, int> what the log has of them all */
    private array $written = [];

    private int $process;

    /** @var ?\WeakMap<object, true> the coroutines in which the listener is running: what it does there with the cache tells it nothing */
    private ?\WeakMap $telling = null;

    /**
     * @param ?CountLog $log  null: nothing is counted
     * @param string    $last which tier the truth is
     */
    public function __construct(
        private readonly ?CountLog $log,
        private readonly ?Listener $listener,
        private readonly FailureLog $failureLog,
        private readonly string $last,
    ) {
        $this->process = Fork::pid();
    }

    /** Where the gets of a space count; null: they do not. */
    public function tally(Space $space): ?Tally
    {
        if ($this->log === null) {
            return null;
        }
        $path = isset($this->tallies[$space->path]) || \count($this->tallies) < self::GROUPS ? $space->path : CountLog::OTHERS;

        return $this->tallies[$path] ??= new Tally();
    }

    public function near(Space $space, bool $isHit): void
    {
        $tally = $this->tally($space);
        $tally === null || ($isHit ? $tally->nearHits++ : $tally->nearMisses++);
    }

    public function truth(Space $space, bool $isHit): void
    {
        $tally = $this->tally($space);
        $tally === null || ($isHit ? $tally->truthHits++ : $tally->truthMisses++);
    }

    public function missed(string $key, Space $space): void
    {
        $this->tell(static fn(Listener $listener) => $listener->onMiss($key, $space->path));
    }

    /**
     * Runs a computation.
     *
     * @template T
     *
     * @param \Closure(): T $work
     *
     * @return T
     */
    public function compute(string $key, Space $space, \Closure $work): mixed
    {
        $this->tell(static fn(Listener $listener) => $listener->onCompute($key, $space->path));
        $start = \hrtime(true);
        $thrown = null;
        $isDone = false;
        try {
            $value = $work();
            $isDone = true;

            return $value;
        } catch (\Throwable $thrown) {
            throw $thrown;
        } finally {
            $time = (int) \hrtime(true) - (int) $start;
            $this->count(self::COMPUTATIONS);
            $this->count(self::COMPUTING, $time);
            // Where the fiber that computes is destroyed, nothing was thrown, and there is no value.
            $thrown ??= $isDone || $this->listener === null ? null : Failure::because('computation', 'it was given up before it had a value');
            $this->tell(static fn(Listener $listener) => $listener->onComputed($key, $space->path, $time / 1e9, $thrown));
        }
    }

    /** @param int $time nanoseconds for which a caller of remember() waited for another's computation */
    public function waited(int $time): void
    {
        $this->count(self::WAITS);
        $this->count(self::WAITING, $time);
    }

    /** @param string $name of the key in the stores */
    public function wrote(string $name, Space $space, Verdict $verdict): void
    {
        $word = match ($verdict) {
            Verdict::Store => 'stored',
            Verdict::Same => 'same',
            Verdict::Bounded => 'bounded',
            Verdict::Drop => 'dropped',
            Verdict::Failed => 'failed',
            Verdict::Refused => 'refused',
            // Of atomic calls that have written nothing.
            Verdict::Held, Verdict::Missing, Verdict::Kept => null,
        };
        if ($word === null) {
            return;
        }
        $this->count("writes|$word|");
        if ($verdict === Verdict::Bounded || $verdict === Verdict::Drop) {
            $this->conflict($name, $space, $word);
        }
    }

    /**
     * A fill is not stored.
     *
     * @param bool $isConflict another has changed the key; false: it could not be stored, or must not be, whatever changed it
     */
    public function refused(string $name, Space $space, bool $isConflict): void
    {
        $this->count('writes|refused|');
        $isConflict && $this->conflict($name, $space, 'refused');
    }

    public function failed(string $store, string $message): void
    {
        $this->tell(static fn(Listener $listener) => $listener->onOutage($store, $message));
    }

    /** @param int $time nanoseconds */
    public function called(string $store, int $time): void
    {
        $this->tell(static fn(Listener $listener) => $listener->onRoundTrip($store, $time / 1e9));
    }

    /** @param int $calls of the truth tier, since this was called last */
    public function calls(int $calls): void
    {
        $calls === 0 || $this->count(self::CALLS, $calls);
    }

    /** In a forked child: what was counted so far is its parent's to write. */
    public function leaveParent(): void
    {
        $this->process = Fork::$last;
        $this->written = $this->all();
    }

    /**
     * Writes what was counted since the last time.
     *
     * @param int $underWay gets that have begun, and may become misses: as hits they are not counted yet
     */
    public function flush(int $underWay = 0): void
    {
        if ($this->log === null) {
            return;
        }
        if (Fork::pid() !== $this->process) {
            $this->leaveParent();

            return;
        }
        $all = $this->all($underWay);
        $new = [];
        foreach ($all as $name => $count) {
            // What one count has too few, since another process's answer came in the middle, it makes up for later.
            if ($count > ($this->written[$name] ?? 0)) {
                $new[$name] = $count - ($this->written[$name] ?? 0);
            }
        }
        foreach ($new === [] ? [] : $this->log->add($new) as $name => $_) {
            $this->written[$name] = $all[$name];
        }
    }

    private function conflict(string $name, Space $space, string $verdict): void
    {
        $key = \substr($name, \strlen($space->entries));
        $this->tell(static fn(Listener $listener) => $listener->onConflict($key, $space->path, $verdict));
    }

    private function count(string $name, int $by = 1): void
    {
        if ($this->log !== null) {
            $this->counts[$name] = ($this->counts[$name] ?? 0) + $by;
        }
    }

    /** @return array<string, int> */
    private function all(int $underWay = 0): array
    {
        $all = $this->counts;
        foreach ($this->tallies as $path => $tally) {
            foreach ($tally->counts($this->last, $underWay) as $name => $count) {
                $all["gets|$name|$path"] = $count;
            }
        }

        return $all;
    }

    /** @param \Closure(Listener): void $call */
    private function tell(\Closure $call): void
    {
        if ($this->listener === null) {
            return;
        }
        $here = Coroutine::current() ?? $this;
        $telling = $this->telling ??= new \WeakMap();
        foreach ($telling as $one => $true) {
            // What the listener starts is its own doing too, in whatever coroutine.
            if ($one === $here || $one === $this || !Coroutine::isSuspended($one)) {
                return;
            }
        }
        $telling[$here] = true;
        try {
            $call($this->listener);
        } catch (\Throwable $thrown) {
            $this->failureLog->report('events', 'the listener ' . $this->listener::class . ' threw ' . $thrown::class . ': ' . $thrown->getMessage() . '; going on as if it had not');
        } finally {
            unset($telling[$here]);
        }
    }
}
