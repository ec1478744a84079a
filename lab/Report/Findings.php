<?php

declare(strict_types=1);

namespace Larder\Lab\Report;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Report;
use Larder\Lab\Run\Result;
use Larder\Lab\Statistics\Interval;

/**
 * What a report says, in sentences that are made from its figures: where two cannot be told apart, or nothing was
 * measured, they say that.
 */
final class Findings
{
    /** Their values die with the request: first in any race, and no cache that processes share. */
    private const PRIVATE = ['lookup', 'larder-request', 'larder-memory'];

    private ?Rank $rank = null;

    /** @return array{string, string, string} who reads fastest on one machine; what the network and serialization cost; where Larder loses */
    public function sentences(Report $report): array
    {
        $rank = $this->rank($report);

        return [$this->fastest($rank), $this->costs($rank), (new Losses($rank))->sentence()];
    }

    /** What the picture of one table shows: who is first, who is last, where Larder stands. */
    public function forPicture(Report $report, string $payload, string $operation = 'read', int $concurrency = 1, string $scenario = 'engines'): string
    {
        $rank = $this->rank($report);
        $group = $this->group($rank, $scenario, $payload, $operation, $concurrency);
        if ($group === []) {
            return 'This run did not measure this.';
        }
        [$first, $last] = [$group[0], $group[\count($group) - 1]];
        $sentence = \sprintf('%s, %s: ', \ucfirst(Words::doing($first->cell)), Words::together($first->cell));
        if ($first->cell->moreIsBetter() && $concurrency > 1 && !$rank->hasBase($group)) {
            return $sentence . $this->growth($rank, $group);
        }
        if (\count($group) === 1) {
            return $sentence . \sprintf('only %s was measured, with %s.', Words::subject($first->cell), self::figure($first));
        }
        $tied = $rank->tied($group);
        $sentence .= $tied > 1
            ? \sprintf('the first %d of %d cannot be told apart, %s among them with %s', $tied, \count($group), Words::subject($first->cell), self::figure($first))
            : \sprintf('%s is first of %d with %s', Words::subject($first->cell), \count($group), self::figure($first));
        if ($tied < \count($group)) {
            $sentence .= \sprintf(', %s is last with %s', Words::subject($last->cell), self::figure($last));
            $sentence .= \sprintf(', %s times as much', Units::ratio($rank->between($last, $first)));
        }
        foreach ($group as $place => $result) {
            if (self::isLarder($result->cell) && !self::isPrivate($result->cell)) {
                return $sentence . ($place === 0 ? '.' : \sprintf('; the best of Larder that processes share, %s, is number %d.', Words::subject($result->cell), $place + 1));
            }
        }

        return $sentence . '.';
    }

    /**
     * Whether more processes do more: what each does together, and how many times what one alone does.
     *
     * @param non-empty-list<Result> $group
     */
    private function growth(Rank $rank, array $group): string
    {
        $parts = [];
        foreach ($group as $result) {
            $ratio = $rank->toBase($result);
            $parts[] = \sprintf('%s %s', Words::subject($result->cell), self::figure($result)) . ($ratio === null ? '' : \sprintf(', %s times what one process does', Units::ratio($ratio)));
        }

        return \implode('; ', $parts) . '.';
    }

    /** What the curves of one table show: who is steady and who is not. */
    public function forCurves(Report $report, string $payload, string $operation = 'read', int $concurrency = 1, string $scenario = 'engines'): string
    {
        $steady = [];
        foreach ($this->group($this->rank($report), $scenario, $payload, $operation, $concurrency) as $result) {
            if ($result->summary->median > 0.0 && !$result->cell->moreIsBetter()) {
                $steady[] = [$result->summary->p99 / $result->summary->median, $result];
            }
        }
        if ($steady === []) {
            return 'This run did not measure this.';
        }
        \usort($steady, static fn(array $a, array $b): int => $a[0] <=> $b[0]);
        [$least, $best] = $steady[0];
        [$most, $worst] = $steady[\count($steady) - 1];

        return \count($steady) === 1
            ? \sprintf('One in a hundred samples of %s is above %s, %s times the median.', Words::subject($best->cell), Units::one($best->cell->unit, $best->summary->p99), Units::digits($least))
            : \sprintf(
                'The steadiest subject is %s: one in a hundred of its samples is above %s times the median (%s). The least steady is %s, with %s times (%s).',
                Words::subject($best->cell),
                Units::digits($least),
                Units::one($best->cell->unit, $best->summary->p99),
                Words::subject($worst->cell),
                Units::digits($most),
                Units::one($worst->cell->unit, $worst->summary->p99),
            );
    }

