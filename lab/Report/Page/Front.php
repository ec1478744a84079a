<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Report\Findings;
use Larder\Lab\Report\Tables;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;

/** What is read first: the answer, what speaks against trusting it, the machine, and how to repeat it. */
final readonly class Front
{
    public function __construct(private Report $report, private Findings $findings, private Tables $tables) {}

    public function render(string $title): string
    {
        $report = $this->report;
        $answer = '';
        foreach ($this->findings->sentences($report) as $i => $sentence) {
            // Where it loses is said as loud as where it wins.
            $answer .= ($i > 0 ? ' ' : '') . Markup::element('span', $sentence);
        }

        return Markup::around(
            'header',
            Markup::element('p', 'Larder · laboratory', ['class' => 'kicker'])
            . Markup::element('h1', $title)
            . Markup::around('p', $answer, ['class' => 'answer'])
            . $this->notes()
            . $this->machine()
            . Markup::element('h2', 'To repeat it')
            . Markup::around('pre', Markup::element('code', $report->command), ['tabindex' => '0'])
            . Markup::element('p', \sprintf(
                'Run on %s UTC, %s rounds, seed %d, %s.',
                \str_replace(['T', 'Z'], [' ', ''], \substr($report->started, 0, 16)),
                \number_format($report->rounds),
                $report->seed,
                self::lasted($report->seconds),
            ), ['class' => 'about'])
            . $this->contents(),
        ) . "\n";
    }

    private function notes(): string
    {
        $marks = '';
        if ($this->report->partial) {
            $marks .= '<strong class="mark bad">Partial: stopped before its end</strong> ';
        }
        if (!$this->report->quiet) {
            // Not quiet is also what nothing is known of: no pair, or too few rounds of it.
            $known = \array_filter($this->report->ratios, static fn(Ratio $ratio): bool => $ratio->kind === Ratio::NOISE && \is_finite($ratio->high)) !== [];
            $marks .= Markup::element('strong', ($known ? 'Noisy machine' : 'Noise not known') . ': differences of 10 % cannot be told', ['class' => 'mark warn']) . ' ';
        }
        if ($this->report->disqualified !== []) {
            $marks .= Markup::around('a', Markup::element('strong', \count($this->report->disqualified) . ' disqualified', ['class' => 'mark bad']), ['href' => '#absent']) . ' ';
        }
        $lines = '';
        foreach ($this->report->notes as $note) {
            $lines .= Markup::element('li', $note);
        }

        return $marks . $lines === '' ? '' : Markup::around('aside', ($marks === '' ? '' : Markup::around('p', $marks)) . ($lines === '' ? '' : "<ul>$lines</ul>"), [
            'class' => $this->report->partial || !$this->report->quiet ? 'notes loud' : 'notes',
            'aria-label' => 'What to know before reading',
        ]);
    }

    private function machine(): string
    {
        $facts = '';
        foreach ($this->tables->machine()->rows as $row) {
            $facts .= Markup::around('div', Markup::element('dt', \ucfirst($row->cells[0])) . Markup::element('dd', $row->cells[1]));
        }

        return Markup::element('h2', 'The machine and the versions') . Markup::around('dl', $facts, ['class' => 'machine']);
    }

    private function contents(): string
    {
        $links = '';
        $count = 0;
        foreach (\array_keys($this->tables->all()) as $scenario) {
            $links .= Markup::around('li', Markup::element('a', \ucfirst((string) $scenario), ['href' => '#s' . $count++]));
        }
        foreach (['ratios' => 'Promises and noise', 'absent' => 'What is not in the figures', 'method' => 'How it was measured'] as $id => $title) {
            if ($id !== 'ratios' || $this->tables->ratios() !== null || $this->tables->noise() !== null) {
                $links .= Markup::around('li', Markup::element('a', $title, ['href' => "#$id"]));
            }
        }

        return Markup::around('nav', "<ul>$links<li><button type=\"button\" id=\"tables\" aria-pressed=\"false\">Open all tables</button></li></ul>", ['aria-label' => 'On this page']);
    }

    private static function lasted(float $seconds): string
    {
        return match (true) {
            $seconds < 90 => \sprintf('%.0f seconds', $seconds),
            $seconds < 5400 => \sprintf('%.0f minutes', $seconds / 60),
            default => \sprintf('%.1f hours', $seconds / 3600),
        };
    }
}
