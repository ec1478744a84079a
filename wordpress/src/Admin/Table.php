<?php

declare(strict_types=1);

namespace Larder\WordPress\Admin;

/** Prints the tables of the page. Each text is escaped where it is printed. */
final class Table
{
    /** A table that is wider than a phone is moved by itself, by keyboard too; the page stays where it is. */
    public static function open(string $caption, string $class = ''): void
    {
        echo '<div class="', \esc_attr(\rtrim('larder-table ' . $class)), '" role="region" tabindex="0" aria-label="', \esc_attr($caption), '"><table class="widefat striped"><caption class="screen-reader-text">', \esc_html($caption), '</caption>';
    }

    public static function close(): void
    {
        echo "</tbody></table></div>\n";
    }

    /**
     * The heads of the columns; the body begins.
     *
     * @param array{0: string, 1?: string} ...$columns label and class
     */
    public static function heads(array ...$columns): void
    {
        echo '<thead><tr>';
        foreach ($columns as $column) {
            self::head(...$column);
        }
        self::body();
    }

    public static function head(string $label, string $class = ''): void
    {
        echo '<th scope="col"';
        self::attribute('class', $class);
        echo '>', \esc_html($label), '</th>';
    }

    public static function body(): void
    {
        echo '</tr></thead><tbody>';
    }

    /**
     * A row begins with what it is about.
     *
     * @param bool $isCode it runs from left to right in every language
     */
    public static function row(string $text, bool $isCode = false): void
    {
        echo '<tr><th scope="row"';
        self::attribute('dir', $isCode ? 'ltr' : '');
        echo '>', \esc_html($text), '</th>';
    }

    /** @param string $label of the cell where it stands below its row's head, on a narrow screen */
    public static function text(string $text, string $label = '', string $class = '', bool $isCode = false): void
    {
        echo '<td';
        self::attribute('class', $class);
        self::attribute('dir', $isCode ? 'ltr' : '');
        self::attribute('data-label', $label);
        echo '>', \esc_html($text), '</td>';
    }

    public static function number(int $value, ?string $text = null, string $label = ''): void
    {
        echo '<td class="larder-number" data-value="', (int) $value, '"';
        self::attribute('data-label', $label);
        echo '>', \esc_html($text ?? Text::number($value)), '</td>';
    }

    public static function endRow(): void
    {
        echo '</tr>';
    }

    private static function attribute(string $name, string $value): void
    {
        if ($value !== '') {
            echo ' ', \esc_attr($name), '="', \esc_attr($value), '"';
        }
    }
}
