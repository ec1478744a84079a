<?php

declare(strict_types=1);

namespace Larder\Tests\Model;

/**
 * A small model checker: goes through every interleaving of a few processes, and every place at which one of them
 * can be killed, by depth-first search over states that it has not seen.
 *
 * This folder holds the models and what runs them, and nothing else tests with it:
 *
 *     Explorer, Program, World, Machine, Violation   the search; one process; what they share
 *     Copy       a copy of src/ that asks the model for time, chance, shared memory and locks; a mutant, if told so
 *     Inside/    what stands in the place of engines, inside of such a copy
 *     Protocol/  the front door over two servers with a near tier each
 *     the others one engine each: the steps of its writes and reads
 *
 * A state is the world and each process' history. When all processes have ended or died, the closing programs run one
 * after the other on it: what they find is what the next requests would.
 */
final class Explorer
{
    public int $states = 0;

    /** Steps that were not followed (Enough). */
    public int $cut = 0;

    /** @var array<int, true> by number() */
    private array $seen = [];

    /** @var array<int, true> worlds that were closed, by number() */
    private array $closed = [];

    /**
     * @param list<Program> $programs one a process
     * @param list<Program> $closings each alone, on a state in which all has ended
     * @param int           $kills    at most so many processes are killed in a run
     * @param int           $most     states after which the search ends without an answer
     */
    public function __construct(
        private readonly array $programs,
        private readonly array $closings,
        private readonly int $kills = 0,
        private readonly int $most = \PHP_INT_MAX,
    ) {}

    /** @throws Violation */
    public function explore(World $world): void
    {
        $histories = \array_fill(0, \count($this->programs), 0);
        $todo = [[$world, $histories, null]];
        while ($todo !== []) {
            [$world, $histories, $path] = \array_pop($todo);
            $key = self::number($world->key() . '|' . \implode(',', $histories));
            if (isset($this->seen[$key])) {
                continue;
            }
            $this->seen[$key] = true;
            if (++$this->states > $this->most) {
                throw new \LogicException("More than $this->most states.");
            }
            try {
                foreach ($this->steps($world, $histories) as $process => $way) {
                    $made = $this->made($world, $histories, $path, $process, $way);
                    $made === null ? $this->cut++ : $todo[] = $made;
                }
            } catch (Violation $violation) {
                throw $violation->after(self::told($path));
            }
        }
    }

    /**
     * What can happen next.
     *
     * @param array<int, int> $histories -1: dead
     *
     * @return iterable<int, bool> process, and true if it makes its step or false if it is killed
     */
    private function steps(World $world, array $histories): iterable
    {
        $waiting = false;
        $found = [];
        $canKill = \count($world->dead()) < $this->kills;
        foreach ($histories as $process => $history) {
            $next = $history < 0 ? null : $this->programs[$process]->next($history);
            if ($next === null) {
                continue;
            }
            if (!$canKill && $world->hidden($process, $next[0])) {
                return [$process => true];
            }
            if (!$world->ready($process, $next[0])) {
                $waiting = true;
                continue;
            }
            $found[$process] = true;
        }
        if ($found === [] && $waiting) {
            if (!$world->idle()) {
                throw new Violation('nobody can go on');
            }

            return $this->steps($world, $histories);
        }
        if ($found === []) {
            $this->close($world);
        }

        return $this->ways($world, $histories, $found, $canKill);
    }

    /**
     * @param array<int, int>  $histories
     * @param array<int, true> $found
     *
     * @return iterable<int, bool>
     */
    private function ways(World $world, array $histories, array $found, bool $canKill): iterable
    {
        foreach ($found as $process => $way) {
            yield $process => true;
        }
        foreach ($canKill ? $histories : [] as $process => $history) {
            $next = $history <= 0 ? null : $this->programs[$process]->next($history);
            if ($next !== null && $world->mortal($process, $next[0])) {
                yield $process => false;
            }
        }
    }

    /**
     * @param array<int, int>                          $histories
     * @param ?array{mixed, int, string, mixed, mixed} $path
     *
     * @return ?array{World, array<int, int>, array{mixed, int, string, mixed, mixed}} null: the model does not look there
     *
     * @throws Violation
     */
    private function made(World $world, array $histories, ?array $path, int $process, bool $way): ?array
    {
        $world = clone $world;
        if (!$way) {
            $world->kill($process);
            $histories[$process] = -1;

            return [$world, $histories, [$path, $process, 'is killed', null, null]];
        }
        $program = $this->programs[$process];
        do {
            [$step, $arguments] = $program->next($histories[$process]) ?? ['', []];
            try {
                $answer = $world->apply($process, $step, $arguments);
            } catch (Enough) {
                return null;
            } catch (Violation $violation) {
                throw $violation->after([self::line($process, $step, $arguments, null)]);
            }
            $histories[$process] = $program->after($histories[$process], $answer, $world);
            $path = [$path, $process, $step, $arguments, $answer];
            $next = $program->next($histories[$process]);
        } while ($next !== null && $world->glued($process, $next[0]));

        return [$world, $histories, $path];
    }

    /**
     * Of a state. An integer takes half the room of a string; of ten million states two have the same in one exploration of a
     * hundred thousand.
     */
    private static function number(string $state): int
    {
        /** @var array{1: int} $number */
        $number = \unpack('q', \md5($state, true));

        return $number[1];
    }

    /** @throws Violation */
    private function close(World $world): void
    {
        $key = self::number($world->key());
        if (isset($this->closed[$key])) {
            return;
        }
        $this->closed[$key] = true;
        foreach ($this->closings as $number => $program) {
            try {
                self::alone(clone $world, $program, \count($this->programs) + $number);
            } catch (Enough) {
                $this->cut++;
            }
        }
    }

    /**
     * Runs a program to its end, with nobody beside it.
     *
     * @throws Violation
     */
    public static function alone(World $world, Program $program, int $process): void
    {
        $history = 0;
        $path = null;
        while (($next = $program->next($history)) !== null) {
            if (!$world->ready($process, $next[0])) {
                $world->idle();
            }
            try {
                $answer = $world->apply($process, ...$next);
            } catch (Violation $violation) {
                throw $violation->after(['then ' . $program->name . ':', ...self::told($path)]);
            }
            $history = $program->after($history, $answer, $world);
            $path = [$path, $process, $next[0], $next[1], $answer];
        }
    }

    /**
     * @param ?array{mixed, int, string, mixed, mixed} $path
     *
     * @return list<string>
     */
    private static function told(?array $path): array
    {
        $lines = [];
        for (; \is_array($path); $path = $path[0]) {
            $lines[] = self::line($path[1], $path[2], $path[3], $path[4]);
        }

        return \array_reverse($lines);
    }

    private static function line(int $process, string $step, mixed $arguments, mixed $answer): string
    {
        $show = static fn(mixed $value): string => \substr((string) \preg_replace(
            '/[^\x20-\x7e]+/',
            '.',
            (string) \json_encode($value, \JSON_PARTIAL_OUTPUT_ON_ERROR | \JSON_INVALID_UTF8_SUBSTITUTE),
        ), 0, 400);

        return "$process  $step " . ($arguments === null ? '' : $show($arguments) . '  =>  ' . $show($answer));
    }
}
