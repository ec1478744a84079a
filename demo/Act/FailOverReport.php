<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Terminal;

/** What visitors and the office of a shop have seen of a fail-over. Times are those of hrtime(), in nanoseconds. */
final readonly class FailOverReport
{
    /** @var list<array{begun: int, ended: int, product: int, isAnswered: bool, isComputed: bool, isOld: bool, isOlder: bool}> */
    private array $visits;

    /** How many changes the office has made, and how many of them the cache did not confirm at once. */
    private int $changes;
    private int $unconfirmed;

    /**
     * @param list<list<mixed>> $visits  lines of scripts/visitor.php, by time
     * @param list<list<mixed>> $changes the same of the office
     */
    public function __construct(array $visits, array $changes, private int $killed, private int $served)
    {
        $made = $confirmed = [];
        $unconfirmed = 0;
        foreach ($changes as [$begun, $ended, $product, , $price, $isConfirmed]) {
            // The first line of a change has its time, the last one its confirmation.
            if (($made[$product][$price] ?? null) === null) {
                $made[$product][$price] = $ended;
                $unconfirmed += (int) ($isConfirmed !== true);
            }
            if ($isConfirmed === true) {
                $confirmed[$product][$price] = $ended;
            }
        }
        $judged = [];
        foreach ($visits as [$begun, $ended, $product, $status, $price, $isComputed]) {
            $judged[] = [
                'begun' => $begun, 'ended' => $ended, 'product' => $product, 'isAnswered' => $status === 200 && \is_int($price), 'isComputed' => $isComputed === true,
                'isOld' => $price < self::priceAt($confirmed[$product] ?? [], $begun),
                'isOlder' => $price < self::priceAt($made[$product] ?? [], $begun),
            ];
        }
        $this->visits = $judged;
        $this->changes = \count($made, \COUNT_RECURSIVE) - \count($made);
        $this->unconfirmed = $unconfirmed;
    }

    /** @return list<non-empty-list<string>> a row a second, from before the primary was killed */
    public function seconds(): array
    {
        $rows = [];
        foreach ($this->visits as $visit) {
            $second = (int) \floor(($visit['begun'] - $this->killed) / 1e9);
            $row = $rows[$second] ?? [0, 0, 0, 0, 0];
            $rows[$second] = [
                $row[0] + 1, $row[1] + (int) !$visit['isComputed'], $row[2] + (int) $visit['isComputed'],
                \max($row[3], $visit['ended'] - $visit['begun']), $row[4] + (int) $visit['isOld'],
            ];
        }
        \ksort($rows);
        $table = [];
        foreach ($rows as $second => [$answers, $cached, $computed, $slowest, $old]) {
            $table[] = [\sprintf('%+d to %+d s', $second, $second + 1), (string) $answers, (string) $cached, (string) $computed, \trim(Terminal::time($slowest / 1e6)), (string) $old];
        }

        return $table;
    }

    /** Milliseconds between the last answer from the cache and the primary's end. */
    public function lastBefore(): float
    {
        $last = 0;
        foreach ($this->visits as $visit) {
            $last = !$visit['isComputed'] && $visit['ended'] <= $this->killed ? \max($last, $visit['ended']) : $last;
        }

        return ($this->killed - $last) / 1e6;
    }

    /** Milliseconds from the primary's end to the first answer from the cache. */
    public function servedAfter(): float
    {
        return ($this->served - $this->killed) / 1e6;
    }

    public function changes(): string
    {
        return "$this->changes prices changed; the cache confirmed all but $this->unconfirmed of them at once, and those when it was back";
    }

    public function answers(): string
    {
        $computed = $this->count('isComputed');
        $older = $this->count('isOlder') - $this->old();

        return \count($this->visits) . " answers, $computed computations" . ($older === 0 ? '' : "; $older answers showed the price before a change that was not confirmed yet");
    }

    public function failed(): int
    {
        return \count($this->visits) - $this->count('isAnswered');
    }

    /** Answers to requests that began after the cache had confirmed a change, with a price from before it. */
    public function old(): int
    {
        return $this->count('isOld');
    }

    private function count(string $field): int
    {
        return \count(\array_filter(\array_column($this->visits, $field)));
    }

    /**
     * @param array<int, int> $times by price
     *
     * @return int the highest price that there was for sure when this began; 0: none
     */
    private static function priceAt(array $times, int $begun): int
    {
        $known = \array_keys(\array_filter($times, static fn(int $time): bool => $time < $begun));

        return $known === [] ? 0 : \max($known);
    }
}
