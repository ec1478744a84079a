<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Report;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Output\OutputInterface;
use Symfony\Component\Console\Terminal as Screen;

/** A report on a terminal: what must be known first, then the tables, then who is first and where Larder loses. */
final readonly class Terminal
{
    /** Of what is not a terminal; and of text on any, for longer lines are hard to read. */
    private const WIDTH = 100;
    /** Of tables, which at this width have all their columns. */
    private const WIDE = 160;
    /** Below, no table can be read anyway. */
    private const NARROW = 40;
    /** Between columns. */
    private const GAP = 2;

    private int $width;

    /** @param ?int $width columns of the screen; null: as many as it has, at most 160; 100 where it has none */
    public function __construct(
        private OutputInterface $output,
        ?int $width = null,
    ) {
        $this->width = \max(self::NARROW, \min($width ?? ($output->isDecorated() ? (new Screen())->getWidth() : self::WIDTH), self::WIDE));
    }

    /** @param array<string, string> $files where the report lies, by form */
    public function print(Report $report, array $files = []): void
    {
        $tables = new Tables($report);
        $this->say($report->command . ($report->partial ? ' (stopped before its end)' : ''), 'options=bold');
        $this->say(\sprintf('%s, %s rounds, %s s', $report->started, Units::whole($report->rounds), Units::digits($report->seconds)), '');
        foreach ($report->notes as $note) {
            $this->say('! ' . $note, $report->partial || !$report->quiet ? 'fg=yellow' : '');
        }
        foreach ($tables->all() as $ofScenario) {
            foreach ($ofScenario as $table) {
                $this->table($table);
            }
        }
        $this->table($tables->ratios(), 'fg=red');
        $this->table($tables->noise(), 'fg=yellow');
        $this->table($tables->disqualified(), 'fg=red', 'fg=red;options=bold');
        $this->table($tables->missing(), 'fg=yellow', 'fg=yellow;options=bold');
        $this->table($tables->firsts());
        $this->table($tables->losses(), 'fg=red');
        if ($files !== []) {
            $this->output->writeln('');
        }
        foreach ($files as $form => $file) {
            $this->say(\sprintf('%-9s %s', $form, $file), 'fg=green');
        }
    }

    public function table(?Table $table, string $bad = '', string $title = 'options=bold'): void
    {
        if ($table === null) {
            return;
        }
        if ($table->rows === []) {
            $this->output->writeln('');
            $this->say($table->title, $title);

            return;
        }
        $table = $this->marked($table);
        $table = $this->fitted($table);
        $widths = $this->widths($table);
        $this->output->writeln('');
        $this->say($table->title, $title);
        if ($table->about !== '') {
            $this->say($table->about, '');
        }
        $this->row(\array_map(static fn(Column $column): string => $column->label, $table->columns), $table, $widths, static fn(): string => 'fg=cyan');
        foreach ($table->rows as $row) {
            $this->row($row->cells, $table, $widths, static fn(int $i): string => $row->bad ? $bad : (\in_array($i, $row->best, true) ? 'fg=green;options=bold' : ''));
        }
    }

    /** The best are told from the others without colours too: by a star before the line. */
    private function marked(Table $table): Table
    {
        $rows = [];
        $some = false;
        foreach ($table->rows as $row) {
            $cells = $row->cells;
            foreach ($row->best as $i) {
                $cells[$i] = '*' . $cells[$i];
                $some = true;
            }
            $rows[] = new Row(\array_values($cells), $row->best, $row->bad, $row->id);
        }

        return $some ? new Table($table->id, $table->title, \ltrim($table->about . ' * the best.'), $table->columns, $rows) : $table;
    }

    /** With as many of its columns as there is room for, without what is least important. */
    private function fitted(Table $table): Table
    {
        while (\array_sum(self::natural($table)) > $this->room($table)) {
            $last = null;
            foreach ($table->columns as $i => $column) {
                if ($column->rank > 0 && ($last === null || $column->rank > $table->columns[$last]->rank)) {
                    $last = $i;
                }
            }
            if ($last === null) {
                break;
            }
            $kept = \array_keys($table->columns);
            unset($kept[$last]);
            $table = $table->only(\array_values($kept));
        }

        return $table;
    }

    private function room(Table $table): int
    {
        return $this->width - self::GAP * \count($table->columns);
    }

    /** @return list<int> what each column would take, without room between them */
    private static function natural(Table $table): array
    {
        $widths = [];
        foreach ($table->columns as $i => $column) {
            $widths[] = \max([\mb_strwidth($column->label), ...\array_map(static fn(Row $row): int => \mb_strwidth($row->cells[$i]), $table->rows)]);
        }

        return $widths;
    }

    /** @return list<int> what each column gets: where it is not enough for all, the widest are folded */
    private function widths(Table $table): array
    {
        $widths = self::natural($table);
        $room = $this->room($table);
        while (\array_sum($widths) > $room && ($widest = \max([0, ...$widths])) > 4) {
            --$widths[(int) \array_search($widest, $widths, true)];
        }

        return \array_values($widths);
    }

    /**
     * @param list<string>          $cells
     * @param list<int>             $widths
     * @param \Closure(int): string $style  of each column
     */
    private function row(array $cells, Table $table, array $widths, \Closure $style): void
    {
        $folded = \array_map(self::folded(...), $cells, $widths);
        for ($line = 0; $line < \max([1, ...\array_map(\count(...), $folded)]); ++$line) {
            $text = '';
            foreach ($folded as $i => $lines) {
                $part = $lines[$line] ?? '';
                $pad = \str_repeat(' ', \max(0, $widths[$i] - \mb_strwidth($part)));
                $text .= self::styled($table->columns[$i]->number ? $pad . $part : $part . $pad, $style($i)) . \str_repeat(' ', self::GAP);
            }
            $this->output->writeln(\rtrim($text));
        }
    }

    public function say(string $text, string $style): void
    {
        foreach (self::folded(Plain::line($text), \min($this->width, self::WIDTH)) as $line) {
            $this->output->writeln(self::styled($line, $style));
        }
    }

    private static function styled(string $plain, string $style): string
    {
        $plain = OutputFormatter::escape($plain);

        return $style === '' ? $plain : "<$style>$plain</>";
    }

    /**
     * On lines no wider than this, broken at a space, or after : or /, or where need be.
     *
     * @return non-empty-list<string>
     */
    private static function folded(string $text, int $width): array
    {
        $lines = [];
        while (\mb_strwidth($text) > $width) {
            $line = \mb_strimwidth($text, 0, $width);
            if ($line === '') {
                // A character wider than the column.
                $line = \mb_substr($text, 0, 1);
            }
            $space = $text[\strlen($line)] === ' ' ? \strlen($line) : \strrpos($line, ' ');
            if ($space !== false && $space >= \strlen($line) / 2) {
                $line = \substr($line, 0, $space);
            } elseif (\preg_match('~^.{4,}[:/]~us', $line, $match) === 1) {
                $line = $match[0];
            }
            $lines[] = \rtrim($line);
            $text = \ltrim(\substr($text, \strlen($line)));
        }
        $lines[] = $text;

        return $lines;
    }
}
