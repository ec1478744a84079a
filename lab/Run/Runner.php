<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Task;
use Larder\Lab\Service\Services;
use Random\Engine\Xoshiro256StarStar;
use Random\Randomizer;
use Symfony\Component\Console\Helper\ProgressBar;

/**
 * Runs every task in every round, in an order drawn anew for each round.
 *
 * So whatever the machine does for a while happens to some rounds of all subjects, not to one subject; and each round
 * of a task is a process of its own, so that no subject gains by what another left behind.
 *
 * A task that fails marks its subject and is not tried again; the rest goes on.
 */
final class Runner
{
    /** @var array<string, string> subject to the reason why it is out */
    private array $out = [];

    /**
     * @param list<Task> $tasks
     * @param string     $directory private to the run
     * @param ?float     $budget    seconds after which no further round begins, unless there were fewer than LEAST
     */
    public function __construct(
        private readonly array $tasks,
        private readonly Services $services,
        private readonly string $directory,
        private readonly int $rounds,
        private readonly Ledger $ledger,
        private readonly Stop $stop,
        private readonly ProgressBar $progress,
        private readonly ?float $budget = null,
    ) {}

    /** Rounds below which nothing can be said at 95 % (Statistics\Bootstrap). */
    public const LEAST = 5;

    public function run(Collection $collection): void
    {
        foreach ($this->ledger->kept() as [$round, $id, $measured]) {
            foreach ($this->tasks as $task) {
                if ($task->id() === $id && \count($task->sides()) === \count($measured)) {
                    $this->take($collection, $task, $round, $measured);
                }
            }
        }
        $start = \microtime(true);
        // The time left is reckoned from what this run does itself.
        $this->progress->start(\count($this->tasks) * $this->rounds, \count($this->ledger->kept()));
        for ($round = 0; $round < $this->rounds && !$this->stop->isAsked(); ++$round) {
            if (!$this->round($round, $collection)) {
                break;
            }
            $spent = \microtime(true) - $start;
            $each = $spent / ($round + 1);
            if ($this->budget !== null && $round + 1 >= self::LEAST && $spent + $each > $this->budget) {
                break;
            }
            if ($this->budget !== null) {
                $rounds = \max(self::LEAST, $round + 1 + (int) (($this->budget - $spent) / $each));
                $this->progress->setMaxSteps(\count($this->tasks) * \min($this->rounds, $rounds));
            }
        }
        $this->progress->clear();
        foreach ($this->out as $subject => $reason) {
            $collection->disqualify($subject, $reason);
        }
    }

    private function round(int $round, Collection $collection): bool
    {
        $random = new Randomizer(new Xoshiro256StarStar($this->seed($round, '')));
        /** @var list<Task> $tasks */
        $tasks = $random->shuffleArray($this->tasks);
        foreach ($tasks as $task) {
            if ($this->ledger->has($round, $task->id())) {
                continue;
            }
            $this->progress->setMessage(\sprintf('round %d, %s', $round + 1, \mb_strimwidth($task->id(), 0, 40, '…')));
            $again = $round > 0 && $task instanceof Once;
            if (!$again && !$this->isOut($task)) {
                $measured = $this->perform($task, $round);
                if ($this->stop->isAsked()) {
                    // Ctrl-C went to the measuring process as well: what it found is not whole.
                    return false;
                }
                if ($measured !== null) {
                    $this->ledger->keep($round, $task->id(), $measured);
                    $this->take($collection, $task, $round, $measured);
                }
            }
            $this->progress->advance();
        }

        return true;
    }

    /** @return ?list<Measured> */
    private function perform(Task $task, int $round): ?array
    {
        try {
            return $task->perform(new Context($this->services, $this->directory, $this->seed($round, $task->id())));
        } catch (\RuntimeException $e) {
            if (!$this->stop->isAsked()) {
                foreach ($task->sides() as $side) {
                    $this->mark($side->cell->scenario, $side->subject->name, \sprintf('round %d: %s', $round + 1, $e->getMessage()));
                }
            }

            return null;
        }
    }

    /** @param list<Measured> $measured */
    private function take(Collection $collection, Task $task, int $round, array $measured): void
    {
        foreach ($task->sides() as $i => $side) {
            $cell = $side->cell;
            $wrong = $measured[$i]->wrong ?? $collection->capacity->excess($cell, $measured[$i]);
            if ($wrong !== null) {
                $this->mark($cell->scenario, $side->subject->name, \sprintf('%s, %s, %d at once, round %d: %s', $cell->payload, $cell->operation, $cell->concurrency, $round + 1, $wrong));
            }
        }
        $collection->add($round, $task, $measured);
    }

    private function mark(string $scenario, string $subject, string $reason): void
    {
        $this->out["$scenario/$subject"] ??= $reason;
    }

    private function isOut(Task $task): bool
    {
        foreach ($task->sides() as $side) {
            if (isset($this->out[$side->cell->scenario . '/' . $side->subject->name])) {
                return true;
            }
        }

        return false;
    }

    /** The same for the same round and task, so that a run that goes on draws what it would have drawn. */
    private function seed(int $round, string $task): int
    {
        return \crc32($this->ledger->seed . "/$round/$task");
    }
}
