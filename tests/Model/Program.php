<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * One process: real code in a Fiber, stopped at each step it makes in the world it shares with others.
 *
 * What it does next follows from what it has seen (its history) and nothing else. So a history, which is an int here,
 * stands for the process' whole inner state, and its next step has to be found only once: by running the code again
 * and answering it as history says.
 */
final class Program
{
    public ?\Fiber $fiber = null;

    /** Random numbers taken since the start. */
    public int $chance = 0;

    /** The history that the fiber has seen. */
    private int $seen = -1;

    /** @var list<int> history to the one before */
    private array $before = [0];

    /** @var list<array{mixed, int, array<int, true>}|null> history to its last answer */
    private array $answers = [null];

    /** @var array<string, int> history and answer to the next history */
    private array $known = [];

    /** @var array<int, ?array{string, list<mixed>}> history to the next step, null at the end */
    private array $next = [];

    /** @param \Closure(): mixed $code */
    public function __construct(public readonly string $name, private readonly \Closure $code) {}

    /** The history that follows when the next step is answered so. */
    public function after(int $history, mixed $answer, World $world): int
    {
        $answer = [$answer, $world->now(), $world->dead()];
        $key = $history . '|' . \serialize($answer);
        if (!isset($this->known[$key])) {
            $this->known[$key] = \count($this->before);
            $this->before[] = $history;
            $this->answers[] = $answer;
        }

        return $this->known[$key];
    }

    /** @return ?array{string, list<mixed>} step and arguments; null: the process has ended */
    public function next(int $history): ?array
    {
        if (\array_key_exists($history, $this->next)) {
            return $this->next[$history];
        }
        if ($this->seen !== -1 && $history !== 0 && $this->seen === $this->before[$history]) {
            $step = $this->resume($history);
        } else {
            $chain = [];
            for ($h = $history; $h !== 0; $h = $this->before[$h]) {
                $chain[] = $h;
            }
            $step = $this->start();
            foreach (\array_reverse($chain) as $h) {
                $step = $this->resume($h);
            }
        }
        $this->seen = $history;

        return $this->next[$history] = $step;
    }

    /** @return ?array{string, list<mixed>} */
    private function start(): ?array
    {
        Machine::$running = null;
        $this->fiber = null;
        $this->chance = 0;
        Machine::$now = Machine::START;
        Machine::$dead = [];
        $this->fiber = new \Fiber($this->code);
        Machine::$running = $this;

        /** @var ?array{string, list<mixed>} */
        return $this->fiber->start();
    }

    /** @return ?array{string, list<mixed>} */
    private function resume(int $history): ?array
    {
        Machine::$running = $this;

        /** @var ?array{string, list<mixed>} */
        return $this->fiber?->resume($this->answers[$history]);
    }
}
