<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Presentation;
use Larder\Lab\Plan\Scenario;
use Larder\Lab\Service\Services;
use Larder\Lab\Statistics\Bootstrap;
use Larder\Lab\Statistics\Noise;
use Larder\Lab\Subject\LarderExtension;

/** Makes the report of what was collected. */
final readonly class Reporting
{
    private float $start;
    private string $started;

    public function __construct(private string $command)
    {
        $this->start = \microtime(true);
        $this->started = \gmdate('Y-m-d\TH:i:s\Z');
    }

    public function report(Plan $plan, Collection $collection, Services $services, int $seed, bool $partial): Report
    {
        $results = $collection->results();
        $ratios = $collection->ratios();
        $noise = new Noise(\array_values(\array_filter($ratios, static fn(Ratio $ratio): bool => $ratio->kind === Ratio::NOISE)));
        $rounds = \max([0, ...\array_map(static fn(Result $result): int => \count($result->rounds), $results), ...\array_map(static fn(Ratio $ratio): int => $ratio->rounds, $ratios)]);

        $notes = [];
        if ($partial) {
            $notes[] = 'This run was stopped before its end, so the report is partial.';
        }
        $notes[] = $noise->sentence();
        $notes[] = $collection->capacity->sentence();
        if ($rounds < Bootstrap::LEAST) {
            $notes[] = \sprintf('There were fewer than %d rounds, too few for 95 %% intervals.', Bootstrap::LEAST);
        }
        $versions = $services->versions();
        if (isset($versions['Network'])) {
            $notes[] = 'The network: ' . $versions['Network'] . '.';
        }
        foreach ($plan->scenarios as $scenario) {
            \array_push($notes, ...$scenario->remarks($results));
        }
        $extension = LarderExtension::version();
        if ($extension !== null) {
            $versions['Larder\'s extension'] = $extension;
        }

        return new Report(
            $this->command,
            Machine::facts(),
            Machine::versions() + $versions,
            \array_values(\array_map(static fn(Scenario $scenario): Presentation => $scenario->presentation(), $plan->scenarios)),
            $results,
            $ratios,
            $plan->missing,
            $collection->disqualified(),
            $notes,
            $partial,
            $noise->quiet,
            $seed,
            $rounds,
            $this->started,
            \round(\microtime(true) - $this->start, 1),
        );
    }
}
