<?php

declare(strict_types=1);

namespace Larder\Tier;

use Larder\Codec\Entry;
use Larder\System\ProcessId;

/**
 * The notices standing on one key: "I am about to change what this is computed from".
 *
 * A record's body while any stands: `i` and a line for each, `<until ms> <writer> <process> <t or nothing>`. Nothing is
 * stored over it, and readers go to the database. On a flush or tag marker it says that the marker is about to move once
 * more: see Transaction.
 *
 * When one ends, beside its writer's own word:
 *
 *     the writer lives on this server      LIFE after it was put; never in a database transaction (t)
 *     it was found dead                    STATEMENT after that: its last statement may still wait for a row lock, and
 *                                          MySQL waits 50 seconds (innodb_lock_wait_timeout)
 *     it is on another server              STATEMENT after it was put, or put again
 *
 * Whoever notices that one has ended changes the key.
 */
final class Intent
{
    /** Milliseconds. */
    public const LIFE = 5_000;
    public const STATEMENT = 60_000;

    /** The process of a writer that was found dead. */
    private const DEAD = '-';

    private const LASTING = 't';

    /**
     * One that begins to stand.
     *
     * @param bool $lasting in a database transaction
     *
     * @return array{int, string, bool}
     */
    public static function begin(int $now, bool $lasting): array
    {
        return [$now + self::STATEMENT, ProcessId::current(), $lasting];
    }

    /** @return array<string, array{int, string, bool}> by writer: until when at the longest, process, whether it lasts */
    public static function parse(string $body): array
    {
        $standing = [];
        if (($body[0] ?? '') === Entry::INTENT) {
            foreach (\explode("\n", \substr($body, 1)) as $line) {
                $parts = \explode(' ', $line, 4);
                if (\count($parts) === 4) {
                    $standing['w' . $parts[1]] = [(int) $parts[0], $parts[2], $parts[3] === self::LASTING];
                }
            }
        }

        return $standing;
    }

    /** @param array<string, array{int, string, bool}> $standing */
    public static function body(array $standing): string
    {
        $lines = [];
        foreach ($standing as $writer => [$until, $process, $lasting]) {
            $lines[] = $until . ' ' . \substr($writer, 1) . ' ' . $process . ' ' . ($lasting ? self::LASTING : '');
        }

        return Entry::INTENT . \implode("\n", $lines);
    }

    /**
     * Those that still stand. A writer that is found dead now is in it as such: then this is not what was given, and
     * whoever asks writes it.
     *
     * @param array<string, array{int, string, bool}> $standing
     *
     * @return array<string, array{int, string, bool}>
     */
    public static function alive(array $standing, int $now): array
    {
        foreach ($standing as $writer => [$until, $process, $lasting]) {
            $living = $process === self::DEAD ? null : ProcessId::isAlive($process);
            if ($living === false) {
                $standing[$writer] = [$now + self::STATEMENT, self::DEAD, $lasting];
            } elseif ($living === true ? !$lasting && $now >= $until - self::STATEMENT + self::LIFE : $now >= $until
                // Absurdly far ahead: a server's clock was set back.
                || $until > $now + 2 * self::STATEMENT) {
                unset($standing[$writer]);
            }
        }

        return $standing;
    }

    /**
     * Whether all of them are of writers that may still live.
     *
     * @param array<string, array{int, string, bool}> $standing
     */
    public static function live(array $standing): bool
    {
        return !\in_array(self::DEAD, \array_column($standing, 1), true);
    }
}
