<?php

declare(strict_types=1);

namespace Larder\Demo\Act;

use Larder\Demo\Terminal;
use Larder\Demo\Visit;

/** What visitors and the office of a shop have seen of a fail-over. Times are those of hrtime(), in nanoseconds. */
final readonly class FailOverReport
{
    /** Answers to requests that began after the cache had confirmed a change, with a price from before it. */
    public int $old;

    /** The same for changes that it had not confirmed yet. */
    private int $older;

    /** How many changes the office has made, and how many of them the cache did not confirm at once. */
    private int $changes;
    private int $unconfirmed;

    /** @var array<int, array<int, int>> by product and price, when the cache had confirmed it */
    private array $confirmed;

    /**
     * @param list<Visit> $visits  by time
     * @param list<Visit> $changes the office's, by time
     */
    public function __construct(private array $visits, array $changes, private int $killed, private int $served)
    {
        $made = $confirmed = [];
        $count = $unconfirmed = 0;
        foreach ($changes as $change) {
            if ($change->price === null) {
                continue;
            }
            // The first line of a change has its time, the last one its confirmation.
            if (!isset($made[$change->product][$change->price])) {
                $made[$change->product][$change->price] = $change->ended;
                ++$count;
                $unconfirmed += (int) !$change->isConfirmed;
            }
            if ($change->isConfirmed) {
                $confirmed[$change->product][$change->price] = $change->ended;
            }
        }
        $this->confirmed = $confirmed;
        $this->old = \count(\array_filter($visits, static fn(Visit $visit): bool => self::isOlder($visit, $confirmed)));
        $this->older = \count(\array_filter($visits, static fn(Visit $visit): bool => self::isOlder($visit, $made))) - $this->old;
        $this->changes = $count;
        $this->unconfirmed = $unconfirmed;
    }

    /** @return list<non-empty-list<string>> a row a second, from before the primary was killed */
    public function seconds(): array
    {
        $rows = [];
        foreach ($this->visits as $visit) {
            $second = (int) \floor(($visit->begun - $this->killed) / 1e9);
            $row = $rows[$second] ?? [0, 0, 0, 0, 0];
            $rows[$second] = [
                $row[0] + 1, $row[1] + (int) !$visit->isComputed, $row[2] + (int) $visit->isComputed,
                \max($row[3], $visit->ended - $visit->begun), $row[4] + (int) self::isOlder($visit, $this->confirmed),
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
            $last = !$visit->isComputed && $visit->ended <= $this->killed ? \max($last, $visit->ended) : $last;
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
        $computed = \count(\array_filter($this->visits, static fn(Visit $visit): bool => $visit->isComputed));

        return \count($this->visits) . " answers, $computed computations" . ($this->older === 0 ? '' : "; $this->older of the answers showed the price before a change that was not confirmed yet");
    }

    /** Requests without an answer, or with an error. */
    public function failed(): int
    {
        return \count(\array_filter($this->visits, static fn(Visit $visit): bool => $visit->price === null));
    }

    /** @param array<int, array<int, int>> $times by product and price, since when it was so */
    private static function isOlder(Visit $visit, array $times): bool
    {
        $known = \array_keys(\array_filter($times[$visit->product] ?? [], static fn(int $time): bool => $time < $visit->begun));

        return $visit->price !== null && $known !== [] && $visit->price < \max($known);
    }
}
