<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * A report as one page that needs nothing else: no script, no file beside it, and no request to anywhere.
 *
 * First the answer as a picture, then who is first and where Larder loses, then every table with its pictures.
 */
final class Html
{
    private const TITLE = 'What caches for PHP cost here';
    private const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

    /** @throws \RuntimeException if the page's style is not where it was installed */
    public function render(Report $report): string
    {
        $tables = new Tables($report);
        $rank = new Rank($report);
        $style = \is_file(__DIR__ . '/page.css') ? \file_get_contents(__DIR__ . '/page.css') : false;

        return '<!doctype html>' . "\n"
            . '<html lang="en"><head><meta charset="utf-8">' . "\n"
            . '<meta http-equiv="Content-Security-Policy" content="' . self::POLICY . "\">\n"
            . '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">' . "\n"
            . Markup::element('title', self::TITLE . ' · ' . \substr($report->started, 0, 10)) . "\n"
            . '<style>' . ($style !== false ? $style : throw new \RuntimeException('Cannot read ' . __DIR__ . '/page.css: install Larder again.')) . Svg::STYLE . "</style></head>\n<body>\n"
            . Markup::around('header', Markup::element('h1', self::TITLE) . $this->marks($report))
            . "<main>\n"
            . $this->lead($rank)
            . ($report->notes === [] ? '' : Markup::around('aside', Markup::around('ul', \implode('', \array_map(static fn(string $note): string => Markup::element('li', $note), $report->notes))), ['class' => 'notes', 'aria-label' => 'What to know before reading']))
            . self::section('standings', '', [$tables->standings->firsts(), $tables->standings->losses()])
            . $this->scenarios($tables, $rank)
            . self::section('ratios', 'Promises and noise', [$tables->ratios(), $tables->noise()])
            . self::section('absent', 'What is not in the figures', [$tables->disqualified(), $tables->missing()])
            . $this->method($report, $tables)
            . "</main>\n</body></html>\n";
    }

    /** What speaks against trusting it, and what it is. */
    private function marks(Report $report): string
    {
        $marks = $report->partial ? '<strong class="mark bad">Partial: stopped before its end</strong> ' : '';
        if (!$report->quiet) {
            $marks .= Markup::element('strong', (Rank::knowsNoise($report) ? 'Noisy machine' : 'Noise not known') . ': differences of 10 % cannot be told', ['class' => 'mark bad']) . ' ';
        }
        if ($report->disqualified !== []) {
            $marks .= Markup::around('a', \count($report->disqualified) . ' disqualified', ['class' => 'mark bad', 'href' => '#absent']) . ' ';
        }
        $facts = \array_filter([
            (string) ($report->machine['processor'] ?? ''),
            isset($report->versions['PHP']) ? 'PHP ' . $report->versions['PHP'] : '',
            \number_format($report->rounds) . ($report->rounds === 1 ? ' round' : ' rounds'),
            \str_replace(['T', 'Z'], [' ', ''], \substr($report->started, 0, 16)) . ' UTC',
        ], static fn(string $fact): bool => $fact !== '');

        return Markup::around('p', $marks . Markup::text(\implode(' · ', $facts)) . ' · <a href="#standings">Where Larder loses</a> · <a href="#method">How it was measured</a>', ['class' => 'about']);
    }

    /** The picture that answers first. */
    private function lead(Rank $rank): string
    {
        foreach ($rank->scenarios() as $scenario) {
            foreach ($rank->groups($scenario) as $group) {
                $figure = $this->figure('lead', $rank, $group);
                if ($figure !== '') {
                    return $figure;
                }
            }
        }

        return Markup::element('p', 'This run measured nothing that could be drawn.', ['class' => 'about']);
    }

    private function scenarios(Tables $tables, Rank $rank): string
    {
        $html = '';
        $number = 0;
        foreach ($tables->all() as $scenario => $ofScenario) {
            $presentation = $rank->presentation((string) $scenario);
            $body = Markup::element('h2', $presentation->title)
                . ($presentation->about === '' ? '' : Markup::element('p', \ucfirst($presentation->about) . '.', ['class' => 'about']))
                . ($presentation->remark === '' ? '' : Markup::element('p', $presentation->remark, ['class' => 'about']));
            $pictures = '';
            foreach ($rank->groups((string) $scenario) as $group) {
                $figure = $this->figure('p' . ++$number, $rank, $group);
                $title = $rank->title($group);
                $pictures .= $figure === '' ? '' : Markup::around('details', Markup::element('summary', $title) . $figure) . "\n";
            }
            $html .= Markup::around('section', "$body\n" . $pictures . \implode('', \array_map(static fn(Table $table): string => Markup::around('details', Markup::element('summary', 'Table: ' . $table->title) . Markup::table($table)), $ofScenario)), ['id' => 's' . $number]) . "\n";
        }

        return $html;
    }

    /** @param non-empty-list<Result> $group */
    private function figure(string $id, Rank $rank, array $group): string
    {
        $title = $rank->title($group);
        $picture = Svg::rows($id, $title, $group, $rank);

        return $picture === '' ? '' : Markup::around('figure', Markup::element('figcaption', $title) . $picture) . "\n";
    }

    /** @param list<?Table> $tables */
    private static function section(string $id, string $title, array $tables): string
    {
        $body = \implode('', \array_map(Markup::table(...), \array_values(\array_filter($tables))));

        return $body === '' ? '' : Markup::around('section', ($title === '' ? '' : Markup::element('h2', $title)) . $body, ['id' => $id]) . "\n";
    }

    private function method(Report $report, Tables $tables): string
    {
        $points = '';
        foreach (Method::POINTS as $name => $text) {
            $points .= Markup::element('dt', $name) . Markup::element('dd', $text);
        }
        $samples = \array_sum(\array_map(static fn(Result $result): int => $result->summary->n, $report->results));

        return Markup::around('section', Markup::element('h2', 'How it was measured') . Markup::around('dl', $points)
            . Markup::element('p', \sprintf('%s results, %s samples: --json=FILE writes all of them.', Units::whole(\count($report->results)), Units::whole($samples)), ['class' => 'about'])
            . Markup::element('p', 'To repeat it:', ['class' => 'about']) . Markup::around('pre', Markup::element('code', $report->command), ['tabindex' => '0'])
            . Markup::table($tables->machine()), ['id' => 'method']) . "\n";
    }
}
