<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/**
 * Holds a history against the promises. What may have happened either way counts for Larder: only what is certain
 * from the stamps is a violation.
 *
 *  1, 2  A value is gone once a change of its key (a set, delete, flush, tag invalidation or intent that was done)
 *        began after the value's last store had returned, and returned before the reading request began, or was
 *        that request's own.
 *  3     A value computed from an older version of a row is gone once both the write of the newer one and the next
 *        change of the key by its writer have returned before the reading request began; with an intent, once the
 *        write has. Excepted and counted: values of bounded life, and writers that were killed in between.
 *  -     A bounded life is over after two seconds, and two more in which one reader renews it.
 *  -     What was never stored is never served, and nothing after its life. Counts are given out once and in order, and
 *        a request that begins afterwards reads no lower one; locks are given out once.
 */
final class Checker
{
    /** Nanoseconds: two seconds, two while one renews, and the millisecond in which Larder's times are kept. */
    private const LIFE = 4_001_500_000;

    private const NEVER_STORED = 'a value that was never stored';

    /** Nanoseconds in which an end that was told in milliseconds may still be to come. */
    private const LATE = 5_000_000;

    /** @var list<Violation> */
    public array $violations = [];

    /** @var array<string, int> */
    public array $totals = [
        'bounded values served' => 0,
        'older ones among them (exception a)' => 0,
        'served after a writer was killed between database and cache (exception b)' => 0,
        'writers killed between database and cache' => 0,
        'writers whose call of the cache failed, or whose intent had lapsed' => 0,
        'intents lost with their server' => 0,
        'older, while two servers took themselves for the primary' => 0,
    ];

    /** @var array<int, array{list<int>, list<int>}> by item: ends of changes in order, and the latest begin up to each */
    private array $changes = [];

    /** @var array<int, array{list<int>, list<int>}> by row: when a version must be seen, and the highest up to each */
    private array $due = [];

    /** @var array<int, array{list<int>, list<int>}> by row: the same for writers that were killed */
    private array $dead = [];

    /**
     * @param list<array{int, int}> $losses   from when until when a server lost what it had, or may have
     * @param bool                   $forgets  it may lose any record at any time
     * @param int                    $ahead    seconds by which one clock may be ahead of another
     * @param list<array{int, int}> $overlaps from when until when two servers took themselves for the primary
     */
    public function __construct(
        private readonly History $history,
        private readonly Catalog $catalog,
        private readonly array $losses = [],
        private readonly bool $forgets = false,
        private readonly int $ahead = 0,
        private readonly array $overlaps = [],
    ) {}

    /** @return list<Violation> */
    public function check(): array
    {
        foreach ($this->history->changes as $item => $changes) {
            $this->changes[$item] = self::steps(\array_map(static fn(array $change): array => [$change[1], $change[0]], $changes));
        }
        $this->prepareVersions();
        foreach ($this->history->reads as $read) {
            $this->read($read);
        }
        $this->counters();
        foreach ($this->history->troubles as $trouble) {
            $this->violations[] = new Violation('an exception or a complaint of PHP', $trouble);
        }

        return $this->violations;
    }

    private function prepareVersions(): void
    {
        $due = $dead = [];
        foreach ($this->history->writes as $written) {
            $times = [];
            if ($written->told !== null) {
                $times[] = \max($written->end, $written->told);
            }
            if ($written->intended !== null) {
                if ($this->lost($written->intended, $written->end)) {
                    $this->totals['intents lost with their server']++;
                } else {
                    $times[] = $written->end;
                }
            }
            if ($times !== []) {
                $due[$written->row][] = [\min($times), $written->version];
            } elseif ($written->visit->end === null) {
                $this->totals['writers killed between database and cache']++;
                $dead[$written->row][] = [$written->end, $written->version];
            } else {
                $this->totals['writers whose call of the cache failed, or whose intent had lapsed']++;
            }
        }
        $this->due = \array_map(self::steps(...), $due);
        $this->dead = \array_map(self::steps(...), $dead);
    }

    private function read(Read $read): void
    {
        $stored = \array_filter(
            $this->history->stored[$read->item][$read->value] ?? [],
            static fn(Stored $stored): bool => $stored->begin < $read->end && ($stored->only ?? $read->visit) === $read->visit
                && ($stored->gone === null || $read->begin < $stored->gone),
        );
        if ($stored === []) {
            $this->violated(self::NEVER_STORED, $read, '');

            return;
        }
        $end = \max(\array_map(static fn(Stored $stored): int => $stored->end, $stored));
        $gone = isset($this->changes[$read->item]) ? self::latest($this->changes[$read->item], $read->visit->begin) : null;
        foreach ($read->visit->changes[$read->item] ?? [] as [$changeBegin, $changeEnd]) {
            if ($changeEnd < $read->begin) {
                $gone = \max($gone ?? 0, $changeBegin);
            }
        }
        if ($gone !== null && $end < $gone) {
            $this->violated('promises 1 and 2: a value that was replaced or deleted', $read, "stored at {$stored[\array_key_first($stored)]->begin} to $end, gone by the change begun at $gone");

            return;
        }
        $ttl = $this->catalog->items[$read->item]->ttl;
        if ($ttl > 0 && $read->begin - $end > ($ttl + $this->ahead) * 1_000_000_000 + self::LATE) {
            $this->violated('a value that had expired', $read, "stored by $end, for $ttl s");

            return;
        }
        $bounded = \array_filter($stored, static fn(Stored $stored): bool => $stored->bounded !== false);
        $sure = \count($bounded) < \count($stored);
        // All of it known, and none of it for good.
        $life = $bounded === [] ? 0 : \max(\array_map(
            static fn(Stored $stored): int => $stored->end === \PHP_INT_MAX ? \PHP_INT_MAX : $stored->end + self::LIFE,
            $bounded,
        ));
        $this->totals['bounded values served'] += $read->bounded ? 1 : 0;
        if ($bounded !== [] && !$sure) {
            $known = \array_filter($bounded, static fn(Stored $stored): bool => $stored->bounded === null) === [];
            if ($known && $read->begin > $life) {
                $this->violated('a bounded life outlived', $read, "over at $life");

                return;
            }
        }
        $this->older($read, $life);
    }

