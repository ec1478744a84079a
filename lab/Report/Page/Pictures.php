<?php

declare(strict_types=1);

namespace Larder\Lab\Report\Page;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Report\Findings;
use Larder\Lab\Report\Plain;
use Larder\Lab\Report\Rank;
use Larder\Lab\Report\Words;
use Larder\Lab\Run\Ratio;
use Larder\Lab\Run\Report;
use Larder\Lab\Statistics\Interval;
use Larder\Lab\Statistics\Noise;

/**
 * Which pictures there are: a few, each with a choice, instead of one for every combination.
 *
 * @phpstan-type Figure array{kind: string, title: string, about: string, says: array<string, string>, scenario?: string, only?: array<string, string>, both?: list<string>, columns?: string, ratios?: list<array<string, mixed>>}
 */
final readonly class Pictures
{
    /** @var array<string, array<string, array<string, array<int, string>>>> the unit of what was measured: scenario, payload, operation, concurrency */
    private array $measured;

    public function __construct(private Report $report, private Findings $findings)
    {
        $measured = [];
        foreach ($report->results as $result) {
            $cell = $result->cell;
            $measured[$cell->scenario][$cell->payload][$cell->operation][$cell->concurrency] = $cell->unit;
        }
        $this->measured = $measured;
    }

    /** @return array<string, Figure> by name; what the page's script needs of each (source/main.js) */
    public function all(): array
    {
        $all = [];
        foreach (\array_keys($this->measured) as $scenario) {
            $all += $this->of((string) $scenario);
        }

        return $all + $this->ratios();
    }

    /** @return array<string, Figure> of one scenario */
    public function of(string $scenario): array
    {
        $name = Plain::line($scenario);
        if ($scenario === 'serializers') {
            return [
                'serializers points' => ['kind' => 'points', 'scenario' => $name, 'title' => 'Size against time', 'about' => 'Down is smaller, left is faster.', 'says' => $this->says($scenario, $this->findings->forPicture(...))],
                'serializers heat' => ['kind' => 'heat', 'scenario' => $name, 'columns' => 'payload', 'title' => 'Serializer and compressor by value', 'about' => 'Each column is coloured by how many times its best value.', 'says' => $this->bests($scenario)],
            ];
        }
        if ($scenario === 'transients') {
            return ["$name intervals" => [
                'kind' => 'intervals', 'scenario' => $name, 'title' => 'Transients', 'about' => 'Time of one call, on a logarithmic scale: the same distance is the same factor. Left is faster.',
                'says' => $this->says($scenario, $this->findings->forPicture(...)),
            ]];
        }
        if ($scenario === 'loop') {
            return ['loop intervals' => [
                'kind' => 'intervals', 'scenario' => $name, 'both' => $this->operations($scenario), 'title' => 'One get of the loop',
                'about' => 'The dot is a get over a connection that is kept; the ring is connect, get and close.', 'says' => $this->says($scenario, $this->findings->forPicture(...)),
            ]];
        }
        $pictures = [];
        // What is counted by the second has a picture of its own: there more is better.
        $timed = $this->timed($scenario);
        $apart = \count($timed) < \count($this->measured[$scenario] ?? []) || $this->rated($scenario) !== [];
        foreach ($timed as $payload) {
            $pictures["$name intervals " . Plain::line($payload)] = [
                'kind' => 'intervals', 'scenario' => $name, 'only' => ['payload' => Plain::line($payload)] + ($apart ? ['unit' => Cell::MICROSECONDS] : []),
                'title' => \ucfirst(Words::payload($payload)),
                'about' => 'Time of one operation, on a logarithmic scale: the same distance is the same factor. Left is faster.',
                'says' => $this->says($scenario, $this->findings->forPicture(...), $payload),
            ];
        }

        if ($apart) {
            foreach ($this->rated($scenario) as $payload) {
                $pictures["$name rates " . Plain::line($payload)] = [
                    'kind' => 'intervals', 'scenario' => $name, 'only' => ['payload' => Plain::line($payload), 'unit' => Cell::PER_SECOND],
                    'title' => ($scenario === 'catalog' ? 'Pages a second, ' : 'Gets a second, ') . Words::payload($payload),
                    'about' => 'All processes together, on a logarithmic scale. Right is more.',
                    'says' => $this->says($scenario, $this->findings->forPicture(...), $payload, Cell::PER_SECOND),
                ];
            }

            return $pictures + [
                "$name curves" => ['kind' => 'curves', 'scenario' => $name, 'only' => ['unit' => Cell::MICROSECONDS], 'title' => 'How steady they are', 'about' => 'Each curve rises by the share of the samples that took no longer. The steeper, the steadier. Press a name to see its curve apart.', 'says' => $this->says($scenario, $this->findings->forCurves(...))],
                "$name heat" => ['kind' => 'heat', 'scenario' => $name, 'only' => ['unit' => Cell::MICROSECONDS], 'columns' => 'payload', 'title' => 'Subject by value', 'about' => 'Each column is coloured by how many times its best value.', 'says' => $this->bests($scenario)],
            ];
        }

        return $pictures + [
            "$name curves" => ['kind' => 'curves', 'scenario' => $name, 'title' => 'How steady they are', 'about' => 'Each curve rises by the share of the samples that took no longer. The steeper, the steadier. Press a name to see its curve apart.', 'says' => $this->says($scenario, $this->findings->forCurves(...))],
            "$name heat" => ['kind' => 'heat', 'scenario' => $name, 'columns' => 'serializer', 'title' => 'Engine by serializer', 'about' => 'The darker the colour (in the dark: the lighter), the longer it took.', 'says' => $this->says($scenario, $this->findings->forHeatMap(...))],
        ];
    }

    /** @return array<string, Figure> */
    public function ratios(): array
    {
        $apart = $noise = $same = [];
        foreach ($this->report->ratios as $ratio) {
            $row = [
                'title' => Plain::line($ratio->title !== '' ? $ratio->title : "$ratio->of against $ratio->to"),
                'median' => Data::short($ratio->median),
                'low' => Data::short($ratio->low),
                'high' => \is_finite($ratio->high) ? Data::short($ratio->high) : null,
                'limit' => $ratio->limit === null ? null : Data::short($ratio->limit),
                'rounds' => $ratio->rounds,
            ];
            if ($ratio->kind === Ratio::NOISE) {
                $noise[] = $row;
                $same[] = new Interval($ratio->median, $ratio->low, $ratio->high, $ratio->rounds);
            } elseif ($ratio->kind === Ratio::PAIR || $ratio->limit !== null) {
                $apart[] = $row;
            }
        }

        $pictures = [];
        if ($apart !== []) {
            $pictures['ratios'] = ['kind' => 'ratios', 'ratios' => $apart, 'title' => 'Measured in turn', 'about' => 'Left of the line at 1 the first takes less time than the second.', 'says' => ['' => $this->findings->forRatios($this->report)]];
        }
        if ($noise !== []) {
            $pictures['noise'] = ['kind' => 'ratios', 'ratios' => $noise, 'title' => 'Each subject against itself', 'about' => 'Any distance from 1 here is noise.', 'says' => ['' => (new Noise($same))->sentence()]];
        }

        return $pictures;
    }

    /**
     * What a picture says before anything is chosen; source/main.js begins with the same choice.
     *
     * @param array<string, string> $says
     */
    public static function first(array $says): string
    {
        foreach (['50x50|read|1', '|read|1', '|read|', ''] as $end) {
            foreach ($says as $choice => $sentence) {
                if (\str_ends_with($choice, $end)) {
                    return $sentence;
                }
            }
        }

        return '';
    }

    /**
     * A sentence for each choice.
     *
     * @param \Closure(Report, string, string, int, string): string $sentence of Findings
     *
     * @return array<string, string> by payload, operation and concurrency, with | between them
     */
    private function says(string $scenario, \Closure $sentence, ?string $payload = null, string $unit = Cell::MICROSECONDS): array
    {
        $says = [];
        foreach ($this->measured[$scenario] ?? [] as $of => $byOperation) {
            $of = (string) $of;
            foreach ($payload === null || $payload === $of ? $byOperation : [] as $operation => $byConcurrency) {
                $operation = (string) $operation;
                foreach (\array_keys($byConcurrency, $unit, true) as $concurrency) {
                    $says[Plain::line($of) . '|' . Plain::line($operation) . "|$concurrency"] = $sentence($this->report, $of, $operation, $concurrency, $scenario);
                }
            }
        }

        return $says;
    }

    /**
     * Who is the best most often, and who the worst, for each operation.
     *
     * @return array<string, string>
     */
    private function bests(string $scenario): array
    {
        $first = $last = [];
        foreach ((new Rank($this->report))->groups($scenario) as $group) {
            if ($group[0]->cell->moreIsBetter()) {
                continue;
            }
            $operation = $group[0]->cell->operation;
            $first[$operation][] = Words::subject($group[0]->cell);
            $last[$operation][] = Words::subject($group[\count($group) - 1]->cell);
        }
        $says = [];
        foreach ($first as $operation => $names) {
            $operation = (string) $operation;
            [$best, $wins] = self::most($names);
            [$worst, $losses] = self::most($last[$operation]);
            $says['|' . Plain::line($operation) . '|'] = \sprintf(
                '%s: of %s, %s is %s in %d, and %s is %s in %d.',
                \ucfirst(['write' => 'writing', 'read' => 'reading', 'size' => 'size', 'shuffled' => 'reading with shuffled keys', 'missing' => 'reading a missing key', 'increment' => 'incrementing'][$operation] ?? Plain::line($operation)),
                \count($names) === 1 ? 'one value' : \count($names) . ' values',
                $best,
                $operation === 'size' ? 'the smallest' : 'the fastest',
                $wins,
                $worst,
                $operation === 'size' ? 'the largest' : 'the slowest',
                $losses,
            );
        }

        return $says;
    }

    /**
     * @param non-empty-list<string> $names
     *
     * @return array{string, int}
     */
    private static function most(array $names): array
    {
        $times = \array_count_values($names);
        \arsort($times);

        return [(string) \array_key_first($times), \reset($times)];
    }

    /** @return list<string> payloads of which times were measured */
    private function timed(string $scenario): array
    {
        return $this->payloads($scenario, static fn(string $unit): bool => $unit === Cell::MICROSECONDS || $unit === Cell::BYTES);
    }

    /** @return list<string> payloads of which it was measured how often a second */
    private function rated(string $scenario): array
    {
        return $this->payloads($scenario, static fn(string $unit): bool => $unit === Cell::PER_SECOND);
    }

    /**
     * @param \Closure(string): bool $is of a unit
     *
     * @return list<string>
     */
    private function payloads(string $scenario, \Closure $is): array
    {
        $payloads = [];
        foreach ($this->measured[$scenario] ?? [] as $payload => $byOperation) {
            foreach ($byOperation as $byConcurrency) {
                if (\array_filter($byConcurrency, $is) !== []) {
                    $payloads[(string) $payload] = (string) $payload;
                }
            }
        }

        return \array_values($payloads);
    }

    /** @return list<string> */
    private function operations(string $scenario): array
    {
        $operations = [];
        foreach ($this->measured[$scenario] ?? [] as $byOperation) {
            $operations += $byOperation;
        }
        unset($operations['size']);
        $names = \array_map(static fn(string|int $name): string => Plain::line((string) $name), \array_keys($operations));
        \usort($names, static fn(string $a, string $b): int => ($b === 'read') <=> ($a === 'read'));

        return $names;
    }
}
