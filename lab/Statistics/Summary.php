<?php

declare(strict_types=1);

namespace Larder\Lab\Statistics;
// SKELETON: signatures only
final readonly class Summary
{
    public int $n;
    public float $min;
    public float $p1;
    public float $p5;
    public float $median;
    public float $mean;
    public float $p95;
    public float $p99;
    public float $max;
    public float $range;
    public float $mad;
    public float $stdev;

    /** @param non-empty-list<float> $samples */
    public function __construct(array $samples) {}
}
