<?php

declare(strict_types=1);

namespace Larder\Lab\Service;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Plan\Need;
use Larder\Lab\Plan\Subject;

/**
 * Which process runs on which of the processor's cores: whether client and server share one decides a server's figure
 * more than anything else does.
 *
 * One process that measures is held to the last core; its server to the same one, or to the first. Processes at once,
 * and their server, may use all. By taskset(1), of util-linux; where it is missing, or there is one core, nothing is held.
 */
final readonly class Cores
{
    /** @var list<int> those that may be used, at least two; none where nothing is held */
    private array $numbers;

    /** @param ?list<int> $numbers those that this process may use; found by default */
    public function __construct(?array $numbers = null)
    {
        $numbers ??= self::found();
        $this->numbers = \count($numbers) > 1 ? $numbers : [];
    }

    public function areHeld(): bool
    {
        return $this->numbers !== [];
    }

    /** What a reader of the report must know of it. */
    public function about(): string
    {
        return $this->numbers === []
            ? 'nothing: it takes two cores, and taskset (apt-get install util-linux)'
            : \sprintf('one process that measures, to core %1$d; its server, to core %1$d ("same") or %2$d ("other")', \max($this->numbers), \min($this->numbers));
    }

    /** @return list<string> words before the command of a process that measures alone; none where nothing is held */
    public function alone(): array
    {
        return $this->numbers === [] ? [] : ['taskset', '-c', (string) \max($this->numbers)];
    }

    /** @return non-empty-list<string> where the server of a subject runs beside one process that measures: each is measured */
    public function placements(Subject $subject): array
    {
        return match (true) {
            $this->numbers === [] || $subject->service === null => [Cell::ANYWHERE],
            $subject->connection === Cell::NETWORK => [Cell::OTHER],
            default => [Cell::SAME, Cell::OTHER],
        };
    }

    /**
     * Moves a running server, with all of its threads.
     *
     * @param string $placement one of Cell's constants
     *
     * @throws ServiceFailure
     */
    public function move(Service $service, string $placement): void
    {
        if ($this->numbers === []) {
            return;
        }
        $cores = match ($placement) {
            Cell::SAME => [\max($this->numbers)],
            Cell::OTHER => [\min($this->numbers)],
            default => $this->numbers,
        };
        foreach ($service->pids() as $pid) {
            $command = Command::run(['taskset', '-a', '-c', '-p', \implode(',', $cores), (string) $pid]);
            // One that has ended is told by its caller.
            if (!$command->succeeded && Label::lives($pid)) {
                throw new ServiceFailure("The process $pid cannot be held to a core: $command->errors");
            }
        }
    }

    /** @return list<int> */
    private static function found(): array
    {
        // A list as cpuset(7) has it: "0-2,5".
        if (Need::find(['taskset']) === null || \preg_match('/^Cpus_allowed_list:\s*(\S+)$/m', (string) Silence::of(static fn(): string|false => \file_get_contents('/proc/self/status')), $match) !== 1) {
            return [];
        }
        $numbers = [];
        foreach (\explode(',', $match[1]) as $range) {
            $ends = \array_map(\intval(...), \explode('-', $range));
            \array_push($numbers, ...\range(\min($ends), \max($ends)));
        }

        return $numbers;
    }
}