    private function older(Read $read, int $life): void
    {
        $late = false;
        foreach (Item::versions($read->value) as $row => $version) {
            $newer = isset($this->due[$row]) ? self::latest($this->due[$row], $read->visit->begin) : null;
            if ($newer !== null && $newer > $version) {
                if ($read->begin > $life || !$read->bounded) {
                    $this->violated('promise 3: older than the database', $read, $this->story($read, $row, $version));

                    return;
                }
                $this->totals['older ones among them (exception a)']++;

                return;
            }
            $dead = isset($this->dead[$row]) ? self::latest($this->dead[$row], $read->visit->begin) : null;
            $late = $late || ($dead !== null && $dead > $version);
        }
        if ($late) {
            $this->totals['served after a writer was killed between database and cache (exception b)']++;
        }
    }

    /** When the value was stored, and the row's next version written. */
    private function story(Read $read, int $row, int $version): string
    {
        $story = '';
        foreach ($this->history->stored[$read->item][$read->value] ?? [] as $stored) {
            $story .= "stored at $stored->begin to $stored->end; ";
        }
        foreach ($this->history->writes as $written) {
            if ($written->row === $row && $written->version > $version && $written->end < $read->begin) {
                $story .= "row $row at version $written->version since $written->begin to $written->end by {$written->visit->process}, "
                    . ($written->visit->end === null ? 'then killed, ' : '')
                    . ($written->intended === null ? '' : "with an intent put at $written->intended, ")
                    . ($written->told === null ? 'which did not tell the cache; ' : "which told the cache by $written->told; ");
            }
        }

        return $story;
    }

    private function counters(): void
    {
        $reached = [];
        foreach ($this->losses === [] && !$this->forgets ? $this->history->counts : [] as $counter => $counts) {
            $times = \array_count_values(\array_column($counts, 2));
            $twice = \array_filter($times, static fn(int $times): bool => $times > 1);
            if ($twice !== []) {
                $this->violations[] = new Violation('a count given out twice', "counter $counter: " . \implode(', ', \array_keys($twice)));
            }
            $missing = \max(\array_keys($times)) - \count($times);
            if ($missing > ($this->history->unanswered[$counter] ?? 0)) {
                $this->violations[] = new Violation('counts left out', "counter $counter: $missing of them");
            }
            $reached[$counter] = self::steps(\array_map(static fn(array $count): array => [$count[1], $count[2]], $counts));
            foreach ($counts as [$begin, , $count]) {
                if ((self::latest($reached[$counter], $begin) ?? 0) >= $count) {
                    $this->violations[] = new Violation('counts out of order', "counter $counter: $count at $begin");
                }
            }
        }
        foreach ($this->history->looks as [$visit, $begin, $end, $counter, $count]) {
            $least = isset($reached[$counter]) ? self::latest($reached[$counter], $visit->begin) : null;
            if ($count !== 0 && $least !== null && $count < $least) {
                $this->violations[] = new Violation('a count from before', "counter $counter: read $count at $begin to $end by $visit->process in its request begun at $visit->begin, when it was $least");
            }
        }
        foreach ($this->history->locks as $lock => $times) {
            \sort($times);
            for ($i = 1; $i < \count($times); $i++) {
                if (!$this->lost($times[$i - 1] - History::GRACE, $times[$i])) {
                    $this->violations[] = new Violation('a lock given to two', "lock $lock at $times[0] and $times[$i]");
                }
            }
        }
    }

    private function lost(int $from, int $to): bool
    {
        if ($this->forgets) {
            return true;
        }
        foreach ($this->losses as [$begun, $over]) {
            if ($begun <= $to && $over >= $from) {
                return true;
            }
        }

        return false;
    }

    private function violated(string $what, Read $read, string $why): void
    {
        foreach ($what === self::NEVER_STORED ? [] : $this->overlaps as [$from, $to]) {
            if ($read->end >= $from && $read->begin <= $to) {
                $this->totals['older, while two servers took themselves for the primary']++;

                return;
            }
        }
        $details = "item $read->item, value $read->value, read at $read->begin to $read->end from tier $read->tier by "
            . "{$read->visit->process} in its request begun at {$read->visit->begin}; $why";
        $this->violations[] = new Violation($what, $details, $read);
    }

    /**
     * @param non-empty-list<array{int, int}> $pairs time and value
     *
     * @return array{list<int>, list<int>} times in order, and for each the highest value up to it
     */
    private static function steps(array $pairs): array
    {
        \sort($pairs);
        $times = $values = [];
        $highest = \PHP_INT_MIN;
        foreach ($pairs as [$time, $value]) {
            $times[] = $time;
            $values[] = $highest = \max($highest, $value);
        }

        return [$times, $values];
    }

    /**
     * The highest value before a time.
     *
     * @param array{list<int>, list<int>} $steps
     */
    private static function latest(array $steps, int $time): ?int
    {
        $low = 0;
        $high = \count($steps[0]);
        while ($low < $high) {
            $middle = \intdiv($low + $high, 2);
            if ($steps[0][$middle] < $time) {
                $low = $middle + 1;
            } else {
                $high = $middle;
            }
        }

        return $low === 0 ? null : $steps[1][$low - 1];
    }
}
