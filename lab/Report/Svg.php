<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Run\Result;

/**
 * A picture of one group: a bar a subject on a logarithmic scale, with its 95 % interval, the best first.
 *
 * Lengths are percentages and letters are pixels, so that it can be read at every width. Colours come from the page
 * (STYLE), or stand in the picture where it is a file of its own.
 */
final class Svg
{
    public const STYLE = <<<'CSS'
        .bars{color-scheme:light dark;display:block;width:100%;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;--ink:#1a1d23;--soft:#555d6b;--grid:#d5d9e0;--larder:#0b57c2;--other:#8a919e;--own:#b9bfc9;--ground:#fff}
        .bars text{fill:var(--ink)}.bars .soft{fill:var(--soft)}.bars .first{font-weight:700}.bars .value{paint-order:stroke;stroke:var(--ground);stroke-width:5px}.bars .grid{stroke:var(--grid)}.bars .larder{fill:var(--larder)}.bars .other{fill:var(--other)}.bars .own{fill:var(--own)}.bars .interval{stroke:var(--ink);stroke-width:3}.bars text.ours{fill:var(--larder)}
        @media screen and (prefers-color-scheme:dark){.bars{--ink:#e8ebf0;--soft:#a4adbb;--grid:#39414d;--larder:#66a6ff;--other:#7d8696;--own:#4a525f;--ground:#0f1216}}
        @media (max-width:600px){.bars{font-size:10.5px}}
        CSS;

    private const ROW = 27;
    private const HEAD = 22;
    private const FOOT = 22;
    /** More of them are hard to read: then each way to an engine stands there once, by its best form. */
    private const MOST = 30;

    /**
     * @param string         $id    unique in its page
     * @param list<Result>   $group sorted
     * @param bool           $file  it stands alone, not in a page
     */
    public static function bars(string $id, string $title, array $group, Rank $rank, bool $file = false): string
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
            $rows[] = [$result, $interval];
            $least = \min($least, Rank::center($result), $interval->bounded() ? $interval->low : \INF);
            $most = \max($most, Rank::center($result), $interval->bounded() ? $interval->high : 0.0);
        }
        $from = \log10($least) - 0.15 * \max(0.3, \log10($most / $least));
        $to = \log10($most) + 0.02 * \max(0.3, \log10($most / $least));
        $at = static fn(float $value): float => \round(100 * (\log10(\max($value, 1e-12)) - $from) / ($to - $from), 2);
        $height = self::HEAD + self::ROW * \count($rows) + self::FOOT;
        $body = self::legend($shown) . self::grid($from, $to, $height, $at, $group[0]->cell->unit);
        foreach ($rows as $i => [$result, $interval]) {
            $y = self::HEAD + $i * self::ROW;
            $class = self::kind($result);
            $body .= Markup::element('text', Names::of($result->cell), ['x' => '0', 'y' => (string) ($y + 12), 'class' => \trim((Names::isLarder($result->cell) ? 'ours' : '') . ($i === 0 ? ' first' : ''))])
                . Markup::element('text', Units::one($result->cell->unit, Rank::center($result)), ['x' => '100%', 'y' => (string) ($y + 12), 'text-anchor' => 'end', 'class' => $i === 0 ? 'value first' : 'value'])
                . Markup::around('rect', '', ['class' => $class, 'x' => '0', 'y' => (string) ($y + 16), 'width' => $at(Rank::center($result)) . '%', 'height' => '7', 'rx' => '1']);
            if ($interval->bounded()) {
                $body .= Markup::around('line', '', ['class' => 'interval', 'x1' => $at($interval->low) . '%', 'x2' => $at($interval->high) . '%', 'y1' => (string) ($y + 19.5), 'y2' => (string) ($y + 19.5)]);
            }
        }
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
                $grid .= Markup::around('line', '', ['class' => 'grid', 'x1' => "$x%", 'x2' => "$x%", 'y1' => (string) self::HEAD, 'y2' => (string) ($height - self::FOOT)])
                    . Markup::element('text', \preg_replace('/\.0+(?= |$)/', '', Units::one($unit, $value)) ?? '', ['x' => "$x%", 'y' => (string) ($height - 7), 'text-anchor' => 'middle', 'class' => 'soft']);
            }
        }

        return $grid;
    }
}
