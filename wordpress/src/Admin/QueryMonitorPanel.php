<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/** This request, by tier and by group. Query Monitor gives the frame and the style. */
final class QueryMonitorPanel extends \QM_Output_Html
{
    public function __construct(private readonly QueryMonitorCollector $larder)
    {
        parent::__construct($larder);
        \add_filter('qm/output/menus', [$this, 'admin_menu'], 75);
    }

    public function name()
    {
        return \__('Larder', 'larder');
    }

    public function output()
    {
        $report = $this->larder->report;
        $this->before_non_tabular_output();
        if ($this->larder->problem !== '') {
            echo '<section><div class="qm-notice"><p>', \esc_html($this->larder->problem), '</p></div></section>';
        }
        if ($report !== null) {
            $this->section(\__('This request', 'larder'), [], [
                [\__('Hits', 'larder'), Text::number($report['hits'])],
                [\__('Misses', 'larder'), Text::number($report['misses'])],
                [\__('Reads answered', 'larder'), Text::percentage($report['hits'], $report['misses'])],
                [\__('Time in the store', 'larder'), Text::duration($report['seconds'])],
                [\__('Round trips', 'larder'), Text::number($report['round_trips'])],
            ]);
            $rows = [];
            foreach ($report['tiers'] as $name => $tier) {
                if (isset($tier['hits'], $tier['misses'])) {
                    $rows[] = [Text::tier((string) $name), (string) ($tier['engine'] ?? ''), self::figure($tier['hits']), self::figure($tier['misses']), self::figure($tier['writes'] ?? 0), self::figure($tier['errors'] ?? 0)];
                }
            }
            $this->section(\__('Tiers', 'larder'), [\__('Tier', 'larder'), \__('Engine', 'larder'), \__('Hits', 'larder'), \__('Misses', 'larder'), \__('Writes', 'larder'), \__('Errors', 'larder')], $rows);
            $rows = [];
            foreach ($report['groups'] as $name => $group) {
                $rows[] = [Text::line((string) $name), isset($group['hits']) ? self::figure($group['hits']) : '–', self::figure($group['keys'])];
            }
            $this->section(\__('Groups', 'larder'), [\__('Group', 'larder'), \__('Hits', 'larder'), \__('Keys', 'larder')], $rows);
        }
        $this->after_non_tabular_output();
    }

    /**
     * @param list<string>       $head of the columns; none: each row is a name and a figure
     * @param list<list<string>> $rows
     */
    private function section(string $title, array $head, array $rows): void
    {
        echo '<section><h3>', \esc_html($title), '</h3><table>';
        if ($head !== []) {
            echo '<thead><tr>';
            foreach ($head as $label) {
                echo '<th scope="col">', \esc_html($label), '</th>';
            }
            echo '</tr></thead>';
        }
        echo '<tbody>';
        foreach ($rows as $row) {
            echo '<tr><th scope="row">', \esc_html($row[0]), '</th>';
            foreach (\array_slice($row, 1) as $cell) {
                echo '<td>', \esc_html($cell), '</td>';
            }
            echo '</tr>';
        }
        echo '</tbody></table></section>';
    }

    private static function figure(int|float|string $figure): string
    {
        return \is_string($figure) ? $figure : Text::number($figure);
    }
}
