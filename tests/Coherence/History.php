<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/**
 * What happened in an experiment, read from all its diaries (Diary says what a line is).
 *
 * A call that was begun and has not returned belongs to a process that was killed, at a time between that line and
 * the file's next one, or the time told by died().
 */
final class History
{
    /** Nanoseconds in which a server may still carry out what a client that is gone, or has given up, had sent. */
    public const GRACE = 5_000_000_000;

    /** Nanoseconds for which an intent surely stands: Larder's five seconds, less a margin. */
    private const INTENT = 4_500_000_000;

    /** @var array<int, array<string, list<Stored>>> by item and value */
    public array $stored = [];

    /** @var list<Read> */
    public array $reads = [];

    /** @var array<int, list<array{int, int}>> by item: begin and end of each change that was done */
    public array $changes = [];

    /** @var list<Written> */
    public array $writes = [];

    /** @var array<int, list<array{int, int, int}>> by counter: begin and end of each increment, and its count */
    public array $counts = [];

    /** @var list<array{Visit, int, int, int, int}> reads of counters: request, begin, end, counter, count */
    public array $looks = [];

    /** @var array<int, int> by counter: increments that may have been done without an answer */
    public array $unanswered = [];

    /** @var array<string, list<int>> by lock: when it was given to somebody */
    public array $locks = [];

    /** @var list<string> */
    public array $troubles = [];

    /** @var array<string, int> */
    public array $totals = [
        'calls' => 0, 'requests' => 0, 'requests killed' => 0, 'reads' => 0, 'hits request' => 0, 'hits near' => 0, 'hits truth' => 0,
        'hits remember' => 0, 'misses' => 0, 'database reads' => 0, 'database writes' => 0, 'sets' => 0, 'sets dropped' => 0, 'sets bounded' => 0,
        'sets failed' => 0, 'fills stored' => 0, 'fills refused' => 0, 'deletes' => 0, 'flushes' => 0, 'tag invalidations' => 0, 'intents' => 0,
        'increments' => 0, 'counters read' => 0, 'locks tried' => 0, 'updates' => 0, 'transactions committed' => 0, 'transactions rolled back' => 0,
    ];

    /** @var array<string, int> */
    private array $died = [];

    /** @param bool $keeps see Incidents: a change that returned false counts as one that was done */
    public function __construct(private readonly Catalog $catalog, private readonly bool $keeps = false) {}

    /** A process was certainly dead at this time. */
    public function died(string $process, int $time): void
    {
        $this->died[$process] = $time;
    }

    public function readFile(string $path): void
    {
        $this->read(\basename($path), (string) \file_get_contents($path));
    }

    public function read(string $process, string $text): void
    {
        $visit = null;
        // A call may come in the middle of another.
        $begun = [];
        $lines = \explode("\n", $text);
        // What follows the last line's end is empty, or was not written to its end.
        \array_pop($lines);
        foreach ($lines as $line) {
            $parts = \explode(' ', $line);
            if ($parts[0] === 'R' || $parts[0] === 'X') {
                foreach ($visit === null ? [] : $begun as $call) {
                    $this->unfinished($visit, $call, (int) $parts[1]);
                }
                $begun = [];
            }
            switch ($parts[0]) {
                case 'R':
                    $visit = new Visit($process, (int) $parts[1]);
                    $this->totals['requests']++;
                    $this->totals['requests killed']++;
                    break;
                case 'G':
                    $this->got($visit, $parts);
                    break;
                case 'N':
                    $this->totals['counters read']++;
                    if ($visit !== null) {
                        $this->looks[] = [$visit, (int) $parts[1], (int) $parts[2], (int) $parts[3], (int) $parts[4]];
                    }
                    break;
                case 'D':
                    $this->totals['database reads']++;
                    break;
                case 'B':
                    $begun[] = $parts;
                    break;
                case 'T':
                    if ($begun !== []) {
                        $begun[\count($begun) - 1][] = $parts[2];
                    }
                    break;
                case 'E':
                    $call = \array_pop($begun);
                    if ($call !== null && $visit !== null) {
                        $this->finished($visit, $call, $parts);
                    }
                    break;
                case 'Z':
                    if ($visit !== null) {
                        $visit->end = (int) $parts[1];
                        $this->totals['requests killed']--;
                        $this->totals['calls'] += (int) $parts[2];
                    }
                    $visit = null;
                    break;
                case 'X':
                    $this->troubles[] = $process . ': ' . $line;
                    break;
            }
        }
        foreach ($visit === null ? [] : $begun as $call) {
            $this->unfinished($visit, $call, $this->died[$process] ?? null);
        }
    }

