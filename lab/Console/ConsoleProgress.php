<?php

declare(strict_types=1);

namespace Larder\Lab\Console;

use Larder\Lab\Run\Progress;
use Symfony\Component\Console\Helper\ProgressBar;
use Symfony\Component\Console\Output\OutputInterface;

/**
 * A bar with the time left; where nobody watches, a line now and then.
 *
 * The time left is reckoned from what this run has done itself: what an earlier one had measured took no time now.
 */
final class ConsoleProgress implements Progress
{
    /** Seconds between two lines in a log. */
    private const LINE = 30.0;

    private ProgressBar $bar;
    private int $tasks = 0;
    private int $begun = 0;
    private int $done = 0;
    private float $start = 0.0;
    private float $said = 0.0;

    /** @param ?float $budget seconds that the run will not last longer than */
    public function __construct(private readonly OutputInterface $output, private readonly ?float $budget = null)
    {
        $this->bar = new ProgressBar($output);
    }

    public function start(int $tasks, int $done): void
    {
        $this->tasks = $tasks;
        $this->begun = $done;
        $this->start = $this->said = \microtime(true);
        if ($this->output->isDecorated()) {
            $this->bar->setFormat(' %bar% %percent:3s% %  %left:-18s% %what%');
            $this->bar->setBarWidth(30);
            $this->bar->setMessage('', 'what');
            $this->bar->setMessage('', 'left');
            $this->bar->start($tasks);
        }
    }

    public function expect(int $tasks): void
    {
        $this->tasks = \max($tasks, $this->done);
        if ($this->output->isDecorated()) {
            $this->bar->setMaxSteps($this->tasks);
        }
    }

    public function at(int $round, string $task): void
    {
        if ($this->output->isDecorated()) {
            $this->bar->setMessage(\sprintf('round %d, %s', $round + 1, \strlen($task) > 40 ? \substr($task, 0, 39) . '…' : $task), 'what');
        }
    }

    public function advance(): void
    {
        ++$this->done;
        if ($this->output->isDecorated()) {
            $this->bar->setMessage($this->left(), 'left');
            // What an earlier run had done passes by in no time.
            $this->bar->advance();
        } elseif (\microtime(true) - $this->said > self::LINE) {
            $this->said = \microtime(true);
            $this->output->writeln(\sprintf('%d of %d measured%s', $this->done, $this->tasks, $this->left() === '' ? '' : ', ' . $this->left()));
        }
    }

    public function finish(): void
    {
        if ($this->output->isDecorated()) {
            $this->bar->clear();
        }
    }

    private function left(): string
    {
        $own = $this->done - $this->begun;
        $spent = \microtime(true) - $this->start;
        if ($own < 5) {
            return '';
        }
        $seconds = $spent / $own * ($this->tasks - $this->done);
        if ($this->budget !== null) {
            $seconds = \min($seconds, \max(0.0, $this->budget - $spent));
        }

        return $seconds < 60 ? \sprintf('%d s left', $seconds) : \sprintf('%d min %02d s left', (int) ($seconds / 60), (int) $seconds % 60);
    }
}
