<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Lease\Owner;

/**
 * The notices standing on one key: "I am about to change what this is computed from".
 *
 * A record's body while any stands: `i` and a line for each, `<deadline ms> <writer> <process>`. Nothing is stored
 * over it, readers go to the database. Whoever finds one whose deadline has passed, or whose process is dead,
 * ends it with a change of the key.
 */
final class Intent
{
    /** Milliseconds after which an intent ends by itself. */
    public const LIFE = 5000;

    /** @return array<string, array{int, string}> by writer: deadline and process */
    public static function parse(string $body): array
    {
        $standing = [];
        if (($body[0] ?? '') === Entry::INTENT) {
            foreach (\explode("\n", \substr($body, 1)) as $line) {
                $parts = \explode(' ', $line, 3);
                if (\count($parts) === 3) {
                    $standing['w' . $parts[1]] = [(int) $parts[0], $parts[2]];
                }
            }
        }

        return $standing;
    }

    /** @param array<string, array{int, string}> $standing */
    public static function body(array $standing): string
    {
        $lines = [];
        foreach ($standing as $writer => [$deadline, $process]) {
            $lines[] = $deadline . ' ' . \substr($writer, 1) . ' ' . $process;
        }

        return Entry::INTENT . \implode("\n", $lines);
    }

    /**
     * Those that still stand: deadline ahead (and not absurdly so, should a clock have been set back), process alive.
     *
     * @param array<string, array{int, string}> $standing
     *
     * @return array<string, array{int, string}>
     */
    public static function alive(array $standing, int $now): array
    {
        foreach ($standing as $writer => [$deadline, $process]) {
            if ($now >= $deadline || $deadline > $now + 2 * self::LIFE || Owner::isKnownDead($process)) {
                unset($standing[$writer]);
            }
        }

        return $standing;
    }
}
