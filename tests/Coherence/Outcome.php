<?php

declare(strict_types=1);

namespace Larder\Tests\Coherence;

/** What an experiment showed. */
final class Outcome
{
    public const OTHER_HANGS = 'other hangs';

    /** Nanoseconds of history that are printed before and after the times that a violation names. */
    private const CONTEXT = 20_000_000;

    /**
     * @param list<Violation>    $violations
     * @param array<string, int> $totals
     * @param list<string>       $histories  of the first violations of each kind
     */
    private function __construct(
        public readonly array $violations,
        public readonly array $totals,
        public readonly array $histories,
        public readonly float $seconds,
    ) {}

    public static function of(string $directory, Incidents $incidents, int $lost, string $complaints, float $seconds): self
    {
        $catalog = new Catalog();
        $history = new History($catalog, $incidents->keeps);
        foreach ($incidents->deaths as $process => $time) {
            $history->died($process, $time);
            foreach (\glob("$directory/$process-*") ?: [] as $file) {
                // Of its fibers.
                $history->died(\basename($file), $time);
            }
        }
        $files = \glob($directory . '/diary-*') ?: [];
        foreach ($files as $file) {
            $history->readFile($file);
        }
        $checker = new Checker($history, $catalog, $incidents->losses, $incidents->forgets, $incidents->ahead, $incidents->overlaps);
        $violations = $checker->check();
        if ($history->totals['sets'] > 20 && $history->totals['sets failed'] === $history->totals['sets']) {
            $violations[] = new Violation('a cache that stores nothing, of which nothing can be said', '');
        }
        for ($i = $incidents->done[self::OTHER_HANGS] ?? 0; $i > 0; $i--) {
            $violations[] = new Violation('a request that hangs', '');
        }
        foreach (\preg_split('/\R/', $complaints) ?: [] as $line) {
            // What the cache itself logs when a part fails is as it should be.
            if (\preg_match('/PHP (Fatal|Warning|Notice|Deprecated|Parse)|SIGSEGV|SIGABRT|SIGBUS/', $line) === 1) {
                $violations[] = new Violation('php-fpm complains', $line);
            }
        }
        $histories = [];
        $kinds = [];
        foreach ($violations as $violation) {
            $kinds[$violation->what] = ($kinds[$violation->what] ?? 0) + 1;
            if ($kinds[$violation->what] <= 3) {
                $histories[] = self::around($violation, $files, $catalog, $incidents);
            }
        }

        return new self(
            $violations,
            $history->totals + ['requests without an answer' => $lost] + $checker->totals + $incidents->done
                + ['exceptions' => \count($history->troubles), 'violations' => \count($violations)],
            $histories,
            $seconds,
        );
    }

    public function summary(): string
    {
        $lines = [];
        foreach ($this->totals as $name => $count) {
            $lines[] = \sprintf('%12s  %s', \number_format($count), $name);
        }
        $lines[] = \sprintf('%12.1f  seconds', $this->seconds);
        $kinds = \array_count_values(\array_map(static fn(Violation $violation): string => $violation->what, $this->violations));
        foreach ($kinds as $kind => $count) {
            $lines[] = \sprintf('%12s  VIOLATIONS: %s', \number_format($count), $kind);
        }

        return \implode("\n", $lines) . "\n";
    }

    /**
     * All that the diaries say about the violation's key, from a little before the value was stored.
     *
     * @param list<string> $files
     */
    private static function around(Violation $violation, array $files, Catalog $catalog, Incidents $incidents): string
    {
        $text = "$violation->what\n  $violation->details\n";
        $read = $violation->read;
        if ($read === null) {
            return $text;
        }
        \preg_match_all('/\d{10,}/', $violation->details, $times);
        $from = \min(\array_map(\intval(...), [...$times[0], $read->visit->begin])) - self::CONTEXT;
        $lines = [];
        foreach ($files as $file) {
            $name = \basename($file);
            $visit = $view = '';
            $begun = false;
            foreach (\explode("\n", (string) \file_get_contents($file)) as $line) {
                $parts = \explode(' ', $line);
                if ($parts[0] === 'R') {
                    $visit = $parts[1];
                } elseif ($parts[0] === 'V') {
                    $view = $line;
                }
                $mine = $parts[0] === 'E' ? $begun : self::concerns($parts, $read->item, $catalog);
                $begun = $parts[0] === 'B' ? $mine : $begun && $parts[0] !== 'E';
                if ($mine && isset($parts[1]) && (int) $parts[1] >= $from && (int) $parts[1] <= $read->end + self::CONTEXT) {
                    if ($view !== '') {
                        $lines[] = [(int) $visit, "$name/$visit  $view"];
                        $view = '';
                    }
                    $lines[] = [(int) $parts[1], "$name/$visit  $line"];
                }
            }
        }
        foreach ($incidents->losses as [$begun, $over]) {
            \array_push($lines, [$begun, "$begun engine is restarted"], [$over, "$over engine is restarted"]);
        }
        foreach ($incidents->deaths as $process => $time) {
            $lines[] = [$time, "$time $process is dead"];
        }
        $lines = \array_filter($lines, static fn(array $line): bool => $line[0] >= $from - self::CONTEXT * 200 && $line[0] <= $read->end + self::CONTEXT);
        \sort($lines);

        return $text . '    ' . \implode("\n    ", \array_column(\array_slice($lines, -120), 1)) . "\n";
    }

    /** @param list<string> $parts of a diary's line */
    private static function concerns(array $parts, int $item, Catalog $catalog): bool
    {
        $rows = $catalog->items[$item]->rows;

        return match ($parts[0]) {
            'G' => (int) $parts[3] === $item,
            'D' => isset($parts[3]) && isset(Item::versions(';' . $parts[3])[$rows[0]]),
            'B' => match ($parts[2]) {
                'write' => \in_array((int) $parts[3], $rows, true),
                'flush' => \in_array($catalog->items[$item], $catalog->covered($parts[3] === '' ? [] : \explode('/', $parts[3]), null), true),
                'tag' => \in_array($catalog->items[$item], $catalog->covered($parts[3] === '' ? [] : \explode('/', $parts[3]), [$parts[4]]), true),
                'count', 'lock', 'begin', 'end' => false,
                default => \in_array((string) $item, \array_slice($parts, 3), true),
            },
            'R', 'Z' => false,
            default => false,
        };
    }
}
