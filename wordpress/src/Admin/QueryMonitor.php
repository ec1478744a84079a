<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/**
 * A panel in Query Monitor, where that is active: nobody else calls these filters.
 *
 * They have to be added while the plugins are loaded, before Query Monitor asks for collectors (plugins_loaded); names
 * of functions cost nothing where nobody calls them.
 */
final class QueryMonitor
{
    public static function hook(): void
    {
        \add_filter('qm/collectors', [self::class, 'collectors']);
        \add_filter('qm/outputter/html', [self::class, 'panels'], 80);
    }

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
