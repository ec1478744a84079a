<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** How it was measured, in plain words. */
final class Method
{
    public const POINTS = [
        'A fresh process each time' => 'A round measures every subject once, each in a PHP process of its own. The order is random, and the seed repeats it.',
        'Checked' => 'The laboratory compares what a subject returns with what it stored. A subject that returns another value is disqualified and named.',
        'Warm' => 'The first operations do not count. Starting PHP and connecting do not either, except where the work is a connection for each get.',
        'Enough at once' => 'A sample is the time of many operations divided by their number, so that the clock takes less than 1 % of it.',
        'What is compared' => 'A round counts by the median of its samples. If several processes share the machine it counts by their mean, for then waiting is part of the work.',
        'What an interval covers' => 'The 95 % intervals cover the rounds of this run: other processes, another order, the machine\'s noise. They do not cover another day or another machine.',
        'How sure' => 'A ratio is the median over the rounds; its interval comes from resampling them. If it contains 1, this run cannot separate the two.',
        'Percentiles' => 'A percentile stands here only if ten samples or more lie beyond it: p99 needs 1,000 samples, p5 and p95 need 200. All samples that are compared must hold the same number of operations.',
        'The noise' => 'Some subjects are compared with themselves. Differences no larger than the distance of those ratios from 1 mean nothing on this machine.',
        'The server\'s place' => 'Same core and other core say where the server ran, seen from the process that measured it. The place decides the figure.',
        'Pictures' => 'The scales are logarithmic: the same distance is the same factor. The bar ends at the median, the line is its interval.',
        'Servers' => 'Redis, Valkey and Memcached are real servers, started for this run alone. The notes say how the network was simulated.',
    ];
}
