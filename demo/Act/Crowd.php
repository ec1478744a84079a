<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Act;
use Larder\Demo\Answer;
use Larder\Demo\Stage;
use Larder\Tests\Support\Process;

final class Crowd implements Act
{
    private const PROCESSES = 20;
    private const LEASE = 30;

    public function title(): string
    {
        return 'Twenty want it, one computes';
    }

    public function needs(): array
    {
        return [];
    }

    public function play(Stage $stage): void
    {
        $stage->say('Twenty processes call remember() for the same key in the same moment. The computation takes a second. Then twenty others; and the one of them that computes gets a kill -9.');
        $this->together($stage);
        $stage->line();
        $this->killed($stage);
    }

    /**
     * @param array<string, string|int> $parameters
     *
     * @return list<Process>
     */
    private function processes(Stage $stage, array $parameters): array
    {
        $processes = [];
        for ($i = 0; $i < self::PROCESSES; ++$i) {
            $processes[] = $stage->php('crowd.php', $stage->disk('cache'), $parameters);
        }
        foreach ($processes as $process) {
            $process->expect('ready', Stage::PATIENCE);
        }

        return $processes;
    }

    private function together(Stage $stage): void
    {
        $notes = $stage->file('together');
        $processes = $this->processes($stage, ['editions' => $notes, 'seconds' => 1]);
        $start = $this->start($processes, 'cold');
        $answers = $this->answers($processes);
        $computing = \array_values(\array_filter($answers, static fn(Answer $answer): bool => $answer->computed));
        if ($computing === []) {
            throw new \RuntimeException('nobody computed');
        }
        $stage->step('php ' . $computing[0]->pid, 'computes it', ($computing[0]->ended - $start) / 1e6);
        $last = \max(\array_map(static fn(Answer $answer): int => $answer->ended, $answers));
        $stage->step('19 others', 'wait, and the last of them has it', ($last - $start) / 1e6);
        $stage->claim(
            \count($this->notes($notes)) === 1 && \count($this->values($answers)) === 1,
            \count($this->notes($notes)) . ' computation for ' . \count($answers) . ' processes',
        );
    }

    /** The one to be killed would compute for longer than it lives, however late the kill comes. */
    private function killed(Stage $stage): void
    {
        $notes = $stage->file('killed');
        $processes = $this->processes($stage, ['editions' => $notes, 'seconds' => 1, 'first' => self::LEASE - 5]);
        $start = $this->start($processes, 'doomed');
        $stage->await(fn(): bool => $this->notes($notes) !== []);
        [[$victim]] = $this->notes($notes);
        \usleep(500_000);
        $kill = \hrtime(true);
        foreach ($processes as $i => $process) {
            if ($process->pid === $victim) {
                $process->kill();
                unset($processes[$i]);
            }
        }
        $stage->step('php ' . $victim, 'computes it, and is killed', ($kill - $start) / 1e6);
        $answers = $this->answers(\array_values($processes));
        $computations = $this->notes($notes);
        [$heir, $begin] = $computations[1] ?? [0, 0];
        if ($heir !== 0) {
            $stage->step('php ' . $heir, \sprintf('takes over, %.0f ms after the kill', \max(0, $begin - $kill) / 1e6), ($begin - $start) / 1e6);
        }
        $last = \max(\array_map(static fn(Answer $answer): int => $answer->ended, $answers));
        $stage->step('18 others', 'wait, and the last of them has it', ($last - $start) / 1e6);
        $stage->claim(
            \count($computations) === 2 && $heir !== $victim && \count($answers) === self::PROCESSES - 1 && \count($this->values($answers)) === 1,
            \count($computations) . ' computations, and ' . \count($answers) . ' processes have the second one\'s value',
        );
        $stage->claim($begin - $kill < self::LEASE * 1_000_000_000, 'nobody waited for the end of the dead one\'s lease (' . self::LEASE . ' s)');
    }

    /** @param list<Process> $processes */
    private function start(array $processes, string $key): int
    {
        $start = \hrtime(true);
        foreach ($processes as $process) {
            $process->write($key . "\n");
        }

        return $start;
    }

    /**
     * @param list<Process> $processes
     *
     * @return non-empty-list<Answer>
     */
    private function answers(array $processes): array
    {
        $answers = [];
        foreach ($processes as $process) {
            $answers[] = Answer::parse($process->line(Stage::PATIENCE) ?? '', $process->errors());
        }

        return $answers === [] ? throw new \LogicException('Nobody was asked.') : $answers;
    }

    /**
     * @param list<Answer> $answers
     *
     * @return list<string>
     */
    private function values(array $answers): array
    {
        return \array_values(\array_unique(\array_map(static fn(Answer $answer): string => $answer->text(), $answers)));
    }

    /** @return list<array{int, int}> of each computation: process id, and hrtime() of its beginning */
    private function notes(string $file): array
    {
        $notes = [];
        foreach (\is_file($file) ? (array) \file($file) : [] as $line) {
            [$pid, $time] = \explode(' ', (string) $line);
            $notes[] = [(int) $pid, (int) $time];
        }

        return $notes;
    }
}
