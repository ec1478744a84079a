<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Table;
use Larder\Lab\Report\Tables;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;

/**
 * The scenarios, what was compared in turn, and what is not there: pictures, each with its tables.
 *
 * @phpstan-import-type Figure from Pictures
 */
final class Sections
{
    private const TITLES = ['engines' => 'Engines', 'serializers' => 'Serializers', 'loop' => 'The loop', 'segment' => 'The segment', 'transients' => 'WordPress: transients', 'catalog' => 'WordPress: a catalogue'];

    /** What stands before the first picture, where the scenario's own line is not enough. */
    private const ASIDE = ['engines' => 'APCu takes the place that the published comparisons give to XCache, which ended with PHP 5. Two subjects are not shared between processes and are here only for comparison: lookup, a PHP array, and larder-request, Larder\'s tier that dies with its request.', 'segment' => 'One operation takes so little time here that the loop around it matters: lookup, a look-up in an array by a one-line method, is the least that PHP can do. OPcache\'s file is included by a ready-made path; it is not written for concurrent readers, and it does not count.'];

    /** @var array<string, Result> by the cell's id */
    private array $results = [];
    /** @var array<string, string> by the cell's id */
    private array $bars = [];

    public function __construct(
        private readonly Report $report,
        private readonly Tables $tables,
        private readonly Pictures $pictures,
    ) {
        foreach ($report->results as $result) {
            $this->results[$result->cell->id()] = $result;
        }
        $this->bars = self::bars($report->results);
    }

    public function render(): string
    {
        $about = \array_column($this->report->scenarios, 'about', 'name');
        $html = '';
        $names = [];
        foreach ($this->tables->all() as $scenario => $tables) {
            $html .= $this->scenario((string) $scenario, $about[$scenario] ?? '', $tables, 's' . \count($names));
            $names[] = $scenario;
        }

        return $html . $this->comparisons() . $this->absent();
    }

    /** @param list<Table> $tables */
    private function scenario(string $name, string $about, array $tables, string $id): string
    {
        $html = Markup::element('h3', self::TITLES[$name] ?? $name) . Markup::element('p', \ucfirst($about) . '.', ['class' => 'about']);
        $html .= isset(self::ASIDE[$name]) ? Markup::element('p', self::ASIDE[$name], ['class' => 'about']) : '';
        $byPayload = $rest = [];
        foreach ($tables as $table) {
            $result = $this->results[$table->rows[0]->id ?? ''] ?? null;
            if ($result === null) {
                $rest[] = $table;
            } else {
                $byPayload[self::pictured(Plain::line($result->cell->payload), $result->cell->unit)][] = $table;
            }
        }
        $pictures = $this->pictures->of($name);
        $last = \array_key_last($pictures);
        foreach ($pictures as $key => $picture) {
            $own = $byPayload[self::pictured($picture['only']['payload'] ?? '', $picture['only']['unit'] ?? '')] ?? [];
            if ($own === [] && $rest === [] && $byPayload !== []) {
                $html .= self::figure($key, $picture, '', 'The figures are in the tables of the pictures above.');
            } else {
                $html .= self::figure($key, $picture, \implode('', \array_map(fn(Table $table): string => Markup::folded($table, $this->bars), $key === $last ? [...$own, ...$rest] : $own)), $key === $last ? '' : ($own === [] ? 'The figures are in the tables below the next picture.' : ''));
            }
        }

        return Markup::around('section', $html, ['id' => $id]) . "\n";
    }

    /** Which tables belong to one picture: those of a value, and apart from them those where more is better. */
    private static function pictured(string $payload, string $unit): string
    {
        return $unit === Cell::PER_SECOND ? "$payload $unit" : $payload;
    }

    /** @param Figure $picture */
    private static function figure(string $key, array $picture, string $tables, string $where = ''): string
    {
        return Markup::around(
            'figure',
            Markup::element('h4', $picture['title'])
            . Markup::element('p', Pictures::first($picture['says']), ['class' => 'says', 'aria-live' => 'polite'])
            . Markup::element('p', $picture['about'], ['class' => 'how'])
            . '<div class="controls" hidden></div><p class="chosen"></p><ul class="legend"></ul>'
            . Markup::around('div', '', ['class' => 'picture', 'role' => 'img', 'aria-label' => $picture['title']])
            . '<p class="nothing" hidden>This run did not measure this choice.</p>'
            . ($where === '' ? '' : Markup::element('p', $where, ['class' => 'where'])),
            ['data-figure' => $key],
        ) . "\n$tables";
    }

    private function comparisons(): string
    {
        $pictures = $this->pictures->ratios();
        $tables = ['ratios' => $this->tables->ratios(), 'noise' => $this->tables->noise()];
        $html = '';
        foreach ($pictures as $key => $picture) {
            $table = $tables[$key] ?? null;
            $html .= self::figure($key, $picture, $table === null ? '' : Markup::folded($table));
        }

        return $html === '' ? '' : Markup::around('section', '<h3>Promises and noise</h3>'
            . Markup::element('p', 'Small differences are measured in one process, sample by sample in turn, so that both sides have the same machine. A subject compared with itself shows what difference means nothing here.', ['class' => 'about']) . $html, ['id' => 'ratios']) . "\n";
    }

    private function absent(): string
    {
        $html = '';
        foreach ([$this->tables->disqualified(), $this->tables->missing()] as $table) {
            if ($table !== null) {
                $html .= Markup::around('div', Markup::table($table), ['class' => $table->id === 'disqualified' ? 'disqualified' : 'missing']);
            }
        }

        return Markup::around('section', '<h3>What is not in the figures</h3>' . ($html !== '' ? $html : '<p>Nothing: every subject was measured, and every value that was read was right.</p>'), ['id' => 'absent']) . "\n";
    }

    /**
     * Where a row's line begins and ends and its dot lies, on a logarithmic scale that all rows of a work share: a
     * picture that needs no script.
     *
     * @param list<Result> $results
     *
     * @return array<string, string>
     */
    private static function bars(array $results): array
    {
        $group = static fn(Cell $cell): string => \serialize([$cell->scenario, $cell->payload, $cell->operation, $cell->concurrency]);
        $ends = [];
        foreach ($results as $result) {
            $key = $group($result->cell);
            [$low, $high] = $ends[$key] ?? [\INF, 0.0];
            $ends[$key] = [\min($low, \max(1e-6, $result->summary->p5)), \max($high, $result->summary->p95, 1e-6)];
        }
        $bars = [];
        foreach ($results as $result) {
            [$low, $high] = $ends[$group($result->cell)];
            $at = static fn(float $value): string => \sprintf('%.1F', 2 + 96 * ($high > $low ? \log(\max($value, $low) / $low) / \log($high / $low) : 0.5));
            $bars[$result->cell->id()] = "--a:{$at($result->summary->p5)};--m:{$at($result->summary->median)};--b:{$at($result->summary->p95)}";
        }

        return $bars;
    }
}
