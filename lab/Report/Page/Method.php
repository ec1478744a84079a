<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Run\Report;

/** How it was measured, in plain words. */
final readonly class Method
{
    private const POINTS = [
        'A fresh process each time' => 'A round measures every subject once, each in a PHP process of its own, in an order that chance decides anew (the seed repeats it). What the machine does meanwhile, it does to all of them.',
        'Checked first' => 'Before anything is timed the value is written, read and compared. A subject that returns another value is disqualified, named in red, and its figures count for nothing.',
        'Warm' => 'The first operations are not counted. What is measured is the work, without the start of PHP and, but where a connection for each get is the work itself, without connecting.',
        'Enough at once' => 'A sample is the time of many operations, divided by their number: so many that reading the clock is less than 1 % of it.',
        'What is compared' => 'A round speaks by the median of its samples, which one interruption does not move; where several processes share the machine, by their mean, for there waiting for each other is part of the work.',
        'How sure' => 'A ratio is the median over the rounds; its 95 % interval is found by drawing the rounds again and again by lot (bootstrap). Where the interval has 1 in it, this run cannot tell the two apart, and says so.',
        'The noise' => 'Some subjects are compared with themselves. How far that is from 1 is what differences mean nothing on this machine.',
        'Dots and lines' => 'p5 to p95 is where nine of ten samples lie; the one in twenty that was slower still is in the curves. Scales of time are logarithmic: the same distance is the same factor.',
        'At the end of the line' => 'Redis and Memcached are real servers, started for the run alone, on a unix socket, on the loopback by TCP, and over a network with a delay; the notes above say what stood for it. Ten at once are ten processes on one machine, which they share with the server.',
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
            . '<p class="about">APCu stands where the published comparisons have XCache, which ended with PHP 5.</p>', ['id' => 'method']) . "\n";
    }
}
