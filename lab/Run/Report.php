<?php

declare(strict_types=1);

namespace Larder\Lab\Run;

use Larder\Lab\Plan\Presentation;

/** One run of the lab, whole: what every form of the report is made from, and nothing else. */
final readonly class Report
{
    /**
     * @param string                                                                $command      that repeats it
     * @param array<string, string|int|float>                                       $machine      "processor", "cores", "memory" (bytes), "system", "kernel", "load" …
     * @param array<string, string>                                                 $versions     "PHP" => "8.2.31", "Redis" => "7.0.15", …
     * @param list<Presentation>                                                    $scenarios    that were run, and how they are shown
     * @param list<Result>                                                          $results
     * @param list<Ratio>                                                           $ratios
     * @param list<array{subject: string, scenario: string, what: string, advice: string}> $missing  what could not be measured here, and what to install
     * @param list<array{subject: string, scenario: string, reason: string}>        $disqualified that gave a wrong value, failed, or whose server died
     * @param list<string>                                                          $notes        what the reader must know: that it is partial, that the machine is noisy, what stands for the network
     * @param bool                                                                  $partial      it was stopped before its end
     * @param bool                                                                  $quiet        whether this machine's own noise lets it tell 10 % (from the noise ratios)
     * @param string                                                                $started      RFC 3339, UTC
     * @param float                                                                 $seconds      it took
     */
    public function __construct(
        public string $command,
        public array $machine,
        public array $versions,
        public array $scenarios,
        public array $results,
        public array $ratios,
        public array $missing,
        public array $disqualified,
        public array $notes,
        public bool $partial,
        public bool $quiet,
        public int $seed,
        public int $rounds,
        public string $started,
        public float $seconds,
    ) {}
}
