<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Plan\Cell;
use Larder\Lab\Run\Report;

/** A comparison for programs: every cell, with what was thought of it. */
final class Document
{
    /**
     * @param string $oldFile as it was given
     * @param string $newFile as it was given
     */
    public static function of(Findings $findings, string $oldFile, string $newFile): string
    {
        $comparison = $findings->comparison;

        return \json_encode([
            'verdict' => $findings->verdict(),
            'failed' => $comparison->fails(),
            'limit' => $comparison->limit->part,
            'relative' => $comparison->relative,
            'shift' => $comparison->shift,
            'cells' => $comparison->cells,
            'judged' => $comparison->judged,
            'falseDiscoveryRate' => Comparison::RATE,
            'byChanceAtMost' => $comparison->byChance(),
            'old' => self::report($comparison->old, $oldFile),
            'new' => self::report($comparison->new, $newFile),
            'warnings' => $findings->warnings(),
            'machine' => $comparison->machine,
            'versions' => $comparison->versions,
            'disqualified' => $comparison->disqualified,
            'changes' => \array_map(self::change(...), $findings->changes),
            'missing' => self::ids($comparison->missing),
            'added' => self::ids($comparison->added),
            'otherUnit' => self::ids($comparison->otherUnit),
        ], \JSON_PRETTY_PRINT | \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE | \JSON_INVALID_UTF8_SUBSTITUTE | \JSON_THROW_ON_ERROR) . "\n";
    }

    /** @return array<string, string|int> */
    private static function report(Report $report, string $file): array
    {
        return ['file' => $file, 'started' => $report->started, 'command' => $report->command, 'rounds' => $report->rounds, 'seed' => $report->seed];
    }

    /** @return array<string, string|float|null> */
    private static function change(Change $change): array
    {
        // JSON knows no infinity: what was 0 bytes has grown by no number of times.
        $finite = static fn(float $value): ?float => \is_finite($value) ? $value : null;
        $known = $change->verdict !== Verdict::Unknown;

        return [
            'cell' => $change->cell->id(),
            'unit' => $change->cell->unit,
            'old' => $change->old,
            'new' => $change->new,
            'ratio' => $finite($change->ratio),
            'low' => $known ? $finite($change->low) : null,
            'high' => $known ? $finite($change->high) : null,
            'chance' => $change->chance,
            'verdict' => $change->verdict->value,
        ];
    }

    /**
     * @param list<Cell> $cells
     *
     * @return list<string>
     */
    private static function ids(array $cells): array
    {
        return \array_map(static fn(Cell $cell): string => $cell->id(), $cells);
    }
}
