<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Report;

/** A report as Markdown, as GitHub shows it. */
final class Markdown
{
    public function render(Report $report): string
    {
        $tables = new Tables($report);
        $parts = ['# What the laboratory found' . ($report->partial ? ' (partial)' : '')];
        if ($report->partial) {
            $parts[] = '**This run was stopped before its end.**';
        }
        if ($report->notes !== []) {
            $parts[] = $this->items(\array_map(static fn(string $note): string => $report->quiet && !$report->partial ? self::text($note) : '**' . self::text($note) . '**', $report->notes));
        }
        $this->section($parts, $tables->standings->firsts());
        $this->section($parts, $tables->standings->losses());
        $parts[] = '## How to repeat it';
        $parts[] = self::code($report->command);
        $parts[] = \sprintf('%s, %s rounds in random order, %s seconds.', self::text($report->started), Units::whole($report->rounds), Units::digits($report->seconds));
        $this->section($parts, $tables->disqualified());
        $rank = new Rank($report);
        foreach ($tables->all() as $scenario => $ofScenario) {
            $presentation = $rank->presentation((string) $scenario);
            $parts[] = '## ' . self::text($presentation->title);
            foreach ([$presentation->about, $presentation->remark] as $text) {
                if ($text !== '') {
                    $parts[] = self::text($text);
                }
            }
            foreach ($ofScenario as $table) {
                $this->section($parts, $table, '###');
            }
        }
        $this->section($parts, $tables->ratios());
        $this->section($parts, $tables->noise());
        $this->section($parts, $tables->missing());
        $this->section($parts, $tables->machine());

        return \implode("\n\n", $parts) . "\n";
    }

    /** @param list<string> $parts */
    private function section(array &$parts, ?Table $table, string $heading = '##'): void
    {
        if ($table === null) {
            return;
        }
        $parts[] = $heading . ' ' . self::text($table->title);
        if ($table->about !== '') {
            $parts[] = self::text($table->about);
        }
        if ($table->rows !== []) {
            $parts[] = $this->table($table);
        }
    }

    private function table(Table $table): string
    {
        $lines = [
            $this->line(\array_map(static fn(Column $column): string => self::text($column->label), $table->columns)),
            $this->line(\array_map(static fn(Column $column): string => $column->number ? '---:' : '---', $table->columns)),
        ];
        foreach ($table->rows as $row) {
            $cells = [];
            foreach ($row->cells as $i => $cell) {
                $cell = self::text($cell);
                $cells[] = $cell !== '' && (\in_array($i, $row->best, true) || ($row->bad && $i === 0)) ? "**$cell**" : $cell;
            }
            $lines[] = $this->line($cells);
        }

        return \implode("\n", $lines);
    }

    /** @param list<string> $cells */
    private function line(array $cells): string
    {
        return '| ' . \implode(' | ', $cells) . ' |';
    }

    /** @param list<string> $items */
    private function items(array $items): string
    {
        return \implode("\n", \array_map(static fn(string $item): string => "- $item", $items));
    }

    /** A line that is code, whatever it holds: fenced by more backticks than are in it. */
    private static function code(string $text): string
    {
        $text = Plain::line($text);
        \preg_match_all('/`+/', $text, $ticks);
        $fence = \str_repeat('`', \max([3, ...\array_map(static fn(string $run): int => \strlen($run) + 1, $ticks[0])]));

        return "{$fence}sh\n$text\n$fence";
    }

    /**
     * Text that stays text (CommonMark 0.31.2, 2.4: any of these may stand behind a backslash; 2.5: entities).
     *
     * An underscore inside a word and a colon that begins no address mean nothing and stay readable.
     */
    private static function text(string $text): string
    {
        $text = \strtr(Plain::line($text), ['&' => '&amp;', '<' => '&lt;', '>' => '&gt;']);
        $text = \preg_replace('/[\\\\`*{}\[\]|~#!$@]|(?<![[:alnum:]])_|_(?![[:alnum:]])/', '\\\\$0', $text) ?? '';
        $text = \str_replace('://', '\://', \preg_replace('/\bwww\./i', 'www\.', $text) ?? '');

        // What begins a list, a heading's underline or a number of a list, at the start of a line.
        return \preg_replace('/^(\d+)?([-+.)=])(?=\s|$|-|=)/', '$1\\\\$2', $text) ?? '';
    }
}
