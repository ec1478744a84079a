<?php

declare(strict_types=1);

namespace Larder\Console\Queue;

use Larder\Console\Support\Text;
use Larder\Queue\Queue;
use Larder\Queue\QueueFailure;
use Larder\System\Clock;
use Symfony\Component\Console\Output\ConsoleOutputInterface;
use Symfony\Component\Console\Output\ConsoleSectionOutput;
use Symfony\Component\Console\Output\OutputInterface;

/** Shows what workers do: a line of JSON for each message, or on a terminal one line that changes. */
final class Progress
{
    /** Seconds between two changes of the terminal's line, and between two looks at the queue. */
    private const CHANGE = 0.1;
    private const LOOK = 1.0;

    private readonly ?ConsoleSectionOutput $section;
    private readonly float $begin;
    private float $changed = 0.0;
    private float $looked = 0.0;
    private string $waiting = '';

    /** @var array<int, true> */
    private array $workers = [];

    /** @var array<string, int> messages by what became of them */
    private array $counts = ['done' => 0, 'released' => 0, 'dead' => 0, 'lost' => 0];

    public function __construct(
        private readonly OutputInterface $output,
        private readonly OutputInterface $errors,
        private readonly Queue $queue,
        private readonly string $name,
        bool $isJson,
    ) {
        $this->section = $output instanceof ConsoleOutputInterface && $output->isDecorated() && !$isJson ? $output->section() : null;
        $this->begin = Clock::seconds();
    }

    /** @param array<array-key, mixed> $event of Supervisor */
    public function tell(array $event): void
    {
        $worker = \is_int($event['worker'] ?? null) ? $event['worker'] : 0;
        match ($event['event'] ?? '') {
            'job' => $this->job($event, $worker),
            'started' => $this->workers[$worker] = true,
            'ended' => $this->ended($worker, $event),
            default => $this->say(\is_string($event['error'] ?? null) ? $event['error'] : ''),
        };
        $this->show(false);
    }

    public function finish(): void
    {
        $this->show(true);
    }

    /** @param array<array-key, mixed> $event */
    private function job(array $event, int $worker): void
    {
        $outcome = \is_string($event['outcome'] ?? null) ? $event['outcome'] : '';
        $this->counts[$outcome] = ($this->counts[$outcome] ?? 0) + 1;
        $error = \is_string($event['error'] ?? null) ? $event['error'] : '';
        if ($this->section === null) {
            Text::json($this->output, ['time' => \round(\microtime(true), 3), 'queue' => $this->name, 'id' => $event['id'] ?? '', 'outcome' => $outcome, 'attempts' => $event['attempts'] ?? 0, 'seconds' => $event['seconds'] ?? 0, 'worker' => $worker]
                + ($error === '' ? [] : ['error' => $error]), false);
        } elseif ($error !== '') {
            $this->say("$outcome: message " . (\is_string($event['id'] ?? null) ? $event['id'] : '') . ": $error");
        }
    }

    /** @param array<array-key, mixed> $event */
    private function ended(int $worker, array $event): void
    {
        unset($this->workers[$worker]);
        if (($event['isOver'] ?? false) !== true) {
            $this->say("worker $worker ended: " . (\is_string($event['how'] ?? null) ? $event['how'] : ''));
        }
    }

    private function say(string $line): void
    {
        $this->section?->clear();
        $this->errors->writeln('<comment>larder: ' . Text::shown($line, 1_000) . '</comment>');
    }

    private function show(bool $isLast): void
    {
        $now = Clock::seconds();
        if ($this->section === null || (!$isLast && $now - $this->changed < self::CHANGE)) {
            return;
        }
        if ($isLast || $now - $this->looked >= self::LOOK) {
            $this->looked = $now;
            try {
                $this->waiting = \number_format($this->queue->size());
            } catch (QueueFailure) {
                $this->waiting = '?';
            }
        }
        $this->changed = $now;
        $done = $this->counts['done'];
        $this->section->overwrite(\sprintf(
            '<info>%s</info>  %s done (%.0f/s), %s again, %s dead, %s waiting, %d workers',
            \date('H:i:s'),
            \number_format($done),
            $done / \max(0.001, $now - $this->begin),
            \number_format($this->counts['released'] + $this->counts['lost']),
            \number_format($this->counts['dead']),
            $this->waiting,
            \count($this->workers),
        ));
    }
}
