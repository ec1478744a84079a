<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Interval;

/**
 * Two tables of what the report says: who is first in each group, and where Larder loses.
 *
 * What dies with the request is left out on both sides: no processes share it. The network is a group of its own, and
 * so is each number of keys that a request of Larder's has: the more there are, the less each bears of its beginning.
 */
final readonly class Standings
{
    public function __construct(private Rank $rank) {}

    public function firsts(): ?Table
    {
        $rows = [];
        foreach ($this->groups() as [$what, $group, $usual]) {
            if (!$usual) {
                continue;
            }
            $first = $group[0];
            // The next by the same engine mostly differs in its serializer only.
            $others = \array_values(\array_filter($group, static fn(Result $result): bool => $result->cell->engine !== $first->cell->engine));
            $next = $others[0] ?? $group[1] ?? null;
            $ratio = $next === null ? null : $this->behind($next, $first);
            $rows[] = new Row([
                $what,
                Names::of($first->cell),
                Units::one($first->cell->unit, Rank::center($first)),
                $next === null ? Units::NOTHING : Names::of($next->cell),
                $ratio === null ? Units::NOTHING : Units::ratio($ratio),
                $ratio === null ? Units::NOTHING : self::surely($ratio, $first),
            ]);
        }

        return $rows === [] ? null : new Table(
            'firsts',
            'Who is first',
            'Larder with ten keys a request, if nothing else is said. The ratio is how many times as long the next one takes, with its 95 % interval.',
            [new Column('work'), new Column('first'), new Column('takes', 1, true), new Column('next', 3), new Column('ratio', 0, true), new Column('surely', 2)],
            $rows,
        );
    }

    /** Every group in which the best of Larder is behind the best of the others, and every promise that does not hold. */
    public function losses(): ?Table
    {
        $rows = [];
        $compared = 0;
        foreach ($this->groups() as [$what, $group]) {
            $larder = \array_values(\array_filter($group, static fn(Result $result): bool => Names::isLarder($result->cell)))[0] ?? null;
            $other = \array_values(\array_filter($group, static fn(Result $result): bool => !Names::isLarder($result->cell)))[0] ?? null;
            if ($larder === null || $other === null) {
                continue;
            }
            ++$compared;
            $ratio = $this->behind($larder, $other);
            if ($ratio->median > 1.0) {
                $rows[] = new Row([$what, Names::of($larder->cell), Names::of($other->cell), Units::ratio($ratio), self::surely($ratio, $larder)], [], true);
            }
        }
        foreach ($this->rank->report->ratios as $ratio) {
            if ($ratio->limit !== null) {
                ++$compared;
                if ($ratio->median > $ratio->limit) {
                    [$of, $to, $what] = $this->rank->parts($ratio);
                    $rows[] = new Row([$what . ', in turn', $of, 'at most ' . Units::digits($ratio->limit) . " times $to, as promised", Units::ratio($ratio), $ratio->low > $ratio->limit ? 'yes' : 'cannot tell'], [], true);
                }
            }
        }

        return $compared === 0 ? null : new Table(
            'losses',
            \sprintf('Where Larder loses: %d of %d', \count($rows), $compared),
            'The best of Larder beside the best of the others. The ratio is how many times as long Larder takes, with its 95 % interval.',
            [new Column('work'), new Column('the best of Larder'), new Column('the best other'), new Column('ratio', 0, true), new Column('surely', 1)],
            $rows,
        );
    }

    /** @return iterable<array{string, non-empty-list<Result>, bool}> what is done, who does it, the best first, and whether with as many keys a request as usual there */
    private function groups(): iterable
    {
        foreach ($this->rank->scenarios() as $scenario) {
            $presentation = $this->rank->presentation($scenario);
            foreach ($this->rank->groups($scenario) as $group) {
                $cell = $group[0]->cell;
                if (\in_array($cell->payload, $presentation->populations, true)) {
                    continue;
                }
                $apart = ['' => [], ' over the network' => []];
                foreach ($group as $result) {
                    if (!Names::isPrivate($result->cell)) {
                        $apart[$result->cell->connection === Cell::NETWORK ? ' over the network' : ''][] = $result;
                    }
                }
                foreach ($apart as $where => $some) {
                    $requests = [];
                    foreach (\array_filter($some, static fn(Result $result): bool => Names::isLarder($result->cell)) as $result) {
                        $requests[$result->cell->request] = \rtrim(', ' . Names::request($result->cell), ', ');
                    }
                    $usual = $requests === [] || isset($requests[Cell::REQUEST]) ? Cell::REQUEST : \array_key_first($requests);
                    foreach ($requests + [$usual => ''] as $request => $keys) {
                        $there = \array_values(\array_filter($some, static fn(Result $result): bool => $result->cell->request === $request || !Names::isLarder($result->cell)));
                        if (\count($there) > 1) {
                            yield [$this->rank->title($group) . $where . $keys, $there, $request === $usual];
                        }
                    }
                }
            }
        }
    }

    private static function surely(Interval $ratio, Result $of): string
    {
        return ($ratio->bounded() && $ratio->excludesOne()) || $of->cell->isExact() ? 'yes' : 'cannot tell';
    }

    /** How many times as long the first takes; of what is the better the more there is, how many times as much the other has. */
    private function behind(Result $of, Result $to): Interval
    {
        return $of->cell->moreIsBetter() ? $this->rank->between($to, $of) : $this->rank->between($of, $to);
    }
}