    /** @param list<string> $parts */
    private function got(?Visit $visit, array $parts): void
    {
        [, $begin, $end, $item, $tier] = $parts;
        $this->totals['reads']++;
        $this->totals[['r' => 'hits request', 'n' => 'hits near', 't' => 'hits truth', 'm' => 'hits remember'][$tier] ?? 'misses']++;
        if ($visit !== null && $tier !== '-') {
            $this->reads[] = new Read($visit, (int) $item, $parts[5], (int) $begin, (int) $end, $tier, isset($parts[6]));
        }
    }

    /**
     * @param list<string> $call
     * @param list<string> $answer
     */
    private function finished(Visit $visit, array $call, array $answer): void
    {
        [, $begin, $what] = $call;
        $begin = (int) $begin;
        $end = (int) $answer[1];
        $done = $answer[2] === '1';
        $remarks = \array_slice($answer, 3);
        switch ($what) {
            case 'write':
                $this->totals['database writes']++;
                $this->written($visit, (int) $call[3], (int) $answer[2], $begin, $end);
                break;
            case 'set':
                // Of several some may be.
                $bounded = \in_array('bounded', $remarks, true) ?: (\in_array('partly-bounded', $remarks, true) ? null : false);
                $this->totals['sets']++;
                $this->totals['sets failed'] += $done ? 0 : 1;
                $this->totals['sets dropped'] += \in_array('dropped', $remarks, true) ? 1 : 0;
                $this->totals['sets bounded'] += $bounded === false ? 0 : 1;
                for ($i = 3; $i + 1 < \count($call); $i += 2) {
                    $item = (int) $call[$i];
                    if ($visit->inside === null) {
                        $this->stored[$item][$call[$i + 1]][] = new Stored($begin, $done ? $end : $end + self::GRACE, $bounded);
                    } else {
                        $visit->inside->sets[$item] = [$begin, $call[$i + 1]];
                        $this->stored[$item][$call[$i + 1]][] = new Stored($begin, $end, null, $visit);
                    }
                    $this->changed($visit, $item, $begin, $end, $done, true);
                }
                break;
            case 'update':
                $this->totals['updates']++;
                $item = (int) $call[3];
                if ($done) {
                    // A bounded life stays one.
                    $this->stored[$item][$call[\count($call) - 1]][] = new Stored($begin, $end, null);
                    $this->changed($visit, $item, $begin, $end, true, false);
                } else {
                    $this->tried($item, $call, $end + self::GRACE);
                }
                break;
            case 'fill':
                $this->totals[$done ? 'fills stored' : 'fills refused']++;
                $this->stored[(int) $call[3]][$call[4]][] = $stored = new Stored($begin, $end, false, $done && $visit->inside === null ? null : $visit);
                if ($visit->inside !== null) {
                    $visit->inside->fills[] = $stored;
                }
                break;
            case 'delete':
                $this->totals['deletes']++;
                foreach (\array_slice($call, 3) as $item) {
                    $this->changed($visit, (int) $item, $begin, $end, $done, true);
                    $visit->inside?->drop((int) $item);
                }
                break;
            case 'flush':
            case 'tag':
                $this->totals[$what === 'tag' ? 'tag invalidations' : 'flushes']++;
                $groups = $call[3] === '' ? [] : \explode('/', $call[3]);
                foreach ($this->catalog->covered($groups, $what === 'tag' ? [$call[4]] : null) as $item) {
                    $this->changed($visit, $item->id, $begin, $end, $done, false);
                    $visit->inside?->drop($item->id);
                }
                break;
            case 'intend':
                $this->totals['intents']++;
                $item = (int) $call[3];
                $this->changed($visit, $item, $begin, $end, $done, true);
                if ($done) {
                    $visit->intents[$item] = $begin;
                }
                break;
            case 'begin':
                $visit->inside = new Opened();
                break;
            case 'end':
                $this->totals[$call[3] === 'commit' ? 'transactions committed' : 'transactions rolled back']++;
                $this->ended($visit, $call[3] === 'commit', $begin, $end, $done);
                break;
            case 'count':
                $this->totals['increments']++;
                $count = (int) $answer[2];
                if ($count > 0) {
                    $this->counts[(int) $call[3]][] = [$begin, $end, $count];
                } else {
                    $this->unanswered[(int) $call[3]] = ($this->unanswered[(int) $call[3]] ?? 0) + 1;
                }
                break;
            case 'lock':
                $this->totals['locks tried']++;
                if ($done) {
                    $this->locks[$call[3]][] = $end;
                }
                break;
        }
    }

