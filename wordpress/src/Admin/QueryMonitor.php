<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/**
 * A panel in Query Monitor, where that is active: no other code calls these filters (qm/collectors when the plugins are
 * loaded, qm/outputter/html at the request's end).
 *
 * @see https://github.com/johnbillion/query-monitor classes/Collector.php, output/Html.php
 */
final class QueryMonitor
{
    /**
     * @param array<array-key, mixed> $collectors
     *
     * @return array<array-key, mixed>
     */
    public static function collectors(array $collectors): array
    {
        return \class_exists('QM_Collector') ? ['larder' => new QueryMonitorCollector()] + $collectors : $collectors;
    }

    /**
     * @param array<array-key, mixed> $panels
     *
     * @return array<array-key, mixed>
     */
    public static function panels(array $panels): array
    {
        $collector = \class_exists('QM_Output_Html') && \class_exists('QM_Collectors') ? \QM_Collectors::get('larder') : null;

        return $collector instanceof QueryMonitorCollector ? $panels + ['larder' => new QueryMonitorPanel($collector)] : $panels;
    }
}
