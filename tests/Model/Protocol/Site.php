<?php

declare(strict_types=1);

namespace Larder\Tests\Model\Protocol;

use Larder\Tests\Model\Machine;
use Larder\Tests\Model\Violation;
use Larder\Tests\Model\World;

/** What the requests of a site share: the database, the truth tier, and on each of two servers a near tier. */
final class Site implements World
{
    /** The server of what happens to the engines, and is no process. */
    public const NOWHERE = -1;

    /** How long a pause lasts where nobody else does anything, milliseconds: a whole lease. */
    private const PAUSE = 30_000;

    /** Steps that no other server sees. */
    private const OF_A_SERVER = ['lock', 'unlock', 'pending', 'keep', 'gate', 'take', 'leave the gate'];

    private int $now = Machine::START;

    /** @var array<int, true> */
    private array $dead = [];

    /** @var array<string, int> rows of the database: bits, one a writer */
    private array $rows = [];

    /** @var array<int, array{array<string, int>, array<string, int>}> of each process with a transaction open: the rows as they were when it began, and those it has changed */
    private array $transactions = [];

    /** @var array<string, int> bits of those whose call of the cache has returned */
    private array $must = [];

    /** @var array<int, array<string, true>> rows that a process changed and has not told the cache about */
    private array $owes = [];

    /** @var array<int, array<string, true>> keys on which the truth tier has had an intent of a process */
    private array $intended = [];

    /** @var array<int, bool> servers that cannot reach the truth tier; true: what they write arrives, and its answer is lost */
    private array $away = [];

    /** @var array<int, list<string>> pending invalidations of each server */
    private array $pending = [];

    /** @var array<int, array{int, int}> server to the process that applies them, and how many it has taken */
    private array $gates = [];

    /** @var array<int, array<string, int>> bits of the writers whose invalidations each server has kept, until it has regained the truth */
    private array $kept = [];

    /** @var array<int, array<string, int>> of these, those that a process must not miss, because it began later */
    private array $regains = [];

    /** @var array<string, int> bits of writers that died owing: nobody can know of their changes */
    private array $lost = [];

    /** @var array<int, array<string, mixed>> shared memory of each server */
    private array $memory = [];

    /** @var array<int, int> server to the process that has its near tier's lock */
    private array $locks = [];

    /** @var array<int, int> what a process that pauses had seen of the truth */
    private array $looked = [];

    /** Computations of remember() that have begun. */
    private int $computed = 0;

    /** @var list<string> what only one request may get between two flushes: a counter's value, a lock */
    private array $counted = [];

    /** Flushes that have reached the truth tier. */
    private int $flushes = 0;

    /** @var array<int, int> how many had, when a process wrote a value last */
    private array $writtenAfter = [];

    /**
     * @param list<int>             $servers  of each process, also of those that run before or after the others
     * @param int                   $together so many run together
     * @param array<string, object> $shelves  engines by name: truth, near0, near1 (Inside\Shelf of the copy under test)
     * @param bool                  $fine     every access to shared memory is a step, also under its lock
     * @param ?int                  $computations of remember() that are allowed
     * @param bool                  $fails    the truth tier may be away
     */
    public function __construct(
        private array $servers,
        private readonly int $together,
        private array $shelves,
        private readonly bool $fine = false,
        private readonly ?int $computations = null,
        private readonly bool $fails = false,
    ) {}

    public function __clone()
    {
        foreach ($this->shelves as $name => $shelf) {
            $this->shelves[$name] = clone $shelf;
        }
    }

    public function apply(int $process, string $step, array $arguments): mixed
    {
        $dot = (int) \strpos($step, '.');
        if ($dot > 0 && $step[0] !== 'a') {
            return $this->ask($process, \substr($step, 0, $dot), \substr($step, $dot + 1), $arguments);
        }
        $server = $this->servers[$process];

        return match ($step) {
            'begin' => $this->begin($process, $server),
            'row' => $this->row($process, $arguments[0]),
            'begin transaction' => (bool) ($this->transactions[$process] = [$this->rows, []]),
            'commit transaction' => $this->commit($process),
            'roll back' => $this->rollBack($process),
            'change' => $this->change($process, $arguments[0]),
            'returned' => $this->returned($process, $arguments[0]),
            'check' => $this->check($server, ...$arguments),
            'violation' => throw new Violation($arguments[0]),
            'wait' => $this->now += $arguments[0],
            'pause' => $this->looked[$process] = 0,
            'compute' => $this->compute(),
            'counted' => $this->count($process, $arguments[0]),
            'moves' => $this->servers[$process] = $arguments[0],
            'fail' => $this->away = \array_fill_keys(...$arguments),
            'work' => $this->away = [],
            'pending' => ($this->pending[$server] ?? []) !== [],
            'keep' => $this->keep($process, $server, $arguments[0]),
            'gate' => !isset($this->gates[$server]) && (bool) ($this->gates[$server] = [$process, 0]),
            'take' => $this->take($server, $arguments[0]),
            'leave the gate' => $this->leave($process),
            'restart' => $this->shelves['truth']->restart(),
            'evict' => $this->shelves['truth']->evict($arguments[0]),
            'forget' => $this->shelves['truth']->forget($arguments[0]),
            'apcu.fetch' => $this->memory[$server][$arguments[0]] ?? false,
            'apcu.store' => $this->store($server, $arguments[0], $arguments[1]),
            'apcu.delete' => $this->forget($server, $arguments[0]),
            'lock' => ($this->locks[$server] = $process) === $process,
            'unlock' => $this->unlock($process),
            default => throw new \LogicException($step),
        };
    }

