<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * One engine and those who use it: what was promised to them, and one near tier that follows its log.
 *
 * The near tier keeps a copy by the near rule: one that was read at a position before the one up to which the log was
 * followed is refused; what the log lists goes. Each of these is one step here (their own steps are the protocol's).
 */
abstract class Engine implements World
{
    protected int $now = Machine::START;

    /** Grows with each change of what is shared. */
    protected int $news = 0;

    /** @var array<int, true> */
    private array $dead = [];

    /** @var array<string, int> position of each key's last change that has returned to its writer */
    private array $returned = [];

    /** @var array{string, int, string} epoch, position and token up to which the near tier followed the log */
    private array $followed = ['', 0, ''];

    /** @var array<string, array{int, string}> the near tier's copies: position and body */
    private array $copies = [];

    /** @var list<int> what counted */
    private array $counted = [];

    /** @var array<int, array{int, int}> limit and position of writes that a marker guards */
    private array $guarded = [];

    /** @var array<string, list<array{int, int}>> by key: position of each change that was made, and of what it was computed from */
    private array $made = [];

    /** @var array<int, int> what a process that pauses had seen */
    private array $looked = [];

    /** What comes now is explored. */
    public function begin(): void {}

    abstract protected function engine(int $process, string $step, mixed ...$arguments): mixed;

    abstract protected function engineKey(): string;

    public function apply(int $process, string $step, array $arguments): mixed
    {
        if ($step === 'pause') {
            $this->looked[$process] = -1;

            return null;
        }
        $this->looked[$process] = $this->news;

        return match ($step) {
            'promised' => $this->returned,
            'near' => [$this->followed, $this->copies],
            'keep' => $this->keep(...$arguments),
            'follow' => $this->follow(...$arguments),
            'returned' => $this->returned($process, ...$arguments),
            'made' => $this->make(...$arguments),
            'guarded' => $this->guarded[$process] = $arguments,
            'counted' => $this->count(...$arguments),
            'met' => $this->met(...$arguments),
            'wait' => $this->now += $arguments[0],
            'violation' => throw new Violation($arguments[0]),
            default => $this->engine($process, $step, ...$arguments),
        };
    }

    public function ready(int $process, string $step): bool
    {
        return $step !== 'pause' || $this->news !== ($this->looked[$process] ?? -1);
    }

    public function glued(int $process, string $step): bool
    {
        return $step === 'violation';
    }

    public function hidden(int $process, string $step): bool
    {
        return false;
    }

    public function idle(): bool
    {
        $this->now += 200;
        $this->looked = [];

        return true;
    }

    public function mortal(int $process, string $step): bool
    {
        return true;
    }

    public function kill(int $process): void
    {
        $this->dead[$process] = true;
        unset($this->looked[$process]);
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
        // What a process looked at matters only while it waits, as "has anything changed".
        $waits = \array_map(fn(int $news): bool => $news === $this->news, $this->looked);

        return \serialize([
            $this->now, $this->dead, $this->returned, $this->followed, $this->copies, $this->counted, $this->guarded, $this->made, $waits,
        ]) . $this->engineKey();
    }

    private function keep(string $key, int $position, string $body, string $epoch, int $at): bool
    {
        if ($this->followed[0] !== $epoch || $this->followed[1] > $at || ($this->copies[$key][0] ?? -1) > $position) {
            return false;
        }
        $this->copies[$key] = [$position, $body];

        return true;
    }

    /** @param list<array{string, int, string, string}> $list */
    private function follow(string $epoch, int $end, string $token, bool $complete, array $list): bool
    {
        if (!$complete && ($this->followed[0] !== $epoch || $this->followed[1] < $end)) {
            $this->copies = [];
        }
        foreach ($list as [$key, $position]) {
            if ($position > ($this->copies[$key][0] ?? \PHP_INT_MAX)) {
                unset($this->copies[$key]);
            }
        }
        if ($this->followed[0] !== $epoch || $this->followed[1] <= $end) {
            $this->followed = [$epoch, $end, $token];
        }

        return true;
    }

    private function returned(int $process, string $key, int $position, string $kind): void
    {
        $this->returned[$key] = \max($position, $this->returned[$key] ?? 0);
        if ($kind === 'm') {
            $this->guarded[-1 - $process] = [-1, $position];
        }
        foreach ($this->guarded as $marker => [$none, $marked]) {
            foreach ($marker < 0 ? $this->guarded : [] as $writer => [$limit, $written]) {
                // Read before the mark, and yet newer than it: it would count as good.
                if ($writer >= 0 && $limit < $marked && $marked < $written) {
                    throw new Violation("written at $written what was read at $limit, and invalidated at $marked");
                }
            }
        }
    }

    /** @param int $seen position of what it was computed from; its own for what is computed from nothing */
    private function make(string $key, int $seen, int $position): void
    {
        $this->made[$key][] = [$position, $seen];
        \sort($this->made[$key]);
        foreach ($this->made[$key] as [$last, $from]) {
            foreach ($this->made[$key] as [$between]) {
                if ($from < $between && $between < $last) {
                    throw new Violation("what was made at $last of what stood at $from is stored over the change at $between");
                }
            }
        }
    }

    /** A request finds this body ('': none). */
    private function met(string $key, string $body): void
    {
        if (\preg_match('/^(v[a-z0-9]*)?$/', $body) !== 1) {
            throw new Violation("half of something is in $key");
        }
    }

    private function count(int $value): void
    {
        if (\in_array($value, $this->counted, true)) {
            throw new Violation("$value was counted twice");
        }
        $this->counted[] = $value;
        \sort($this->counted);
    }
}
