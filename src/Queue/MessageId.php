<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\System\Fork;

/**
 * Makes the ids of messages: 28 hexadecimal digits, unique, in the order of time but for the clock's jumps.
 *
 * In SQLite one more letter follows if the message's key stays until it was handled: so that is known wherever the message lies.
 */
final class MessageId
{
    private const LENGTH = 28;
    private const STAYS = 'k';

    private static string $process = '';
    private static int $pid = 0;
    private static int $last = 0;

    public static function next(): string
    {
        return self::many(1)[0];
    }

    /** @return non-empty-list<string> in order */
    public static function many(int $count): array
    {
        $pid = Fork::pid();
        if (self::$pid !== $pid) {
            // A forked child must not go on with its parent's.
            self::$pid = $pid;
            self::$process = \bin2hex(\random_bytes(7));
        }
        // Each is later than the one before, also where the clock was set back meanwhile.
        self::$last = \max(self::$last, (int) (\microtime(true) * 1e6) - 1);
        $ids = [];
        do {
            $ids[] = \str_pad(\dechex(++self::$last), 14, '0', \STR_PAD_LEFT) . self::$process;
        } while (--$count > 0);

        return $ids;
    }

    /** That of a message whose key stays until it was handled. */
    public static function keeping(string $id): string
    {
        return $id . self::STAYS;
    }

    /** Whether its message's key stays until it was handled. */
    public static function isKeeping(string $id): bool
    {
        return isset($id[self::LENGTH]);
    }

    /** When the message was pushed. */
    public static function milliseconds(string $id): int
    {
        return \intdiv((int) \hexdec(\substr($id, 0, 14)), 1000);
    }
}
