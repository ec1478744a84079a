<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

use Larder\WordPress\Statistics;

/**
 * The hours of a week as two drawings, and as a table, for screen readers too.
 *
 * The drawings have no colours of their own: they take the text's, and the accent of the user's colour scheme. An hour in
 * which nothing was counted is a gap. What is text is outside of the drawing, for that is stretched to the page's width.
 *
 * @phpstan-import-type Row from Statistics
 */
final readonly class Timeline
{
    private const HEIGHT = 100;

    /** @param Figures $figures at least one hour */
    public function __construct(private Figures $figures) {}

    public function render(): void
    {
        $hours = $this->figures->hours;
        $ratios = \array_map($this->ratio(...), $hours);
        $bytes = \array_column($hours, 'bytes');
        $most = (int) \max(1, ...\array_map(\intval(...), $bytes));
        $titles = \array_map($this->title(...), $hours);
        echo '<div class="larder-timeline">';
        $this->plot(\__('Hit rate by hour', 'larder'), $this->summary($ratios), $ratios, $titles, Text::percentage(1, 0));
        $this->plot(\__('Size of the cache by hour', 'larder'), \sprintf(
            /* translators: %s: size with its unit */
            \__('The largest size was %s.', 'larder'),
            Text::bytes($most),
        ), \array_map(static fn(?int $held): ?float => $held === null ? null : $held / $most, $bytes), $titles, Text::bytes($most));
        echo '<ol class="larder-days" aria-hidden="true">';
        foreach ($hours as $place => $row) {
            if ((int) \wp_date('G', $row['hour']) === 0) {
                // Of a day that has hardly begun, the name would stand out of the drawing.
                echo '<li style="inset-inline-start:', \esc_attr(self::decimal($place / \count($hours) * 100)), '%">', \esc_html($place > \count($hours) * 0.93 ? '' : (string) \wp_date('D j', $row['hour'])), '</li>';
            }
        }
        echo '</ol></div>';
        $this->table();
    }

    /**
     * @param list<?float>  $values 0 to 1, by hour; null: a gap
     * @param list<string>  $titles of the hours, shown where the pointer is
     * @param string        $top    what 1 stands for
     */
    private function plot(string $name, string $about, array $values, array $titles, string $top): void
    {
        $id = 'larder-' . \substr(\hash('sha256', $name), 0, 8);
        echo '<figure class="larder-plot"><figcaption>', \esc_html($name), '</figcaption><div class="larder-scale" aria-hidden="true"><span><bdi>', \esc_html($top), '</bdi></span><span><bdi>', \esc_html(Text::number(0)), '</bdi></span></div>',
        '<svg viewBox="0 0 ', (int) \count($values), ' ', (int) self::HEIGHT, '" preserveAspectRatio="none" role="img" aria-labelledby="', \esc_attr("$id-title $id-about"), '" focusable="false">',
        '<title id="', \esc_attr("$id-title"), '">', \esc_html($name), '</title><desc id="', \esc_attr("$id-about"), '">', \esc_html($about), '</desc>',
        '<path class="larder-area" d="', \esc_attr(self::path($values, true)), '"/><path class="larder-line" d="', \esc_attr(self::path($values, false)), '"/>';
        foreach ($values as $place => $value) {
            if ($value !== null) {
                echo '<rect x="', (int) $place, '" width="1" height="', (int) self::HEIGHT, '"><title>', \esc_html($titles[$place]), '</title></rect>';
            }
        }
        echo '</svg></figure>';
    }

    /**
     * A step an hour, so that an hour between two gaps is seen too.
     *
     * @param list<?float> $values
     */
    private static function path(array $values, bool $isArea): string
    {
        $path = '';
        $last = null;
        foreach ([...$values, null] as $place => $value) {
            $y = $value === null ? null : self::decimal(self::HEIGHT * (1 - $value));
            if ($y !== null && $last === null) {
                $path .= $isArea ? "M$place," . self::HEIGHT . "V$y" : "M$place,$y";
            } elseif ($y !== null && $y !== $last) {
                $path .= "V$y";
            } elseif ($y === null && $last !== null && $isArea) {
                $path .= 'V' . self::HEIGHT . 'Z';
            }
            $path .= $y === null ? '' : 'H' . ($place + 1);
            $last = $y;
        }

        return $path;
    }

    private function table(): void
    {
        $figures = $this->figures;
        $number = 'larder-number';
        $tiers = [];
        foreach ($figures->tiers as $tier) {
            /* translators: %s: a tier of the cache, as: Disk */
            $tiers[] = [\sprintf(\__('%s: hits', 'larder'), Text::tier($tier)), $number];
            /* translators: %s: a tier of the cache, as: Disk */
            $tiers[] = [\sprintf(\__('%s: misses', 'larder'), Text::tier($tier)), $number];
        }
        echo '<details class="larder-hours"><summary>', \esc_html__('The figures of each hour as a table', 'larder'), '</summary>';
        Table::open(\__('Reads by hour', 'larder'));
        Table::heads(
            [\__('Hour', 'larder')],
            [\__('Requests', 'larder'), $number],
            [\__('Answered in the request', 'larder'), $number],
            ...$tiers,
            ...[[\__('Not found', 'larder'), $number], [\__('Hit rate', 'larder'), $number], [\__('Size of the cache', 'larder'), $number]],
        );
        // The last hour first: it is looked for most.
        foreach (\array_reverse($figures->hours) as $row) {
            Table::row(self::hour($row));
            Table::number($row['requests']);
            Table::number($figures->within($row));
            foreach ($figures->tiers as $tier) {
                Table::number($row['tiers'][$tier]['hits'] ?? 0);
                Table::number($row['tiers'][$tier]['misses'] ?? 0);
            }
            Table::number($row['misses']);
            Table::text(Text::percentage($figures->below($row), $row['misses']), class: $number);
            Table::text($row['bytes'] === null ? '–' : Text::bytes($row['bytes']), class: $number);
            Table::endRow();
        }
        Table::close();
        echo "</details>\n";
    }

    /** @param Row $row */
    private function ratio(array $row): ?float
    {
        $kept = $this->figures->below($row);

        return $kept + $row['misses'] === 0 ? null : $kept / ($kept + $row['misses']);
    }

    /** @param Row $row */
    private function title(array $row): string
    {
        return \sprintf(
            /* translators: 1: date and time, 2: percentage, 3: size with its unit, 4: number of requests */
            \__('%1$s · hit rate %2$s · size %3$s · requests %4$s', 'larder'),
            self::hour($row),
            Text::percentage($this->figures->below($row), $row['misses']),
            $row['bytes'] === null ? '–' : Text::bytes($row['bytes']),
            Text::number($row['requests']),
        );
    }

    /** @param list<?float> $ratios */
    private function summary(array $ratios): string
    {
        $known = \array_filter($ratios, \is_float(...));
        if ($known === []) {
            return \__('Nothing was counted.', 'larder');
        }

        return \sprintf(
            /* translators: 1: number of hours, 2: lowest percentage, 3: highest percentage */
            \__('In %1$s hours the hit rate was from %2$s to %3$s. The other hours are gaps. The table below has the same figures.', 'larder'),
            Text::number(\count($known)),
            Text::percentage(\min($known), 1 - \min($known)),
            Text::percentage(\max($known), 1 - \max($known)),
        );
    }

    /** @param array{hour: int, ...} $row */
    private static function hour(array $row): string
    {
        return Text::time('date_format', $row['hour']) . ' ' . Text::time('time_format', $row['hour']);
    }

    /** As SVG and CSS write it, whatever the language. */
    private static function decimal(float $number): string
    {
        return \rtrim(\rtrim(\sprintf('%.2F', $number), '0'), '.');
    }
}