    /** What a transaction has changed changes once more at its end. */
    private function ended(Visit $visit, bool $isCommit, int $begin, int $end, bool $done): void
    {
        $inside = $visit->inside ?? new Opened();
        $visit->inside = null;
        foreach ($isCommit ? $inside->sets : [] as $item => [$since, $text]) {
            $this->stored[$item][$text][] = new Stored($since, $done ? $end : $end + self::GRACE, null);
        }
        foreach ($inside->changed as $item => $_) {
            $this->changed($visit, $item, $begin, $end, $done, true);
        }
        foreach ($isCommit ? [] : $inside->changed as $item => $_) {
            $visit->changes[$item][] = [$begin, $end];
        }
        foreach ($isCommit ? [] : $inside->fills as $stored) {
            $stored->gone = $end;
        }
    }

    /**
     * A call whose end nobody saw: it may have done what it was to do, or not, until its process was dead.
     *
     * @param list<string> $call
     */
    private function unfinished(Visit $visit, array $call, ?int $dead): void
    {
        $end = $dead === null ? \PHP_INT_MAX : $dead + self::GRACE;
        if ($call[2] === 'set' || $call[2] === 'fill') {
            for ($i = 3; $i + 1 < \count($call); $i += 2) {
                $this->stored[(int) $call[$i]][$call[$i + 1]][] = new Stored((int) $call[1], $end, $call[2] === 'set' ? null : false);
            }
        } elseif ($call[2] === 'update') {
            $this->tried((int) $call[3], $call, $end);
        } elseif ($call[2] === 'count') {
            $this->unanswered[(int) $call[3]] = ($this->unanswered[(int) $call[3]] ?? 0) + 1;
        } elseif ($call[2] === 'end' && $call[3] === 'commit') {
            foreach ($visit->inside->sets ?? [] as $item => [$since, $text]) {
                $this->stored[$item][$text][] = new Stored($since, $end, null);
            }
        }
    }

    /**
     * Values that an update may have stored.
     *
     * @param list<string> $call
     */
    private function tried(int $item, array $call, int $end): void
    {
        foreach (\array_slice($call, 4) as $text) {
            $this->stored[$item][$text][] = new Stored((int) $call[1], $end, null);
        }
    }

    private function written(Visit $visit, int $row, int $version, int $begin, int $end): void
    {
        $item = $this->catalog->owners[$row]->id;
        $intent = $visit->intents[$item] ?? null;
        // Those of a transaction stand until its end.
        $written = new Written($visit, $row, $version, $begin, $end, $visit->inside->changed[$item] ?? ($intent !== null && $end - $intent < self::INTENT ? $intent : null));
        $visit->writes[] = $written;
        $this->writes[] = $written;
    }

    private function changed(Visit $visit, int $item, int $begin, int $end, bool $done, bool $endsIntent): void
    {
        if ($visit->inside !== null) {
            $visit->inside->changed[$item] = ($visit->inside->changed[$item] ?? null) ?? ($done ? $begin : null);
        }
        if (!$done && !$this->keeps) {
            return;
        }
        $this->changes[$item][] = [$begin, $end];
        $visit->changes[$item][] = [$begin, $end];
        foreach ($visit->writes as $written) {
            if ($written->told === null && $this->catalog->owners[$written->row]->id === $item) {
                $written->told = $end;
            }
        }
        if ($endsIntent && $visit->inside === null) {
            unset($visit->intents[$item]);
        }
    }
}
