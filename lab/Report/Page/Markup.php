<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Table;

/**
 * HTML whose text is always escaped.
 *
 * This folder holds what the page is made of: the parts of its text, its style (page.css), and its script, which is
 * built (build.mjs, source/, bundle.js). What the page says is in the folder above: Tables, Findings.
 */
final class Markup
{
    public static function text(string $text): string
    {
        return \htmlspecialchars(Plain::line($text), \ENT_QUOTES | \ENT_SUBSTITUTE | \ENT_HTML5, 'UTF-8');
    }

    /** @param array<string, string> $attributes */
    public static function element(string $name, string $text, array $attributes = []): string
    {
        return self::around($name, self::text($text), $attributes);
    }

    /**
     * @param string                $html       escaped by whoever made it
     * @param array<string, string> $attributes
     */
    public static function around(string $name, string $html, array $attributes = []): string
    {
        return self::void($name, $attributes) . "$html</$name>";
    }

    /** @param array<string, string> $attributes */
    public static function void(string $name, array $attributes = []): string
    {
        $html = "<$name";
        foreach ($attributes as $attribute => $value) {
            $html .= " $attribute" . ($value === '' ? '' : '="' . self::text($value) . '"');
        }

        return "$html>";
    }

    /**
     * A table behind its title, to be opened. Open as it comes, for readers without scripts; the script closes it.
     *
     * @param array<string, string> $bars what stands beside a row, by the row's id: a style that places its bar
     */
    public static function folded(Table $table, array $bars = []): string
    {
        return self::around('details', self::element('summary', 'Table: ' . $table->title) . self::table($table, $bars, true), ['class' => 'table', 'open' => '']) . "\n";
    }

    /** @param array<string, string> $bars */
    public static function table(Table $table, array $bars = [], bool $titled = false): string
    {
        $withBars = $bars !== [] && \array_filter($table->rows, static fn($row): bool => isset($bars[$row->id])) !== [];
        $caption = self::around('caption', self::around('span', ($titled ? '' : self::element('b', $table->title) . ' ') . self::text($titled ? "$table->title. $table->about" : $table->about)));
        $head = '';
        // The bar stands before the figures: on a narrow screen it is what should be seen.
        $place = 0;
        foreach ($table->columns as $i => $column) {
            $place = $column->number && $place === 0 ? $i : $place;
        }
        foreach ($table->columns as $i => $column) {
            $head .= $withBars && $i === $place ? self::element('th', 'p5 to p95, logarithmic', ['scope' => 'col', 'class' => 'bar']) : '';
            $head .= self::element('th', $column->label, ['scope' => 'col'] + ($column->number ? ['class' => 'n'] : []));
        }
        $body = '';
        foreach ($table->rows as $row) {
            $line = '';
            $bar = '<td class="bar">' . (isset($bars[$row->id]) ? self::around('i', '', ['style' => $bars[$row->id]]) : '') . '</td>';
            foreach ($row->cells as $i => $cell) {
                $line .= $withBars && $i === $place ? $bar : '';
                $class = \trim((($table->columns[$i] ?? null)?->number === true ? 'n ' : '') . (\in_array($i, $row->best, true) ? 'best' : ''));
                $line .= self::element($i === 0 ? 'th' : 'td', $cell, ($i === 0 ? ['scope' => 'row'] : []) + ($class !== '' ? ['class' => $class] : []));
            }
            $body .= self::around('tr', $line, $row->bad ? ['class' => 'bad'] : []) . "\n";
        }

        return self::around('div', self::around('table', "$caption<thead><tr>$head</tr></thead><tbody>\n$body</tbody>", ['id' => "table-$table->id"]), [
            // What scrolls sideways on a phone must be reached by the keyboard too.
            'class' => 'scroll', 'tabindex' => '0', 'role' => 'region', 'aria-label' => $table->title,
        ]);
    }
}
