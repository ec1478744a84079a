<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/** What Query Monitor's panel shows, taken when Query Monitor asks: at the request's end. */
final class QueryMonitorCollector extends \QM_Collector
{
    public $id = 'larder';

    /** @var ?array{hits: int, misses: int, seconds: float, round_trips: int, tiers: array<string, array<string, int|float|string>>, groups: array<string, array{hits?: int, keys: int}>} */
    public ?array $report = null;

    public string $problem = '';

    public function process()
    {
        $cache = Admin::cache();
        $this->report = $cache?->report();
        $this->problem = $cache?->problem() ?? \__('Larder is not the object cache of this site.', 'larder');
    }
}
