<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

/** HTML and SVG whose text is always escaped. */
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
     * @param string                $html       escaped by the code that made it
     * @param array<string, string> $attributes those without a value are left out
     */
    public static function around(string $name, string $html, array $attributes = []): string
    {
        $tag = "<$name";
        foreach ($attributes as $attribute => $value) {
            $tag .= $value === '' ? '' : " $attribute=\"" . self::text($value) . '"';
        }

        return "$tag>$html</$name>";
    }

    /** What scrolls sideways must be reached by the keyboard too; on a phone (page.css) each cell says what it is, for there the head is not shown. */
    public static function table(Table $table): string
    {
        $head = $body = '';
        foreach ($table->columns as $column) {
            $head .= self::element('th', $column->label, ['scope' => 'col', 'class' => $column->number ? 'n' : '']);
        }
        foreach ($table->rows as $row) {
            $line = '';
            foreach ($row->cells as $i => $cell) {
                $class = \trim((($table->columns[$i] ?? null)?->number === true ? 'n ' : '') . (\in_array($i, $row->best, true) ? 'best' : ''));
                $line .= self::element($i === 0 ? 'th' : 'td', $cell, ['scope' => $i === 0 ? 'row' : '', 'class' => $class, 'data-of' => $i === 0 || $cell === Units::NOTHING ? '' : $table->columns[$i]->label ?? '']);
            }
            $body .= self::around('tr', $line, ['class' => $row->bad ? 'bad' : '']) . "\n";
        }
        $caption = self::around('caption', self::element('b', $table->title) . ' ' . self::text($table->about));

        return self::around('div', $table->rows === [] ? self::element('p', $table->title) : self::around('table', "$caption<thead><tr>$head</tr></thead><tbody>\n$body</tbody>"), [
            'class' => 'scroll', 'tabindex' => '0', 'role' => 'region', 'aria-label' => $table->title, 'id' => "table-$table->id",
        ]) . "\n";
    }
}
