<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\Health;

/** What the page cache did, on the plugin's page. */
final readonly class Pages
{
    private const REASONS = 8;

    /** @param array{hit: int, stale: int, stored: int, passed: int, why: array<string, int>} $counts Counts::sum() */
    public function __construct(private array $counts) {}

    public function render(): void
    {
        echo '<h2 id="larder-pages">', \esc_html__('Pages in the last 48 hours', 'larder'), '</h2>';
        $problem = Health::pagesProblem();
        if ($problem !== '') {
            echo '<p>', \esc_html($problem), '</p>';

            return;
        }
        $counts = $this->counts;
        $all = $counts['hit'] + $counts['stale'] + $counts['stored'] + $counts['passed'];
        if ($all === 0) {
            echo '<p>', \esc_html__('Nothing has been counted yet: Larder counts some requests only.', 'larder'), '</p>';
        } else {
            Table::open(\__('What became of requests for pages', 'larder'));
            echo '<tbody>';
            $this->row(\__('Answered with a stored page', 'larder'), $counts['hit'], $all);
            $this->row(\__('Answered with a stored page while it was renewed', 'larder'), $counts['stale'], $all);
            $this->row(\__('Built by WordPress and stored', 'larder'), $counts['stored'], $all);
            $this->row(\__('Built by WordPress and not stored', 'larder'), $counts['passed'], $all);
            foreach (\array_slice($counts['why'], 0, self::REASONS, true) as $why => $times) {
                // The library's own words, in English as in its header Cache-Status.
                $this->row('— ' . $why, $times, $all);
            }
            Table::close();
            echo '<p class="description">', \esc_html__('These are estimates: Larder counts one stored page in 32 and one other request in 4, and multiplies.', 'larder'), '</p>';
        }
    }

    private function row(string $label, int $times, int $all): void
    {
        Table::row($label);
        Table::number($times);
        Table::text(Text::percentage($times, $all - $times), class: 'larder-number');
        Table::endRow();
    }
}
