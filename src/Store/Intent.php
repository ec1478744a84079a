<?php

declare(strict_types=1);

namespace Larder\Store;

use Larder\System\ProcessId;

/**
 * The intents on one key. Each announces that its writer is about to change what the key is computed from.
 *
 * While any intent stands, the record's body is `i` and a line for each: `<until ms> <writer> <process> <t or nothing>`.
 * Nothing is stored over it, and readers ask the database. An intent on a flush or tag marker announces that the marker
 * is about to move once more (see Request\Transaction).
 *
 * Its writer ends an intent. If the writer does not, it ends by itself:
 *
 *     the writer lives on this server      LIFE after it was put; never in a database transaction (t)
 *     it was found dead                    STATEMENT after that: its last statement may still wait for a row lock, and
 *                                          MySQL waits 50 seconds (innodb_lock_wait_timeout)
 *     it is on another server              STATEMENT after it was put, or put again
 *
 * The process that notices the end changes the key.
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
     * A new intent of this process.
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
        if (($body[0] ?? '') === Change::HELD) {
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

        return Change::HELD . \implode("\n", $lines);
    }

    /**
     * The intents that still stand. A writer found dead just now is marked as dead: then the result differs from what was
     * given, and the caller must write it.
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
                // The deadline is impossibly far ahead: the server's clock was set back.
                || $until > $now + 2 * self::STATEMENT) {
                unset($standing[$writer]);
            }
        }

        return $standing;
    }

    /**
     * The intents in a record that still stand, but not those of these writers.
     *
     * @param list<string> $ended
     *
     * @return array<string, array{int, string, bool}>
     */
    public static function others(string $body, array $ended, int $now): array
    {
        $standing = self::alive(self::parse($body), $now);
        foreach ($ended as $writer) {
            unset($standing['w' . $writer]);
        }

        return $standing;
    }

    /**
     * Whether every one of them belongs to a writer that may still be alive.
     *
     * @param array<string, array{int, string, bool}> $standing
     */
    public static function live(array $standing): bool
    {
        return !\in_array(self::DEAD, \array_column($standing, 1), true);
    }
}