    /** What a map of engines by serializers shows: which serializer is the fastest, and with how many engines. */
    public function forHeatMap(Report $report, string $payload, string $operation = 'read', int $concurrency = 1, string $scenario = 'engines'): string
    {
        $rank = $this->rank($report);
        $ways = [];
        foreach ($this->group($rank, $scenario, $payload, $operation, $concurrency) as $result) {
            $ways[$result->cell->engine . ' ' . $result->cell->connection][] = $result;
        }
        $wins = [];
        $unsure = 0;
        $ways = \array_filter($ways, static fn(array $way): bool => \count($way) > 1);
        foreach ($ways as $way) {
            $interval = $rank->between($way[1], $way[0]);
            if ($interval->bounded() && $interval->excludesOne()) {
                $wins[$way[0]->cell->serializer] = 1 + ($wins[$way[0]->cell->serializer] ?? 0);
            } else {
                ++$unsure;
            }
        }
        if ($ways === []) {
            return 'This run measured no engine with more than one serializer.';
        }
        \arsort($wins);
        $parts = [];
        foreach ($wins as $serializer => $times) {
            $parts[] = \sprintf('%s is the fastest serializer in %d', Plain::line((string) $serializer), $times);
        }
        if ($unsure > 0) {
            $parts[] = \sprintf('the first two cannot be told apart in %d', $unsure);
        }

        return \sprintf(
            'Of the %d ways to an engine that were measured with several serializers, %s (%s, %s).',
            \count($ways),
            Words::list($parts),
            Words::doing(\array_values($ways)[0][0]->cell),
            Words::crowd($concurrency),
        );
    }

    /** What the picture of promised limits shows. */
    public function forRatios(Report $report): string
    {
        $limits = (new Losses($this->rank($report)))->limits();

        return $limits === null ? 'This run measured no promised limit.' : \ucfirst($limits) . '.';
    }

    private function fastest(Rank $rank): string
    {
        $group = [];
        foreach (['engines', 'loop', 'serializers', ...$rank->scenarios()] as $scenario) {
            $group = $this->favourite($rank, $scenario, static fn(Result $result): bool => $result->cell->connection !== Cell::NETWORK && !self::isPrivate($result->cell));
            if ($group !== []) {
                break;
            }
        }
        if ($group === []) {
            return 'This run measured no read on one machine, so it cannot tell which subject is the fastest there.';
        }
        $first = $group[0];
        $what = Words::doing($first->cell) . ', ' . Words::crowd($first->cell->concurrency);
        // The next by the same engine differs in its serializer only: that is the second sentence.
        $next = null;
        foreach ($group as $result) {
            if ($result->cell->engine !== $first->cell->engine) {
                $next = $result;
                break;
            }
        }
        if ($next === null) {
            return \sprintf('On one machine only %s was measured at %s: %s; there is nothing to compare it with.', Words::subject($first->cell), $what, self::figure($first));
        }
        $interval = $rank->between($next, $first);
        $count = \sprintf('the %d subjects on one machine%s', \count($group), $first->cell->scenario === 'serializers' ? '' : ' whose values processes share');
        if ($interval->bounded() && !$interval->excludesOne()) {
            return \sprintf('Of %s, this run cannot tell whether %s (%s) or %s (%s) is the fastest at %s: the ratio is %s.', $count, Words::subject($first->cell), self::figure($first), Words::subject($next->cell), self::figure($next), $what, Units::ratio($interval));
        }

        return \sprintf('Of %s, %s is the fastest at %s, with %s; %s.', $count, Words::subject($first->cell), $what, self::figure($first), self::compared('the next engine, ' . Words::subject($next->cell) . ',', 'it', $interval));
    }

    private function costs(Rank $rank): string
    {
        $parts = \array_filter([$this->networkCost($rank), $this->serializerCost($rank)], static fn(?string $part): bool => $part !== null);

        return $parts === []
            ? 'This run measured nothing both over the network and on one machine, and nothing with several serializers, so it cannot tell what either costs.'
            : \ucfirst(\implode('; ', $parts)) . '.';
    }

