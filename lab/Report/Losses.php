<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Result;

/**
 * Where Larder loses.
 *
 * In each table, on one machine and over the network apart, the best of Larder stands against the best of the others.
 * What dies with the request is left out on both sides: it would win for Larder what it does not win.
 */
final readonly class Losses
{
    /** Where every figure is an engine's; the others compare serializers. */
    private const WITHOUT = ['serializers'];

    public function __construct(private Rank $rank) {}

    public function sentence(): string
    {
        $out = 0;
        foreach ($this->rank->report->disqualified as $one) {
            $out += \str_starts_with($one['subject'], 'larder') ? 1 : 0;
        }
        $parts = \array_filter([
            $this->comparisons(),
            $this->limits(),
            $out === 0 ? null : \sprintf('%d of its subjects %s disqualified', $out, $out === 1 ? 'was' : 'were'),
        ], static fn(?string $part): bool => $part !== null);

        return $parts === []
            ? 'Larder was not measured beside others in this run, so it cannot tell where Larder loses.'
            : \ucfirst(\implode('; ', $parts)) . '.';
    }

    /** Of what was promised; null if nothing of it was measured. */
    public function limits(): ?string
    {
        $count = $broken = $unsure = 0;
        $worst = null;
        foreach ($this->rank->report->ratios as $ratio) {
            if ($ratio->limit === null || $ratio->limit <= 0.0) {
                continue;
            }
            ++$count;
            $inside = $ratio->low <= $ratio->limit && $ratio->high >= $ratio->limit;
            if ($ratio->median <= $ratio->limit) {
                $unsure += $inside ? 1 : 0;
                continue;
            }
            ++$broken;
            if ($worst === null || $ratio->median / $ratio->limit > $worst->median / ($worst->limit ?? 1.0)) {
                $worst = $ratio;
            }
        }
        if ($count === 0) {
            return null;
        }
        if ($worst === null) {
            return \sprintf('of %d promised %s all hold%s', $count, $count === 1 ? 'limit' : 'limits', $unsure > 0 ? ", $unsure of them not certain" : '');
        }

        return \sprintf(
            'of %d promised %s %d %s not hold, %s%s: %s where at most %s was promised%s',
            $count,
            $count === 1 ? 'limit' : 'limits',
            $broken,
            $broken === 1 ? 'does' : 'do',
            $broken === 1 ? '' : 'worst ',
            Plain::line($worst->title !== '' ? $worst->title : "$worst->of against $worst->to"),
            Units::ratio($worst),
            Units::digits($worst->limit ?? 1.0),
            $worst->low <= $worst->limit && $worst->high >= $worst->limit ? ', but this run is not certain of that' : '',
        );
    }

    private function comparisons(): ?string
    {
        $count = $lost = $unsure = $behind = 0;
        $worst = null;
        foreach ($this->pairs() as [$larder, $other, $where]) {
            ++$count;
            // Of what is the better the more there is, how many times as much the other has.
            $interval = $larder->cell->moreIsBetter() ? $this->rank->between($other, $larder) : $this->rank->between($larder, $other);
            if (!$interval->bounded() || !$interval->excludesOne()) {
                ++$unsure;
                $behind += $interval->median > 1.0 ? 1 : 0;
            } elseif ($interval->median > 1.0) {
                ++$lost;
                if ($worst === null || $interval->median > $worst[2]->median) {
                    $worst = [$larder, $other, $interval, $where];
                }
            }
        }
        if ($count === 0) {
            return null;
        }
        $doubt = $unsure === 0 ? '' : ", and in $unsure this run cannot tell, Larder being behind in $behind of these";
        if ($worst === null) {
            return \sprintf('in none of %s with the best of the others does Larder surely lose%s', self::comparison($count), $doubt);
        }
        [$larder, $other, $interval, $where] = $worst;

        return \sprintf(
            'Larder loses %d of %s with the best of the others%s, by most at %s, %s, %s, where %s',
            $lost,
            self::comparison($count),
            $doubt,
            Words::doing($larder->cell),
            Words::crowd($larder->cell->concurrency),
            $where,
            Findings::compared(Words::subject($larder->cell), Words::subject($other->cell), $interval),
        );
    }

    private static function comparison(int $count): string
    {
        return $count === 1 ? '1 comparison' : "$count comparisons";
    }

    /** @return iterable<array{Result, Result, string}> the best of Larder, the best of the others, and where */
    private function pairs(): iterable
    {
        foreach (\array_diff($this->rank->scenarios(), self::WITHOUT) as $scenario) {
            foreach ($this->rank->groups($scenario) as $group) {
                $best = [];
                foreach ($group as $result) {
                    if (!Findings::isPrivate($result->cell)) {
                        $where = $result->cell->connection === Cell::NETWORK ? 'over the network' : 'on one machine';
                        $best[$where][Findings::isLarder($result->cell) ? 'larder' : 'other'] ??= $result;
                    }
                }
                foreach ($best as $where => $two) {
                    if (isset($two['larder'], $two['other'])) {
                        yield [$two['larder'], $two['other'], $where];
                    }
                }
            }
        }
    }
}
