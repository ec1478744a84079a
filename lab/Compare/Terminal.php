<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Symfony\Component\Console\Formatter\OutputFormatter;
use Symfony\Component\Console\Helper\Table;
use Symfony\Component\Console\Output\OutputInterface;

/** A comparison for a terminal of 100 columns: what is wrong first, then figures, then one line that sums it up. */
final readonly class Terminal
{
    private const WIDTH = 100;
    private const NAME = 42;
    /** Names of cells that could not be compared; -v prints all. */
    private const NAMED = 10;

    public function __construct(private OutputInterface $output) {}

    public function show(Findings $findings): void
    {
        foreach ($findings->disqualified() as $line) {
            $this->say($line, 'fg=red;options=bold');
        }
        foreach ($findings->warnings() as $line) {
            $this->say($line, 'comment');
        }
        foreach ($findings->groups($this->output->isVerbose()) as $group) {
            $this->table($group['title'], self::colour($group['verdict']), $group['changes']);
        }
        foreach ($findings->apart() as $group) {
            $this->names($group['title'], $group['cells']);
        }
        $advice = $findings->advice();
        if ($advice !== null) {
            $this->say($advice, 'comment');
        }
        $this->say($findings->verdict(), $findings->comparison->fails() ? 'error' : 'info');
    }

    /** @param list<Change> $changes */
    private function table(string $title, string $colour, array $changes): void
    {
        $this->say($title, $colour);
        $table = new Table($this->output);
        $table->setHeaders(['cell', 'old', 'new', 'new/old', '95 %']);
        foreach ($changes as $change) {
            $table->addRow([
                OutputFormatter::escape(Name::folded($change->cell->id(), self::NAME)),
                Findings::amount($change->old, $change->cell->unit),
                Findings::amount($change->new, $change->cell->unit),
                "<$colour>" . Findings::number($change->ratio) . '</>',
                Findings::interval($change),
            ]);
        }
        $table->render();
    }

    /** @param list<string> $cells */
    private function names(string $title, array $cells): void
    {
        $this->say($title . ', ' . \count($cells) . ':', 'comment');
        $shown = $this->output->isVerbose() ? $cells : \array_slice($cells, 0, self::NAMED);
        foreach ($shown as $cell) {
            $this->output->writeln('  ' . OutputFormatter::escape($cell));
        }
        if (\count($cells) > \count($shown)) {
            $this->output->writeln(\sprintf('  and %d more (-v names them all)', \count($cells) - \count($shown)));
        }
    }

    private function say(string $line, string $style): void
    {
        foreach (\explode("\n", \wordwrap($line, self::WIDTH)) as $part) {
            $this->output->writeln("<$style>" . OutputFormatter::escape($part) . '</>');
        }
    }

    private static function colour(Verdict $verdict): string
    {
        return match ($verdict) {
            Verdict::Lost => 'fg=red',
            Verdict::Gained, Verdict::Better => 'fg=green',
            default => 'fg=yellow',
        };
    }
}