    private function networkCost(Rank $rank): ?string
    {
        $order = ['short' => 0, '20kB' => 1];
        $pairs = [];
        foreach ($rank->groups('engines') as $group) {
            $near = [];
            foreach ($group as $result) {
                if ($result->cell->connection === Cell::SOCKET) {
                    $near[$result->cell->engine . ' ' . $result->cell->serializer . ' ' . $result->cell->compressor] = $result;
                }
            }
            foreach ($group as $result) {
                $cell = $result->cell;
                $other = $near["$cell->engine $cell->serializer $cell->compressor"] ?? null;
                if ($cell->connection === Cell::NETWORK && $cell->operation === 'read' && $other !== null) {
                    $pairs[] = [[$cell->concurrency, $order[$cell->payload] ?? 2, $cell->engine === 'redis' ? 0 : 1, $cell->serializer === 'php' ? 0 : 1], $result, $other];
                }
            }
        }
        if ($pairs === []) {
            return null;
        }
        \usort($pairs, static fn(array $a, array $b): int => $a[0] <=> $b[0]);
        [, $far, $near] = $pairs[0];
        $cell = $far->cell;

        return self::compared(
            \sprintf('%s, %s, from %s over the network', Words::doing($cell), Words::crowd($cell->concurrency), Plain::line($cell->engine)),
            'over a socket',
            $rank->between($far, $near),
        );
    }

    private function serializerCost(Rank $rank): ?string
    {
        foreach (['serializers', 'engines'] as $scenario) {
            $group = $this->favourite($rank, $scenario, static fn(Result $result): bool => $result->cell->serializer !== 'none' && ($scenario === 'engines' || $result->cell->compressor === 'none'));
            $ways = [];
            foreach ($group as $result) {
                $cell = $result->cell;
                $ways[$scenario === 'engines' ? "$cell->engine $cell->connection $cell->compressor" : ''][] = $result;
            }
            $ways = \array_filter($ways, static fn(array $way): bool => \count($way) > 1);
            $way = $ways['redis socket none'] ?? \array_values($ways)[0] ?? null;
            if ($way === null) {
                continue;
            }
            [$best, $worst] = [$way[0], $way[\count($way) - 1]];
            $from = $scenario === 'engines' ? \sprintf(' from %s by %s', Plain::line($best->cell->engine), Plain::line($best->cell->connection)) : '';

            return self::compared(
                \sprintf('%s%s with %s', Words::doing($worst->cell), $from, Plain::line($worst->cell->serializer)),
                \sprintf('with %s', Plain::line($best->cell->serializer)),
                $rank->between($worst, $best),
            );
        }

        return null;
    }

    /**
     * Reads that pass, of the payload that tells most: by one process, the array first.
     *
     * @param \Closure(Result): bool $passes
     *
     * @return list<Result> sorted
     */
    private function favourite(Rank $rank, string $scenario, \Closure $passes): array
    {
        $order = ['50x50' => 0, 'short' => 1];
        $groups = [];
        foreach ($rank->groups($scenario) as $group) {
            $some = \array_values(\array_filter($group, $passes));
            if ($some !== [] && $some[0]->cell->operation === 'read') {
                $groups[] = [[$some[0]->cell->concurrency, $order[$some[0]->cell->payload] ?? 2], $some];
            }
        }
        \usort($groups, static fn(array $a, array $b): int => $a[0] <=> $b[0]);

        return $groups[0][1] ?? [];
    }

    /** @return list<Result> sorted */
    private function group(Rank $rank, string $scenario, string $payload, string $operation, int $concurrency): array
    {
        foreach ($rank->groups($scenario) as $group) {
            $cell = $group[0]->cell;
            if ($cell->payload === $payload && $cell->operation === $operation && $cell->concurrency === $concurrency) {
                return $group;
            }
        }

        return [];
    }

    private function rank(Report $report): Rank
    {
        return $this->rank?->report === $report ? $this->rank : $this->rank = new Rank($report);
    }

    /** "a takes 2.10 times as long as b (2.02–2.18)", or that nobody can tell. */
    public static function compared(string $of, string $to, Interval $interval): string
    {
        return match (true) {
            !$interval->bounded() => \sprintf('%s takes about %s times as long as %s; there were too few rounds to tell how certain that is', $of, Units::digits($interval->median), $to),
            !$interval->excludesOne() => \sprintf('this run cannot tell whether %s takes longer than %s: %s times', $of, $to, Units::ratio($interval)),
            default => \sprintf('%s takes %s times as long as %s (%s)', $of, Units::digits($interval->median), $to, Units::interval($interval)),
        };
    }

    public static function isLarder(Cell $cell): bool
    {
        return \str_starts_with($cell->engine, 'larder') || $cell->engine === 'segment';
    }

    public static function isPrivate(Cell $cell): bool
    {
        return \in_array($cell->engine, self::PRIVATE, true);
    }

    private static function figure(Result $result): string
    {
        return Units::one($result->cell->unit, Rank::center($result));
    }
}
