<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Run\Report;

/** How it was measured, in plain words. */
final readonly class Method
{
    private const POINTS = [
        'A fresh process each time' => 'A round measures every subject once, each in a PHP process of its own, in a new random order (the seed repeats it). So whatever disturbs the machine disturbs all subjects.',
        'Checked first' => 'Before timing, the laboratory writes each value, reads it and compares it. A subject that returns another value is disqualified and named in red, and its figures do not count.',
        'Warm' => 'The first operations do not count. The times include neither the start of PHP nor connecting, except where the work is a connection for each get.',
        'Enough at once' => 'A sample is the time of many operations divided by their number. There are so many that reading the clock takes less than 1 % of the time.',
        'What is compared' => 'The result of a round is the median of its samples, which one interruption does not change. If several processes share the machine it is their mean, because waiting for each other is then part of the work.',
        'How sure' => 'A ratio is the median over the rounds; its 95 % interval comes from resampling the rounds at random (bootstrap). If the interval contains 1, this run cannot separate the two, and the report says so.',
        'The noise' => 'The laboratory compares some subjects with themselves. Differences no larger than those ratios\' distance from 1 mean nothing on this machine.',
        'Dots and lines' => 'Nine of ten samples are between p5 and p95; the curves show the one in twenty that was slower. Time scales are logarithmic: equal distances are equal factors.',
        'At the end of the line' => 'Redis and Memcached are real servers, started for this run alone: on a unix socket, on the loopback by TCP, and over a network with a delay (the notes above say how the network was simulated). "Ten at once" are ten processes on one machine, which they share with the server.',
    ];

    public function __construct(private Report $report) {}

    public function render(): string
    {
        $points = '';
        foreach (self::POINTS as $name => $text) {
            $points .= Markup::around('div', Markup::element('dt', $name) . Markup::element('dd', $text));
        }

        return Markup::around('section', '<h3>How it was measured</h3>' . Markup::around('dl', $points, ['class' => 'method'])
            . Markup::element('p', \sprintf('%s results, %s samples. All of them are in the JSON that the same command writes with --json=FILE.', \number_format(\count($this->report->results)), \number_format(\array_sum(\array_map(static fn($result): int => $result->summary->n, $this->report->results)))), ['class' => 'about'])
            . '<p class="about">APCu takes the place that the published comparisons give to XCache, which ended with PHP 5.</p>', ['id' => 'method']) . "\n";
    }
}
