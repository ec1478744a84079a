<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Report;
use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Helper\Table as Grid;
use Symfony\Component\Console\Helper\TableStyle;
use Symfony\Component\Console\Output\OutputInterface;
use Symfony\Component\Console\Terminal as Screen;

use function Symfony\Component\String\u;

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
        $this->table($tables->standings->firsts());
        $this->table($tables->standings->losses(), 'fg=red');
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
        $table = $this->fitted($this->marked($table));
        $widths = $this->widths($table);
        $this->output->writeln('');
        $this->say($table->title, $title);
        if ($table->about !== '') {
            $this->say($table->about, '');
        }
        $left = (new TableStyle())->setHorizontalBorderChars('')->setVerticalBorderChars('')->setDefaultCrossingChar('')->setCellHeaderFormat('%s')->setCellRowContentFormat('%s' . \str_repeat(' ', self::GAP));
        $grid = (new Grid($this->output))->setStyle($left);
        foreach ($table->columns as $i => $column) {
            $column->number && $grid->setColumnStyle($i, (clone $left)->setPadType(\STR_PAD_LEFT));
        }
        $cell = static fn(string $text, int $width, string $style): string => \implode("\n", \array_map(static fn(string $line): string => self::styled($line, $style), self::folded($text, $width)));
        $grid->setHeaders(\array_map(static fn(Column $column, int $width): string => $cell($column->label, $width, 'fg=cyan'), $table->columns, $widths));
        foreach ($table->rows as $row) {
            $grid->addRow(\array_map(
                static fn(string $text, int $width, int $i): string => $cell($text, $width, $row->bad ? $bad : (\in_array($i, $row->best, true) ? 'fg=green;options=bold' : '')),
                $row->cells,
                $widths,
                \array_keys($row->cells),
            ));
        }
        $grid->render();
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

    /** @return list<string> */
    private static function folded(string $text, int $width): array
    {
        return \explode("\n", u($text)->wordwrap($width, "\n", true)->toString());
    }
}