    public function ready(int $process, string $step): bool
    {
        return match ($step) {
            'pause' => $this->shelves['truth']->news !== ($this->looked[$process] ?? -1),
            'lock' => !isset($this->locks[$this->servers[$process]]),
            // A row that another transaction has changed is locked until that one ends.
            'change' => \array_filter(\array_diff_key($this->transactions, [$process => true]), static fn(array $open): bool => $open[1] !== []) === [],
            default => true,
        };
    }

    public function glued(int $process, string $step): bool
    {
        return !$this->fine && \in_array($process, $this->locks, true) || !$this->fails && $step === 'pending';
    }

    public function hidden(int $process, string $step): bool
    {
        return ($step[0] === 'a' || $step[0] === 'n' || \in_array($step, self::OF_A_SERVER, true))
            && \count(\array_keys(\array_slice($this->servers, 0, $this->together), $this->servers[$process], true)) === 1;
    }

    public function idle(): bool
    {
        $this->now += self::PAUSE;
        $this->looked = [];

        return true;
    }

    public function mortal(int $process, string $step): bool
    {
        return $this->servers[$process] !== self::NOWHERE;
    }

    public function kill(int $process): void
    {
        $this->dead[$process] = true;
        $this->unlock($process);
        $this->leave($process);
        unset($this->looked[$process], $this->transactions[$process]);
        foreach ($this->owes[$process] ?? [] as $key => $true) {
            $this->lost[$key] = ($this->lost[$key] ?? 0) | 1 << $process;
        }
    }

    public function now(): int
    {
        return $this->now;
    }

    public function dead(): array
    {
        return $this->dead;
    }

    public function key(): string
    {
        $text = \serialize([
            $this->now, $this->dead, $this->rows, $this->must, $this->owes, $this->lost, $this->memory, $this->locks,
            $this->looked, $this->computed, $this->counted, $this->flushes, $this->writtenAfter, $this->intended,
            $this->transactions, $this->away, $this->pending, $this->gates, $this->kept, $this->regains,
        ]);
        foreach ($this->shelves as $shelf) {
            $text .= "\n" . $shelf->key();
        }

        return $text;
    }

    /** @param list<mixed> $arguments */
    private function ask(int $process, string $name, string $call, array $arguments): mixed
    {
        $shelf = $this->shelves[$name];
        if ($name === 'truth') {
            $this->looked[$process] = $shelf->news;
            $away = $this->away[$this->servers[$process]] ?? null;
            if ($away === false || $away && $call !== 'write') {
                return false;
            }
            $call === 'write' || $this->regained($process);
        }
        if ($call !== 'write') {
            return $shelf->$call(...$arguments);
        }
        $outcomes = $shelf->write(...$arguments);
        foreach ($name === 'truth' ? $arguments[0] : [] as $i => $change) {
            if ($outcomes[$i]->done && $change->logged) {
                $this->told($process, $change->key, $change->kind);
                $this->flushes += (int) ($change->key === 'f:' && $change->kind === 'm');
                $change->key === 'e::n' && $this->writtenAfter[$process] = $this->flushes;
            }
        }
        if ($name === 'truth') {
            $this->looked[$process] = $shelf->news;
        }

        return ($away ?? false) ? false : $outcomes;
    }

    /**
     * What a process that begins must see: what has reached the truth tier, and what its own server has kept.
     *
     * @return array<string, int>
     */
    private function begin(int $process, int $server): array
    {
        $this->regains[$process] = $this->kept[$server] ?? [];

        return self::with($this->must, $this->regains[$process]);
    }

    /** A process reads the truth tier: what its server had kept when it began must be there now, for everybody. */
    private function regained(int $process): void
    {
        $server = $this->servers[$process];
        $this->must = self::with($this->must, $this->regains[$process] ?? []);
        foreach ($this->regains[$process] ?? [] as $key => $bits) {
            $this->kept[$server][$key] = ($this->kept[$server][$key] ?? 0) & ~$bits;
        }
        $this->kept = \array_filter(\array_map(\array_filter(...), $this->kept));
        unset($this->regains[$process]);
    }

    /**
     * @param array<string, int> $one
     * @param array<string, int> $other
     *
     * @return array<string, int>
     */
    private static function with(array $one, array $other): array
    {
        foreach ($other as $key => $bits) {
            $one[$key] = ($one[$key] ?? 0) | $bits;
        }
        \ksort($one);

        return $one;
    }

