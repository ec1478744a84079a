<?php

declare(strict_types=1);

namespace Larder\Lab\Compare;

use Larder\Lab\Run\Report;

/** What else was not the same: two machines are never compared as if they were one. */
final class Differences
{
    /** What changes from one minute to the next on any machine. */
    private const PASSING = ['load', 'uptime', 'free', 'time', 'date', 'temperature', 'frequency'];
    /** The same machine may report a little less memory after an update of its kernel. */
    private const MEMORY = 0.02;

    /** @return list<array{what: string, old: string, new: string}> */
    public static function machine(Report $old, Report $new): array
    {
        return self::between(
            \array_diff_key($old->machine, \array_flip(self::PASSING)),
            \array_diff_key($new->machine, \array_flip(self::PASSING)),
        );
    }

    /** @return list<array{what: string, old: string, new: string}> */
    public static function versions(Report $old, Report $new): array
    {
        return self::between($old->versions, $new->versions);
    }

    /**
     * @param array<string, string|int|float> $old
     * @param array<string, string|int|float> $new
     *
     * @return list<array{what: string, old: string, new: string}>
     */
    private static function between(array $old, array $new): array
    {
        $differences = [];
        foreach ($old + $new as $what => $either) {
            $before = $old[$what] ?? 'none';
            $after = $new[$what] ?? 'none';
            if ($what === 'memory' && \is_numeric($before) && \is_numeric($after) && \abs($after - $before) <= self::MEMORY * $before) {
                continue;
            }
            if ((string) $before !== (string) $after) {
                $differences[] = ['what' => (string) $what, 'old' => (string) $before, 'new' => (string) $after];
            }
        }

        return $differences;
    }
}
