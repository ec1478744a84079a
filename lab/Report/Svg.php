<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Result;

/**
 * A picture of one group on a logarithmic scale: of each subject what its samples look like, the figure that stands in the
 * tables, and its 95 % interval, the best first. Bars would have no beginning there.
 *
 * Lengths are percentages and letters are pixels, so that it can be read at every width. Colours come from the page
 * (STYLE), or stand in the picture where it is a file of its own.
 */
final class Svg
{
    public const STYLE = <<<'CSS'
        .bars{color-scheme:light dark;display:block;width:100%;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;--ink:#1a1d23;--soft:#555d6b;--grid:#d5d9e0;--larder:#0b57c2;--other:#8a919e;--own:#b9bfc9;--ground:#fff}
        .bars text{fill:var(--ink)}.bars .soft{fill:var(--soft)}.bars .first{font-weight:700}.bars .value{paint-order:stroke;stroke:var(--ground);stroke-width:5px}.bars .grid{stroke:var(--grid)}.bars .larder{fill:var(--larder)}.bars .other{fill:var(--other)}.bars .own{fill:var(--own)}.bars .interval,.bars .middle{stroke:var(--ink);stroke-width:3}.bars text.ours{fill:var(--larder)}
        @media screen and (prefers-color-scheme:dark){.bars{--ink:#e8ebf0;--soft:#a4adbb;--grid:#39414d;--larder:#66a6ff;--other:#7d8696;--own:#4a525f;--ground:#0f1216}}
        @media (max-width:600px){.bars{font-size:10.5px}}
        CSS;

    private const ROW = 29;
    private const HEAD = 36;
    private const FOOT = 38;

    /** Of a row, above its samples. */
    private const NAME = 15;
    /** More of them are hard to read: then each way to an engine stands there once, by its best form. */
    private const MOST = 30;

    /**
     * @param string         $id    unique in its page
     * @param list<Result>   $group sorted
     * @param bool           $file  it stands alone, not in a page
     */
    public static function rows(string $id, string $title, array $group, Rank $rank, bool $file = false): string
    {
        [$shown, $best] = self::shown($group);
        if ($shown === []) {
            return '';
        }
        $rows = [];
        $least = \INF;
        $most = 0.0;
        foreach ($shown as $result) {
            $interval = $rank->spread($result);
            $samples = new Distribution($result);
            [$first, $last] = $samples->ends();
            $center = Rank::center($result);
            $rows[] = [$result, $interval, $samples, $center];
            $least = \min($least, $first, $center, $interval->bounded() ? $interval->low : \INF);
            $most = \max($most, $last, $center, $interval->bounded() ? $interval->high : 0.0);
        }
        $from = \log10($least) - 0.02 * \max(0.3, \log10($most / $least));
        $to = \log10($most) + 0.02 * \max(0.3, \log10($most / $least));
        $at = static fn(float $value): float => \round(100 * (\log10(\max($value, 1e-12)) - $from) / ($to - $from), 2);
        $all = self::ROW * \count($rows);
        $height = self::HEAD + $all + self::FOOT;
        $body = self::legend($shown) . self::grid($from, $to, $height, $at, $group[0]->cell->unit);
        $paths = $marks = '';
        foreach ($rows as $i => [$result, $interval, $samples, $center]) {
            $y = self::HEAD + $i * self::ROW;
            $middle = (string) ($y + self::NAME + Distribution::HEIGHT / 2);
            $paths .= Markup::around('path', '', ['class' => self::kind($result), 'd' => $samples->path($at, $y + self::NAME - self::HEAD)]);
            $place = $at($center) . '%';
            $body .= Markup::element('text', Names::of($result->cell), ['x' => '0', 'y' => (string) ($y + 12), 'class' => \trim((Names::isLarder($result->cell) ? 'ours' : '') . ($i === 0 ? ' first' : ''))])
                . Markup::element('text', Units::one($result->cell->unit, $center), ['x' => '100%', 'y' => (string) ($y + 12), 'text-anchor' => 'end', 'class' => $i === 0 ? 'value first' : 'value']);
            $marks .= Markup::around('line', '', ['class' => 'middle', 'x1' => $place, 'x2' => $place, 'y1' => (string) ($y + self::NAME), 'y2' => (string) ($y + self::NAME + Distribution::HEIGHT)]);
            if ($interval->bounded()) {
                $marks .= Markup::around('line', '', ['class' => 'interval', 'x1' => $at($interval->low) . '%', 'x2' => $at($interval->high) . '%', 'y1' => $middle, 'y2' => $middle]);
            }
        }
        // Stretched to the page's width, which the marks and letters are not.
        $body .= Markup::around('svg', $paths, ['y' => (string) self::HEAD, 'width' => '100%', 'height' => (string) $all, 'viewBox' => '0 0 ' . Distribution::WIDTH . " $all", 'preserveAspectRatio' => 'none']) . $marks;
        $description = \sprintf('%s is first with %s, %s last with %s, of %d.', Names::of($shown[0]->cell), Units::one($shown[0]->cell->unit, Rank::center($shown[0])), Names::of($shown[\count($shown) - 1]->cell), Units::one($shown[0]->cell->unit, Rank::center($shown[\count($shown) - 1])), \count($shown))
            . ($best ? ' Each way to an engine stands here by its best serializer.' : '');

        return Markup::around(
            'svg',
            Markup::element('title', $title, ['id' => "$id-t"]) . Markup::element('desc', $description, ['id' => "$id-d"]) . ($file ? '<style>' . self::STYLE . '</style>' : '') . $body,
            ['class' => 'bars', 'id' => $id, 'role' => 'img', 'aria-labelledby' => "$id-t $id-d", 'height' => (string) $height] + ($file ? ['xmlns' => 'http://www.w3.org/2000/svg', 'width' => '720'] : []),
        );
    }

    /**
     * @param list<Result> $group sorted
     *
     * @return array{list<Result>, bool} what can stand on a logarithmic scale; whether some are left out for others of their way
     */
    private static function shown(array $group): array
    {
        $shown = \array_values(\array_filter($group, static fn(Result $result): bool => $result->cell->unit !== 'count' && \min($result->centers()) > 0.0));
        if (\count($shown) <= self::MOST) {
            return [$shown, false];
        }
        $ways = [];
        foreach ($shown as $result) {
            $ways[\implode(', ', [Names::way($result->cell), $result->cell->placement, $result->cell->request])] ??= $result;
        }

        return [\array_values($ways), true];
    }

    private static function kind(Result $result): string
    {
        return Names::isPrivate($result->cell) ? 'own' : (Names::isLarder($result->cell) ? 'larder' : 'other');
    }

    /** @param list<Result> $shown */
    private static function legend(array $shown): string
    {
        $words = ['larder' => 'Larder', 'other' => 'others', 'own' => 'not shared'];
        $there = [];
        foreach ($shown as $result) {
            $there[self::kind($result)] = true;
        }
        $x = 0;
        $legend = '';
        foreach (\array_intersect_key($words, $there) as $class => $word) {
            $legend .= Markup::around('rect', '', ['class' => $class, 'x' => (string) $x, 'y' => '3', 'width' => '12', 'height' => '7'])
                . Markup::element('text', $word, ['x' => (string) ($x + 17), 'y' => '11', 'class' => 'soft']);
            $x += 28 + 6 * \strlen($word);
        }

        $legend .= Markup::around('line', '', ['class' => 'middle', 'x1' => (string) ($x + 2), 'x2' => (string) ($x + 2), 'y1' => '1', 'y2' => '12'])
            . Markup::element('text', $shown[0]->cell->concurrency > 1 ? 'mean' : 'median', ['x' => (string) ($x + 8), 'y' => '11', 'class' => 'soft']);
        $x += 60;

        return $legend . Markup::around('line', '', ['class' => 'interval', 'x1' => (string) $x, 'x2' => (string) ($x + 14), 'y1' => '7', 'y2' => '7'])
            . Markup::element('text', '95 % interval', ['x' => (string) ($x + 19), 'y' => '11', 'class' => 'soft']);
    }

    /** @param \Closure(float): float $at */
    private static function grid(float $from, float $to, int $height, \Closure $at, string $unit): string
    {
        $grid = '';
        $steps = $to - $from < 1.5 ? [1, 2, 5] : [1];
        $apart = -100.0;
        for ($decade = (int) \floor($from); $decade <= $to; ++$decade) {
            foreach ($steps as $step) {
                $value = $step * 10 ** $decade;
                $x = $at($value);
                // A label is some ten per cent of a phone's width.
                if ($x < 6 || $x > 94 || $x - $apart < 12) {
                    continue;
                }
                $apart = $x;
                $label = \preg_replace('/\.0+(?= |$)/', '', Units::one($unit, $value)) ?? '';
                $grid .= Markup::around('line', '', ['class' => 'grid', 'x1' => "$x%", 'x2' => "$x%", 'y1' => (string) self::HEAD, 'y2' => (string) ($height - self::FOOT)]);
                // A phone shows one end of it.
                foreach ([self::HEAD - 6, $height - self::FOOT + 14] as $y) {
                    $grid .= Markup::element('text', $label, ['x' => "$x%", 'y' => (string) $y, 'text-anchor' => 'middle', 'class' => 'soft']);
                }
            }
        }
        $what = match ($unit) {
            Cell::BYTES => 'Size',
            Cell::PER_SECOND => 'Rate: more is better',
            default => 'Time',
        };

        return $grid . Markup::element('text', "$what, on a logarithmic scale", ['x' => '0', 'y' => (string) ($height - 6), 'class' => 'soft']);
    }
}