    /** @param list<string> $keys */
    private function keep(int $process, int $server, array $keys): bool
    {
        $fresh = \array_slice($this->pending[$server] ?? [], $this->gates[$server][1] ?? 0);
        foreach ($keys as $kept) {
            \in_array($kept, $fresh, true) || $this->pending[$server][] = $kept;
            $key = \explode(' ', $kept, 2)[1];
            $owed = $key[0] === 'e' ? \array_intersect_key([\substr($key, 3) => true], $this->owes[$process] ?? []) : $this->owes[$process] ?? [];
            $this->kept[$server] = self::with($this->kept[$server] ?? [], \array_map(static fn(): int => 1 << $process, $owed));
            $this->told($process, $key, $key[0] === 'e' || $key[0] === 'l' ? 'd' : 'm');
        }
        $this->kept = \array_filter($this->kept);

        return true;
    }

    /** @return list<string> what was added behind the first $done; none: all is forgotten */
    private function take(int $server, int $done): array
    {
        $keys = \array_slice($this->pending[$server] ?? [], $done);
        if ($keys === []) {
            unset($this->pending[$server]);
        } else {
            $this->gates[$server][1] = $done + \count($keys);
        }

        return $keys;
    }

    private function leave(int $process): bool
    {
        foreach ($this->gates as $server => [$holder]) {
            if ($holder === $process) {
                unset($this->gates[$server]);
            }
        }

        return true;
    }

    /** The truth tier knows of the process' change of what is covered by this key or marker. */
    private function told(int $process, string $key, string $kind): void
    {
        if ($key[0] === 'e') {
            unset($this->owes[$process][\substr($key, 3)]);
            if ($kind === 'i') {
                $this->intended[$process][\substr($key, 3)] = true;
            }
        } elseif ($kind === 'm') {
            // Not those that are made because a store may have forgotten them.
            unset($this->owes[$process]);
        }
    }

    private function row(int $process, string $key): int
    {
        [$before, $changed] = $this->transactions[$process] ?? [$this->rows, []];

        return $changed[$key] ?? $before[$key] ?? 0;
    }

    private function commit(int $process): void
    {
        // The locks keep others from having changed the same rows meanwhile.
        $this->rows = $this->transactions[$process][1] + $this->rows;
        \ksort($this->rows);
        $this->rollBack($process);
    }

    private function rollBack(int $process): void
    {
        unset($this->transactions[$process]);
    }

    /** @param list<string> $keys */
    private function change(int $process, array $keys): void
    {
        foreach ($keys as $key) {
            if (isset($this->transactions[$process])) {
                $this->transactions[$process][1][$key] = ($this->rows[$key] ?? 0) | 1 << $process;
                continue;
            }
            $this->rows[$key] = ($this->rows[$key] ?? 0) | 1 << $process;
            if (!isset($this->intended[$process][$key])) {
                $this->owes[$process][$key] = true;
            }
        }
    }

    /** @param list<string> $keys */
    private function returned(int $process, array $keys): void
    {
        foreach ($keys as $key) {
            $this->must[$key] = ($this->must[$key] ?? 0) | (($this->rows[$key] ?? 0) & 1 << $process);
        }
    }

    private function check(int $server, string $key, int $value, bool $bounded): void
    {
        if (($value & ~($this->rows[$key] ?? 0)) !== 0) {
            throw new Violation("the cache has $value of $key, of which the database has not all");
        }
        $row = ($this->rows[$key] ?? 0) & ~($this->lost[$key] ?? 0);
        foreach ($this->kept as $other => $kept) {
            // Until that server has regained the truth tier, the others may serve the old value.
            $row &= $other === $server ? $row : ~($kept[$key] ?? 0);
        }
        if (($value & $row) !== $row && !$bounded) {
            throw new Violation("the cache has $value of $key, the database {$this->rows[$key]}");
        }
    }

    private function count(int $process, int|string $value): void
    {
        // A counter that was flushed begins anew.
        $counted = ($this->writtenAfter[$process] ?? 0) . ": $value";
        if (\in_array($counted, $this->counted, true)) {
            throw new Violation("$value was given to two");
        }
        $this->counted[] = $counted;
        \sort($this->counted);
    }

    private function compute(): void
    {
        if (++$this->computed > ($this->computations ?? \PHP_INT_MAX) + \count($this->dead)) {
            throw new Violation("$this->computed computations");
        }
    }

    private function store(int $server, string $key, mixed $value): bool
    {
        $this->memory[$server][$key] = $value;
        \ksort($this->memory[$server]);

        return true;
    }

    private function forget(int $server, string $key): bool
    {
        unset($this->memory[$server][$key]);

        return true;
    }

    private function unlock(int $process): bool
    {
        foreach (\array_keys($this->locks, $process, true) as $lock) {
            unset($this->locks[$lock]);
        }

        return true;
    }
}
